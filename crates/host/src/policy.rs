//! The policy of one host of a scenario as this machine's: queueing discipline, congestion control, kernel settings,
//! routes and offloads. Every change is journalled before it is made, so that it can be taken back to the byte.

mod algorithm;
mod apply;
pub mod capability;
mod device;
mod gaps;
mod journal;
mod kernel_queue;
mod rehearsal;
mod setting;
mod source;
mod status;
mod store;
mod watcher;

pub use apply::{Applied, Drift, Reverted, apply, confirm, drift, message, rollback};
pub use device::{Device, devices};
pub use journal::{Journal, Origin, Phase};
pub use setting::{Setting, State};
pub use source::{DeviceOption, Policy, Problem, Request};
pub use status::Status;
pub use store::{FOLDER, Store, command};
pub use watcher::Watcher;

/// A change of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The setting.
    pub setting: Setting,
    /// What it is now.
    pub before: State,
    /// What it becomes.
    pub wanted: State,
    /// The reason, with the scenario's key and line.
    pub why: String,
}
