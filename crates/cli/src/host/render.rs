//! The output of `suimon host`.

use host::policy::{Change, Drift, Journal, Phase, Policy, Reverted};
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
    journal: Option<&Journal>,
    drift: &[Drift],
    message: Option<String>,
) -> String {
    let mut text = message.map(|message| message + "\n").unwrap_or_default();
    let Some(journal) = journal else { return text + "no policy is applied\n" };
    let (origin, count) = (&journal.origin, journal.settings());
    let line = match journal.phase {
        Phase::Applied => format!("host {} of {}: {}", origin.host, origin.file, settings(count)),
        Phase::Applying | Phase::RollingBack => format!(
            "changing this machine to host {} of {} was interrupted: sudo suimon host rollback",
            origin.host, origin.file
        ),
    };
    text.push_str(&(line + "\n"));
    if let Some(until) = journal.confirm_until {
        let left = until.saturating_sub(super::now());
        text.push_str(&format!(
            "restored in {left} s, unless you type: sudo suimon host confirm\n"
        ));
    }
    text + &drift_table(drift)
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
pub(super) fn status_json(
    journal: Option<&Journal>,
    drift: &[Drift],
    message: Option<String>,
) -> Value {
    let changed = drift.iter().map(drift_json).collect::<Vec<_>>();
    json!({
        "applied": journal.map(|journal| json!({
            "file": journal.origin.file,
            "host": journal.origin.host,
            "phase": journal.phase,
            "settings": journal.settings(),
            "confirm_until": journal.confirm_until,
        })),
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
