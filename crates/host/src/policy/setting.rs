//! One setting of this machine: it is read, changed and restored in the same form.

pub(super) mod channels;
mod files;
mod mpi_options;
pub(super) mod offload;
pub(super) mod priority_pause;
pub(super) mod queue;
pub(super) mod route;
mod state;

use std::io;

use serde::{Deserialize, Serialize};

use super::algorithm;
use super::device::Device;
use crate::mpi;
pub(super) use mpi_options::MpiOptions;
use route::Route;
pub use state::State;

/// A setting of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// A kernel setting below `net`, written with dots.
    Sysctl(String),
    /// The queueing disciplines of a device.
    Queue(Device),
    /// A feature of a device, as `ethtool -k` names it.
    Offload(Device, String),
    /// The number of segments that TCP passes to a device as one.
    Segments(Device),
    /// Whether a device stops for PAUSE frames.
    Pause(Device),
    /// The priorities that a device pauses by themselves (PFC).
    PriorityPause(Device),
    /// The transmit and receive queues of a device.
    Channels(Device),
    /// The maximum number of bytes in a transmit queue of a device (BQL).
    QueueLimit(Device, String),
    /// The metrics of a route.
    Route(Box<Route>),
    /// One of our congestion control algorithms, with its parameters, in the kernel.
    Algorithm(String, Vec<u32>),
    /// The socket options for programs of MPI jobs.
    Mpi(MpiOptions),
}

impl Setting {
    /// Its name, as in the tools that show it.
    pub fn name(&self) -> String {
        match self {
            Self::Sysctl(name) => name.clone(),
            Self::Queue(device) => format!("{} qdisc", device.name),
            Self::Offload(device, feature) => format!("{} {feature}", device.name),
            Self::Segments(device) => format!("{} gso_max_segs", device.name),
            Self::Pause(device) => format!("{} rx pause", device.name),
            Self::PriorityPause(device) => format!("{} pfc", device.name),
            Self::Channels(device) => format!("{} queues", device.name),
            Self::QueueLimit(device, queue) => format!("{} {queue} limit_max", device.name),
            Self::Route(route) => route.name(),
            Self::Algorithm(name, _) => format!("algorithm {name}"),
            Self::Mpi(_) => "options of MPI programs".to_owned(),
        }
    }

    /// Its state now.
    ///
    /// # Errors
    /// The kernel's refusal. `ENODEV`, `NotFound`: the device or the route is gone.
    pub fn read(&self) -> io::Result<State> {
        match self {
            Self::Sysctl(name) => files::read_sysctl(name),
            Self::Queue(device) => {
                device.current_name()?;
                queue::read(device.index).map(|tree| State::tree(&tree))
            }
            Self::Offload(device, feature) => offload::read(device, feature),
            Self::Segments(device) => {
                device.segments().map(|count| State::plain(count.to_string()))
            }
            Self::Pause(device) => offload::read_pause(device),
            Self::PriorityPause(device) => priority_pause::read(device),
            Self::Channels(device) => channels::read(device),
            Self::QueueLimit(device, queue) => files::read_limit(device, queue),
            Self::Route(route) => route.read(),
            Self::Algorithm(name, _) => Ok(State::switch(algorithm::is_loaded(name))),
            Self::Mpi(_) => Ok(State::switch(mpi::is_enabled())),
        }
    }

    /// Changes it to `state`.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn write(&self, state: &State) -> io::Result<()> {
        match self {
            Self::Sysctl(name) => files::write_sysctl(name, &state.exact),
            Self::Queue(device) => queue::write(device.index, &state.to_tree()?),
            Self::Offload(device, feature) => offload::write(device, feature, is_on(state)),
            Self::Segments(device) => {
                let count = state.exact.parse().map_err(|_| io::ErrorKind::InvalidData)?;
                device.set_segments(count)
            }
            Self::Pause(device) => offload::write_pause(device, state),
            Self::PriorityPause(device) => priority_pause::write(device, state),
            Self::Channels(device) => channels::write(device, state),
            Self::QueueLimit(device, queue) => files::write_limit(device, queue, &state.exact),
            Self::Route(route) => route.write(state),
            Self::Algorithm(name, values) => match is_on(state) {
                true => algorithm::load(name, values),
                false => algorithm::unload(name),
            },
            Self::Mpi(options) => options.write(is_on(state)),
        }
    }

    /// Whether its device or route is gone, so that nothing is left to restore.
    pub fn is_gone(&self, error: &io::Error) -> bool {
        let gone = matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ESRCH));
        gone || error.kind() == io::ErrorKind::NotFound && !matches!(self, Self::Sysctl(_))
    }
}

fn is_on(state: &State) -> bool {
    state.exact == "on"
}
