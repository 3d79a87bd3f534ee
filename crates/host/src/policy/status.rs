//! How far the change of a machine is.

use std::path::Path;

use super::journal::{Journal, Phase};
use super::{store, watcher};
use base::Fault;

/// How far the change of this machine is.
#[derive(Clone, Debug)]
pub struct Status {
    /// The journal, unless no policy is applied.
    pub journal: Option<Journal>,
    /// The process that is making or undoing the changes now.
    pub running: Option<String>,
    /// Whether a process still waits for the confirmation, to take the policy back without it.
    pub is_watched: bool,
}

impl Status {
    /// The status of the policy in the folder `folder`. It does not wait for other processes.
    ///
    /// # Errors
    /// A file that is not a journal of this version.
    pub fn read(folder: &Path) -> Result<Self, Fault> {
        let look = || Ok::<_, Fault>(Journal::look(folder)?.filter(|journal| !journal.is_stale()));
        let mut journal = look()?;
        let mut running = None;
        // The lock says whether a change is under way or was interrupted. Only then: for that moment, no other process
        // gets it.
        if journal.as_ref().is_some_and(|journal| journal.phase != Phase::Applied) {
            running = store::holder(folder);
            if running.is_none() {
                // It may have ended just before.
                journal = look()?;
            }
        }
        let waits = journal.as_ref().filter(|journal| journal.confirm_until.is_some());
        let is_watched = waits.is_some_and(|journal| watcher::runs(folder, &journal.id));
        Ok(Self { journal, running, is_watched })
    }

    /// Whether nothing is under way and nothing was interrupted.
    pub fn is_settled(&self) -> bool {
        let Some(journal) = &self.journal else { return true };
        let forgotten = journal.confirm_until.is_some() && !self.is_watched;
        journal.phase == Phase::Applied && !forgotten
    }
}
