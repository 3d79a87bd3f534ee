//! The output of `suimon host`.

use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host::policy::{Change, Drift, Phase, Policy, Reverted, Status, command};
use serde_json::{Value, json};

use crate::table::Table;

/// The plan as a table, then what is left alone, then what is missing.
pub(super) fn table(policy: &Policy) -> String {
    let mut table = Table::new(&["setting", "is", "will be", "why"]);
    for Change { setting, before, wanted, why } in &policy.settings {
        let will = if before.is_same(wanted) { "as it is" } else { &wanted.shown };
        table.row([
            setting.name().into(),
            before.shown.as_str().into(),
            will.into(),
            why.as_str().into(),
        ]);
    }
    let mut text = match table.is_empty() {
        true => {
            "The scenario gives no key of this host that is a setting of this machine.\n".to_owned()
        }
        false => table.render(),
    };
    policy.notes.iter().for_each(|note| text.push_str(&format!("note: {note}\n")));
    for problem in &policy.problems {
        text.push_str(&format!("missing: {}\n  help: {}\n", problem.what, problem.help));
    }
    text
}

/// The plan as JSON.
pub(super) fn json(policy: &Policy) -> Value {
    let setting = |change: &Change| {
        json!({
            "setting": change.setting.name(),
            "is": change.before.shown,
            "will_be": change.wanted.shown,
            "changes": !change.before.is_same(&change.wanted),
            "why": change.why,
        })
    };
    let missing = policy.problems.iter().map(|p| json!({ "message": p.what, "help": p.help }));
    json!({
        "file": policy.origin.file,
        "host": policy.origin.host,
        "settings": policy.settings.iter().map(setting).collect::<Vec<_>>(),
        "notes": policy.notes,
        "missing": missing.collect::<Vec<_>>(),
    })
}

/// The status, for people.
pub(super) fn status(
    folder: &Path,
    status: &Status,
    drift: &[Drift],
    message: Option<String>,
) -> String {
    let mut text = message.map(|message| message + "\n").unwrap_or_default();
    let Some(journal) = &status.journal else { return text + "no policy is applied\n" };
    let (origin, count) = (&journal.origin, journal.settings());
    let policy = format!("host {} of {}", origin.host, origin.file);
    let line = match (&status.running, journal.phase) {
        (Some(holder), Phase::RollingBack) => format!("{policy} is being taken back: {holder}"),
        (Some(holder), _) => format!("{policy} is being applied: {holder}"),
        (None, Phase::Applied) => format!("{policy}: {}", settings(count)),
        (None, _) => {
            let rollback = command(folder, "rollback");
            format!("changing this machine to {policy} was interrupted: {rollback}")
        }
    };
    text.push_str(&(line + "\n"));
    if let Some(until) = journal.confirm_until.filter(|_| status.running.is_none()) {
        text.push_str(&confirmation(folder, status.is_watched, journal.phase, until));
    }
    text + &drift_table(drift)
}

/// When a policy that is not confirmed goes back, as a line.
fn confirmation(folder: &Path, is_watched: bool, phase: Phase, until: u64) -> String {
    let left = until.saturating_sub(now().as_secs());
    let confirm = command(folder, "confirm");
    match (is_watched, phase) {
        (true, _) if left == 0 => "not confirmed in time: it is restored now\n".to_owned(),
        (true, Phase::Applied) => format!("restored in {left} s, unless you type: {confirm}\n"),
        (true, _) => format!("restored in {left} s\n"),
        (false, Phase::Applied) => format!(
            "nothing restores it: the process that waited for the confirmation has ended; type {}, or {confirm}\n",
            command(folder, "rollback")
        ),
        (false, _) => String::new(),
    }
}

fn drift_table(drift: &[Drift]) -> String {
    if drift.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["changed since", "the policy set", "it is"]);
    for Drift { name, applied, now } in drift {
        table.row([name.as_str().into(), applied.as_str().into(), now.as_str().into()]);
    }
    table.render()
}

/// The status as JSON.
pub(super) fn status_json(status: &Status, drift: &[Drift], message: Option<String>) -> Value {
    let changed = drift.iter().map(drift_json).collect::<Vec<_>>();
    json!({
        "applied": status.journal.as_ref().map(|journal| json!({
            "file": journal.origin.file,
            "host": journal.origin.host,
            "phase": journal.phase,
            "settings": journal.settings(),
            "confirm_until": journal.confirm_until,
            "watched": journal.confirm_until.map(|_| status.is_watched),
        })),
        "running": status.running,
        "drift": changed,
        "message": message,
    })
}

fn drift_json(drift: &Drift) -> Value {
    json!({ "setting": drift.name, "applied": drift.applied, "is": drift.now })
}

/// A number of settings.
pub(super) fn settings(count: usize) -> String {
    match count {
        1 => "1 setting".to_owned(),
        count => format!("{count} settings"),
    }
}

/// What a rollback did.
pub(super) fn reverted(reverted: &Reverted) -> String {
    let mut text = format!("{} restored\n", settings(reverted.restored));
    for name in &reverted.gone {
        text.push_str(&format!("{name}: gone, nothing is left to restore\n"));
    }
    text.push_str(&drift_table(&reverted.drift));
    if !reverted.drift.is_empty() {
        text.push_str("left alone; restore them too: --force; or leave them for good: --keep\n");
    }
    text
}

/// The time since 1970.
#[expect(clippy::disallowed_methods, reason = "people wait for the confirmation")]
pub(super) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
