//! Settings by ethtool: features of a device, and its PAUSE frames.

use std::io;

use super::super::device::Device;
use super::state::State;
use crate::ethtool::{self, Pause};

/// The feature's number, or that this kernel has none of that name.
fn number(name: &str, feature: &str) -> io::Result<u32> {
    ethtool::feature(name, feature)?.ok_or_else(|| io::ErrorKind::Unsupported.into())
}

pub(super) fn read(device: &Device, feature: &str) -> io::Result<State> {
    let name = device.current_name()?;
    let number = number(&name, feature)?;
    let wanted = ethtool::features(&name)?.wanted[(number / 32) as usize];
    Ok(State::switch(wanted >> (number % 32) & 1 == 1))
}

pub(super) fn write(device: &Device, feature: &str, on: bool) -> io::Result<()> {
    let name = device.current_name()?;
    ethtool::set_feature(&name, number(&name, feature)?, on)
}

/// The state is that of all three settings, because they are changed together.
pub(super) fn read_pause(device: &Device) -> io::Result<State> {
    Ok(shown(ethtool::pause(&device.current_name()?)?))
}

fn shown(Pause { negotiates, receives, sends }: Pause) -> State {
    let word = |on: bool| if on { "on" } else { "off" };
    let exact = format!("{} {} {}", word(negotiates), word(receives), word(sends));
    State { shown: word(receives).to_owned(), exact }
}

/// The state with PAUSE frames obeyed or not.
pub(in super::super) fn with_reception(device: &Device, on: bool) -> io::Result<State> {
    let pause = ethtool::pause(&device.current_name()?)?;
    // What is negotiated may be switched on again by the far end.
    let negotiates = pause.negotiates && pause.receives == on;
    Ok(shown(Pause { negotiates, receives: on, ..pause }))
}

pub(super) fn write_pause(device: &Device, state: &State) -> io::Result<()> {
    let mut words = state.exact.split(' ').map(|word| word == "on");
    let mut next = || words.next().ok_or(io::ErrorKind::InvalidData);
    let pause = Pause { negotiates: next()?, receives: next()?, sends: next()? };
    ethtool::set_pause(&device.current_name()?, pause)
}

/// Whether the device lets a feature be changed.
pub(in super::super) fn is_changeable(device: &Device, feature: &str) -> bool {
    let changeable = || {
        let name = device.current_name()?;
        let number = number(&name, feature)?;
        let features = ethtool::features(&name)?;
        io::Result::Ok(features.changeable[(number / 32) as usize] >> (number % 32) & 1 == 1)
    };
    changeable().unwrap_or(false)
}
