//! The journal: what the machine was before, and what it becomes.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::setting::{Setting, State};
use super::{Change, store};
use base::Fault;

/// The version of the format.
const VERSION: u32 = 2;

/// How far a change of the machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Settings are being changed, or the change was interrupted.
    Applying,
    /// All settings are changed.
    Applied,
    /// Settings are being restored, or that was interrupted.
    RollingBack,
}

/// The scenario's host that the policy is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The scenario file.
    pub file: String,
    /// The host.
    pub host: String,
}

/// A setting with its states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) setting: Setting,
    pub(super) before: State,
    pub(super) after: State,
    pub(super) why: String,
    /// Somebody else has changed it since, and that is left alone.
    #[serde(default)]
    pub(super) kept: bool,
}

/// The journal of an applied policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    version: u32,
    /// Distinguishes it from earlier ones.
    pub id: String,
    /// The boot of the machine: changes do not survive it.
    boot: String,
    /// The network namespace that was changed.
    namespace: String,
    /// The policy.
    pub origin: Origin,
    /// How far it is.
    pub phase: Phase,
    /// Seconds since 1970 until which `suimon host confirm` must come.
    pub confirm_until: Option<u64>,
    pub(super) entries: Vec<Entry>,
}

impl Journal {
    pub(super) fn new(origin: Origin, changes: &[Change], confirm_until: Option<u64>) -> Self {
        let entry = |change: &Change| Entry {
            setting: change.setting.clone(),
            before: change.before.clone(),
            after: change.wanted.clone(),
            why: change.why.clone(),
            kept: false,
        };
        Self {
            version: VERSION,
            id: drawn("uuid"),
            boot: drawn("boot_id"),
            namespace: namespace(),
            origin,
            phase: Phase::Applying,
            confirm_until,
            entries: changes.iter().map(entry).collect(),
        }
    }

    /// The journal in the folder `path` without waiting for its lock; `None` if no policy is applied.
    ///
    /// # Errors
    /// A file that is not a journal of this version.
    pub fn look(path: &Path) -> Result<Option<Self>, Fault> {
        store::read(path)
    }

    /// Whether the machine has been started again since, so that nothing of the policy is in effect.
    pub fn is_stale(&self) -> bool {
        self.boot != drawn("boot_id")
    }

    /// Refuses to work in another namespace than that of the journal.
    pub(super) fn check_place(&self) -> Result<(), Fault> {
        if self.is_stale() || self.namespace == namespace() {
            return Ok(());
        }
        let message =
            format!("the policy was applied in another network namespace, {}", self.namespace);
        Err(Fault::usage(message, "run it there: sudo nsenter --net=FILE suimon host ..."))
    }

    /// The number of settings that it changed.
    pub fn settings(&self) -> usize {
        self.entries.len()
    }
}

/// An identity that the kernel draws: a new `uuid`, or `boot_id`, that of this boot of the machine.
fn drawn(name: &str) -> String {
    let id = fs::read_to_string(Path::new("/proc/sys/kernel/random").join(name));
    id.unwrap_or_default().trim().to_owned()
}

/// The identity of the process's network namespace.
fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    link.to_string_lossy().into_owned()
}
