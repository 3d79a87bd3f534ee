//! Puts a policy on this machine, and takes it off: all or nothing.

use std::io;
use std::path::Path;

use super::journal::{Entry, Journal, Origin, Phase};
use super::setting::State;
use super::store::{self, Store};
use super::{Change, algorithm};
use base::Fault;

/// What was applied.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The identity of its journal.
    pub id: String,
    /// The number of changed settings.
    pub changed: usize,
}

/// A setting that is not as the policy left it.
#[derive(Clone, Debug)]
pub struct Drift {
    /// The setting.
    pub name: String,
    /// What the policy set.
    pub applied: String,
    /// What it is now, or why it cannot be read.
    pub now: String,
}

/// What a rollback did.
#[derive(Clone, Debug, Default)]
pub struct Reverted {
    /// The number of restored settings.
    pub restored: usize,
    /// Devices and routes that are gone, with nothing left to restore.
    pub gone: Vec<String>,
    /// Settings that somebody else has changed since, and that were left alone.
    pub drift: Vec<Drift>,
}

/// Changes all settings, or none. `prepare` is called when the journal is on disk, before the first change: it starts
/// the process that takes the policy back unless it is confirmed.
///
/// # Errors
/// If a policy is applied already, or if the kernel refuses a change: then everything is restored.
pub fn apply(
    store: &Store,
    origin: Origin,
    changes: &[Change],
    confirm_until: Option<u64>,
    prepare: impl FnOnce(&Journal) -> Result<(), Fault>,
) -> Result<Applied, Fault> {
    if let Some(journal) = store.journal()?.filter(|journal| !journal.is_stale()) {
        return Err(refuse(store, &journal));
    }
    let mut journal = Journal::new(origin, changes, confirm_until);
    store.keep_message("");
    store.save(&journal)?;
    if let Err(error) = prepare(&journal) {
        store.clear()?;
        return Err(error);
    }
    for number in 0..journal.entries.len() {
        let Entry { setting, after, .. } = &journal.entries[number];
        let changed = setting.write(after).and_then(|()| setting.read());
        let refusal = match changed {
            Ok(now) if now.is_same(after) => continue,
            Ok(now) => format!("the kernel made it `{}`, not `{}`", now.shown, after.shown),
            Err(error) => error.to_string(),
        };
        let name = setting.name();
        restore(store, &mut journal, true)?;
        let message = format!("{name}: {refusal}; everything is as before");
        return Err(Fault::lacking(message, "suimon host plan shows what the policy needs"));
    }
    journal.phase = Phase::Applied;
    store.save(&journal)?;
    Ok(Applied { id: journal.id, changed: journal.entries.len() })
}

fn refuse(store: &Store, journal: &Journal) -> Fault {
    let Origin { file, host } = &journal.origin;
    let (message, first) = match journal.phase {
        Phase::Applied => {
            (format!("a policy is applied already: host {host} of {file}"), "take it back first")
        }
        Phase::Applying | Phase::RollingBack => (
            format!("changing this machine to host {host} of {file} was interrupted"),
            "restore it first",
        ),
    };
    Fault::usage(message, format!("{first}: {}", store.command("rollback")))
}

/// Confirms an applied policy, so that it stays.
///
/// # Errors
/// If none is applied, or it does not wait for that.
pub fn confirm(store: &Store) -> Result<Origin, Fault> {
    let mut journal = present(store)?;
    if journal.phase != Phase::Applied {
        return Err(refuse(store, &journal));
    }
    if journal.confirm_until.take().is_none() {
        let message = "the policy needs no confirmation";
        return Err(Fault::usage(message, "suimon host status shows it"));
    }
    store.save(&journal)?;
    Ok(journal.origin)
}

fn present(store: &Store) -> Result<Journal, Fault> {
    let Some(journal) = store.journal()? else {
        return Err(Fault::usage("no policy is applied", "suimon host apply FILE HOST"));
    };
    journal.check_place()?;
    Ok(journal)
}

