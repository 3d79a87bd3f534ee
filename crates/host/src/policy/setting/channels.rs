//! The transmit and receive queues of a device, by ethtool.

use std::io;

use super::super::device::Device;
use super::state::State;
use crate::ethtool::{self, Channels};

pub(super) fn read(device: &Device) -> io::Result<State> {
    ethtool::channels(&device.current_name()?).map(state)
}

pub(super) fn write(device: &Device, state: &State) -> io::Result<()> {
    let mut counts = state.exact.split(' ').map(str::parse);
    let mut next = || counts.next().and_then(Result::ok).ok_or(io::ErrorKind::InvalidData);
    let channels =
        Channels { receiving: next()?, sending: next()?, other: next()?, combined: next()? };
    ethtool::set_channels(&device.current_name()?, channels)
}

fn state(Channels { receiving, sending, other, combined }: Channels) -> State {
    let counts = [("rx", receiving), ("tx", sending), ("combined", combined)];
    let used = counts.iter().filter(|(_, count)| *count > 0);
    let shown: Vec<String> = used.map(|(name, count)| format!("{name} {count}")).collect();
    let exact = format!("{receiving} {sending} {other} {combined}");
    State { shown: shown.join(" "), exact }
}

/// The state with one transmit queue.
///
/// # Errors
/// `Unsupported` if the device sends by none that is counted; the kernel's refusal.
pub(in super::super) fn single(device: &Device) -> io::Result<State> {
    let channels = ethtool::channels(&device.current_name()?)?;
    match channels {
        Channels { combined: 0, sending: 0, .. } => Err(io::ErrorKind::Unsupported.into()),
        Channels { combined: 0, .. } => Ok(state(Channels { sending: 1, ..channels })),
        _ => Ok(state(Channels { sending: 0, combined: 1, ..channels })),
    }
}

#[test]
fn the_queues_of_a_device_are_set_and_restored() {
    use super::super::rehearsal;
    if testbed::lacks("a device with several queues", &["ip"]) {
        return;
    }
    let tried = rehearsal::apart(|| {
        let words =
            "link add card numtxqueues 4 numrxqueues 2 type veth peer name far numrxqueues 4";
        let made = std::process::Command::new("ip").args(words.split(' ')).status()?;
        assert!(made.success(), "ip {words}");
        let found = super::super::device::devices()?;
        let card = found.into_iter().find(|device| device.name == "card").expect("the card");
        let before = read(&card)?;
        let wanted = single(&card)?;
        write(&card, &wanted)?;
        let now = read(&card)?;
        write(&card, &before)?;
        Ok((before.clone(), wanted, now, read(&card)? == before))
    });
    let (before, wanted, now, restored) = tried.expect("a veth has such a setting");
    assert_eq!((&before.shown[..], &now.shown[..]), ("rx 2 tx 4", "rx 2 tx 1"));
    assert_eq!(now, wanted);
    assert!(restored);
}
