//! The priorities that a device pauses by themselves (PFC), by dcbnl.

use std::io;

use super::super::device::Device;
use super::state::State;
use crate::dcb::{self, PriorityFlowControl};
use crate::wire::{hex, unhex};

pub(super) fn read(device: &Device) -> io::Result<State> {
    dcb::read(&device.current_name()?).map(|settings| state(&settings))
}

pub(super) fn write(device: &Device, state: &State) -> io::Result<()> {
    let bytes = unhex(&state.exact).ok_or(io::ErrorKind::InvalidData)?;
    let settings = PriorityFlowControl::of(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    dcb::write(&device.current_name()?, settings)
}

fn state(settings: &PriorityFlowControl) -> State {
    let bits = settings.priorities();
    let on: Vec<String> =
        (0..8).filter(|priority| bits >> priority & 1 == 1).map(|it| it.to_string()).collect();
    let shown =
        if on.is_empty() { "off".to_owned() } else { format!("priorities {}", on.join(" ")) };
    State { shown, exact: hex(settings.bytes()) }
}

/// The state with these priorities, a bit for each.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the device has no such setting.
pub(in super::super) fn with(device: &Device, priorities: u8) -> io::Result<State> {
    dcb::read(&device.current_name()?).map(|settings| state(&settings.with(priorities)))
}