/// Restores what was before. Settings that somebody else has changed since are left alone and reported, unless `force`
/// is given; with `keep` they are left alone for good.
///
/// # Errors
/// If no policy is applied, or the kernel refuses to restore a setting.
pub fn rollback(store: &Store, force: bool, keep: bool) -> Result<Reverted, Fault> {
    let mut journal = present(store)?;
    store.keep_message("");
    if journal.is_stale() {
        store.clear()?;
        return Ok(Reverted::default());
    }
    let mut reverted = restore(store, &mut journal, force)?;
    if keep {
        store.clear()?;
        reverted.drift.clear();
    }
    Ok(reverted)
}

/// Restores the settings of the journal, the last one first, and removes it, except for settings that somebody else
/// has changed.
pub(super) fn restore(
    store: &Store,
    journal: &mut Journal,
    force: bool,
) -> Result<Reverted, Fault> {
    let mut reverted = Reverted::default();
    // If the change was interrupted, a setting may be in between, and only this program was at work.
    let judges = journal.phase == Phase::Applied && !force;
    for entry in &mut journal.entries {
        if journal.phase != Phase::RollingBack || force {
            entry.kept = judges && difference(entry).is_some_and(|now| !now.is_same(&entry.before));
        }
    }
    journal.phase = Phase::RollingBack;
    store.save(journal)?;
    let mut failure = None;
    for entry in journal.entries.iter().rev() {
        match undo(entry) {
            Ok(true) => reverted.restored += 1,
            Ok(false) => {}
            Err(error) if entry.setting.is_gone(&error) => reverted.gone.push(entry.setting.name()),
            Err(error) => {
                failure.get_or_insert(format!("restore {}: {error}", entry.setting.name()));
            }
        }
    }
    if let Some(message) = failure {
        let help = format!("correct that, then run it again: {}", store.command("rollback"));
        return Err(Fault::lacking(message, help));
    }
    journal.entries.retain(|entry| entry.kept);
    reverted.drift = journal.entries.iter().filter_map(drift_of).collect();
    if journal.entries.is_empty() {
        store.clear()?;
    } else {
        (journal.phase, journal.confirm_until) = (Phase::Applied, None);
        store.save(journal)?;
    }
    Ok(reverted)
}

/// Restores a setting. Returns whether it had to be changed.
fn undo(entry: &Entry) -> io::Result<bool> {
    let now = entry.setting.read()?;
    if entry.kept || now.is_same(&entry.before) {
        return Ok(false);
    }
    entry.setting.write(&entry.before)?;
    let now = entry.setting.read()?;
    match now.is_same(&entry.before) {
        true => Ok(true),
        false => Err(io::Error::other(format!("the kernel made it `{}`", now.shown))),
    }
}

/// The state of a setting, if it is not as the policy left it.
fn difference(entry: &Entry) -> Option<State> {
    entry.setting.read().ok().filter(|now| !now.is_same(&entry.after))
}

fn drift_of(entry: &Entry) -> Option<Drift> {
    let shown = entry.after.shown.clone();
    let [applied, now] = match entry.setting.read() {
        Ok(now) if now.is_same(&entry.after) => return None,
        Ok(now) => entry.after.differing(&now).unwrap_or([shown, now.shown]),
        Err(error) if entry.setting.is_gone(&error) => [shown, "gone".to_owned()],
        Err(error) => [shown, error.to_string()],
    };
    Some(Drift { name: entry.setting.name(), applied, now })
}

/// The settings that are not as the policy left them.
///
/// # Errors
/// If the policy is that of another namespace.
pub fn drift(journal: &Journal) -> Result<Vec<Drift>, Fault> {
    journal.check_place()?;
    Ok(journal.entries.iter().filter_map(drift_of).collect())
}

/// What happened to the last policy, if it went back by itself.
pub fn message(folder: &Path) -> Option<String> {
    store::message(folder)
}

/// Whether the kernel has a congestion control of that name, which it may load a module for.
pub(super) fn has_congestion(name: &str) -> bool {
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None);
    let set = socket.and_then(|socket| setsockopt(&socket, sockopt::TcpCongestion, &name.into()));
    set.is_ok() || algorithm::is_loaded(name)
}
