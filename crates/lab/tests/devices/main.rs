//! Real frames between two interfaces, through every kind of device: as root, and as a user those by
//! AF_PACKET.

mod machines;
#[path = "../trial/mod.rs"]
mod trial;
mod wire;

use base::Random;
use lab::buffers::Buffers;
use lab::device::{Device, Kind, LinkState};
use lab::{Error, Namespace};
use traffic::Packets;
use trial::Trial;
use wire::{Side, join, namespace, run, within};

const GENERIC: Kind = Kind::Xdp { native: false };
const NATIVE: Kind = Kind::Xdp { native: true };
const PACKET: Kind = Kind::Packet { vnet: false };
const VNET: Kind = Kind::Packet { vnet: true };
const KINDS: [Kind; 4] = [GENERIC, NATIVE, PACKET, VNET];

const TRIALS: &[Trial] = &[
    ("frames_of_every_length_pass_both_ways", frames_of_every_length_pass_both_ways),
    ("long_frames_pass", long_frames_pass),
    ("vlan_tags_pass", vlan_tags_pass),
    ("frames_without_room_are_counted", frames_without_room_are_counted),
    ("frames_beyond_the_queue_are_refused", frames_beyond_the_queue_are_refused),
    ("a_device_waits_for_buffers", a_device_waits_for_buffers),
    ("an_interface_that_goes_is_reported", an_interface_that_goes_is_reported),
    ("an_interface_that_is_down_is_waited_for", an_interface_that_is_down_is_waited_for),
    ("what_is_sent_without_a_carrier_is_counted", what_is_sent_without_a_carrier_is_counted),
    ("what_is_sent_to_an_interface_just_down", what_is_sent_to_an_interface_just_down),
    ("what_cannot_be_opened_is_refused", what_cannot_be_opened_is_refused),
    ("an_interface_can_be_opened_again", an_interface_can_be_opened_again),
    ("an_interface_that_others_have_is_refused", an_interface_that_others_have_is_refused),
    ("tcp_and_udp_pass_a_box", machines::tcp_and_udp_pass_a_box),
    ("super_frames_pass_whole", machines::super_frames_pass_whole),
];

fn main() {
    trial::main(TRIALS);
}

/// The kinds that this machine permits. AF_XDP is not for unprivileged users; the error suggests an
/// alternative.
fn kinds() -> Vec<Kind> {
    let error = match Side::open(&namespace(), "lo", GENERIC, 1514) {
        Ok(_) => return KINDS.to_vec(),
        Err(error) => error,
    };
    let Error::Lacking { help, .. } = &error else { panic!("{error}") };
    assert!(help.contains("AF_PACKET"), "{error}: {help}");
    vec![PACKET, VNET]
}

/// Both ends of a new veth pair, opened as `kind`, for frames of up to `frame` bytes.
fn ends(kind: Kind, frame: u32) -> (Side, Side, [Namespace; 2]) {
    let namespaces = [namespace(), namespace()];
    let [left, right] = &namespaces;
    join((left, "a0"), (right, "b0"), frame - 14);
    let open = |namespace, name| Side::open(namespace, name, kind, frame).expect("the device");
    let mut sides = [open(left, "a0"), open(right, "b0")];
    sides.iter_mut().for_each(|side| await_state(side, LinkState::Up));
    let [left, right] = sides;
    (left, right, namespaces)
}

/// A frame of random bytes, of a protocol that the kernel does not know (IEEE 802's for experiments).
fn frame(random: &mut Random, length: usize) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|_| random.next_u64() as u8).collect();
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    frame
}

/// Sends the frames from one end to the other, some at a time, and expects them there.
fn assert_pass(from: &mut Side, to: &mut Side, frames: &[Vec<u8>]) {
    for some in frames.chunks(100) {
        some.iter().for_each(|frame| from.send(frame));
        from.flush().expect("the interface takes frames");
        let arrived = to.collect(some.len());
        assert!(arrived == some, "{} of {} frames arrived as sent", arrived.len(), some.len());
        from.flush().expect("the interface takes frames");
        from.assert_conserved();
        to.assert_conserved();
    }
}

fn frames_of_every_length_pass_both_ways() {
    for kind in kinds() {
        let mut random = Random::from_seed(7);
        let (mut left, mut right, _namespaces) = ends(kind, 1514);
        let frames: Vec<_> = (60..=1514).map(|length| frame(&mut random, length)).collect();
        for _ in 0..3 {
            assert_pass(&mut left, &mut right, &frames);
            assert_pass(&mut right, &mut left, &frames);
        }
        let counts = left.device.counts();
        let all = 3 * frames.len() as u64;
        assert_eq!((counts.sent, counts.received), (all, all), "{kind:?}");
        assert_eq!((counts.missed, counts.refused), (0, 0), "{kind:?}");
        left.close();
        right.close();
    }
}

fn long_frames_pass() {
    for kind in [PACKET, VNET] {
        let mut random = Random::from_seed(8);
        let (mut left, mut right, _namespaces) = ends(kind, 9014);
        let frames: Vec<_> =
            (1500..=9014).step_by(37).chain([9014]).map(|n| frame(&mut random, n)).collect();
        assert_pass(&mut left, &mut right, &frames);
        assert_pass(&mut right, &mut left, &frames);
        left.close();
        right.close();
    }
}

/// A VLAN tag that the kernel keeps outside the frame is put back into the frame.
fn vlan_tags_pass() {
    for kind in [PACKET, VNET] {
        let mut random = Random::from_seed(9);
        let (mut left, mut right, _namespaces) = ends(kind, 1514);
        let frames: Vec<_> = (64..=1518)
            .step_by(3)
            .map(|length| {
                let mut frame = frame(&mut random, length);
                frame[12..18].copy_from_slice(&[0x81, 0, 0xa0, 5, 0x88, 0xb5]);
                frame
            })
            .collect();
        assert_pass(&mut left, &mut right, &frames);
    }
}

/// Frames that are not received in time are counted, for every kind, and none is counted twice.
fn frames_without_room_are_counted() {
    const SENT: usize = 6_000;
    for kind in kinds() {
        let mut random = Random::from_seed(10);
        let (mut left, mut right, _namespaces) = ends(kind, 1514);
        let frame = frame(&mut random, 700);
        for _ in 0..SENT / 50 {
            (0..50).for_each(|_| left.send(&frame));
            left.flush().expect("the interface takes frames");
        }
        let received = right.collect(SENT).len() as u64;
        let counts = right.device.counts();
        assert_eq!(left.device.counts().sent, SENT as u64, "{kind:?}");
        assert_eq!(counts.received, received, "{kind:?}");
        assert!(counts.missed > 0, "{kind:?}: there is not room for {SENT} frames");
        assert_eq!(counts.received + counts.missed, SENT as u64, "{kind:?}");
        assert_eq!(right.device.counts(), counts, "{kind:?}: asking changes nothing");
        // There is room again.
        assert_pass(&mut left, &mut right, &[frame]);
        left.close();
        right.close();
    }
}

/// A full transmit queue refuses frames, counts them and loses no buffer.
fn frames_beyond_the_queue_are_refused() {
    for kind in kinds() {
        let (mut left, _right, _namespaces) = ends(kind, 1514);
        let frame = frame(&mut Random::from_seed(11), 60);
        (0..2_500).for_each(|_| left.send(&frame));
        left.assert_conserved();
        left.flush().expect("the interface takes frames");
        left.flush().expect("the interface takes frames");
        let counts = left.device.counts();
        assert_eq!((counts.sent, counts.refused), (2_048, 452), "{kind:?}");
        left.close();
    }
}

/// Without a free buffer, a device keeps all frames that it has, and continues once there is one.
fn a_device_waits_for_buffers() {
    for kind in kinds() {
        let (mut left, mut right, _namespaces) = ends(kind, 1514);
        let hoard: Vec<_> = std::iter::from_fn(|| right.packets.try_alloc()).collect();
        let frame = frame(&mut Random::from_seed(12), 60);
        for _ in 0..30 {
            (0..50).for_each(|_| left.send(&frame));
            left.flush().expect("the interface takes frames");
            // Whatever came is kept.
            let Side { device, buffers, packets, received } = &mut right;
            for _ in 0..4 {
                device.receive(buffers, packets, received).expect("the interface is there");
            }
        }
        let kept = std::mem::take(&mut right.received);
        hoard.into_iter().for_each(|packet| right.packets.release(packet));
        kept.into_iter().for_each(|frame| right.packets.release(frame.packet));
        right.collect(usize::MAX);
        assert_pass(&mut left, &mut right, &[frame]);
        right.close();
    }
}

fn an_interface_that_goes_is_reported() {
    for kind in kinds() {
        let (mut left, mut right, [namespace, _other]) = ends(kind, 1514);
        run(&namespace, "ip link del a0");
        let told = (0..5_000).find_map(|_| right.receive().err());
        assert!(matches!(told, Some(Error::System { .. })), "{kind:?}: {told:?}");
        left.send(&[0; 60]);
        let told = left.flush();
        assert!(matches!(told, Err(Error::System { .. })), "{kind:?}: {told:?}");
        left.close();
        right.close();
    }
}

fn an_interface_that_is_down_is_waited_for() {
    for kind in kinds() {
        let (mut left, mut right, [namespace, _other]) = ends(kind, 1514);
        let frames = [frame(&mut Random::from_seed(15), 700)];
        assert_pass(&mut left, &mut right, &frames);
        for round in 1..=2 {
            run(&namespace, "ip link set a0 down");
            left.device.check().expect("it is there");
            assert_eq!(left.device.link_state(), LinkState::Down, "{kind:?}");
            (0..3).for_each(|_| left.send(&frames[0]));
            left.flush().expect("it is waited for");
            left.assert_conserved();
            assert!(!left.device.has_unsent(), "{kind:?}: nothing to hurry for");
            run(&namespace, "ip link set a0 up");
            await_state(&mut left, LinkState::Up);
            let counts = left.device.counts();
            let told = (counts.outages, counts.lost_when_down, counts.refused);
            assert_eq!(told, (round, 3 * round, 0), "{kind:?}");
            assert_pass(&mut left, &mut right, &frames);
            assert_pass(&mut right, &mut left, &frames);
        }
        left.close();
        right.close();
    }
}

/// Waits until the device sees its interface in `state`; the kernel reports a carrier with some delay.
fn await_state(side: &mut Side, state: LinkState) {
    for _ in 0..10_000 {
        side.device.check().expect("it is there");
        if side.device.link_state() == state {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("{state:?} never came");
}

/// Without a carrier nothing is sent, and the machine is not to blame for it.
fn what_is_sent_without_a_carrier_is_counted() {
    for kind in kinds() {
        let (mut left, mut right, [_namespace, other]) = ends(kind, 1514);
        let frames = [frame(&mut Random::from_seed(16), 700)];
        run(&other, "ip link set b0 down");
        await_state(&mut left, LinkState::NoCarrier);
        (0..3).for_each(|_| left.send(&frames[0]));
        left.flush().expect("it is waited for");
        left.assert_conserved();
        let counts = left.device.counts();
        assert_eq!((counts.lost_when_down, counts.refused, counts.sent), (3, 0, 0), "{kind:?}");
        assert!(!left.device.has_unsent(), "{kind:?}: nothing to hurry for");
        run(&other, "ip link set b0 up");
        await_state(&mut left, LinkState::Up);
        assert_eq!(left.device.counts().outages, 1, "{kind:?}");
        assert_pass(&mut left, &mut right, &frames);
        left.close();
        right.close();
    }
}

/// Sending detects the change first if nothing else has checked the link.
fn what_is_sent_to_an_interface_just_down() {
    for kind in kinds() {
        let (mut left, _right, [namespace, _other]) = ends(kind, 1514);
        run(&namespace, "ip link set a0 down");
        left.send(&[0; 60]);
        left.flush().expect("it is waited for");
        assert_eq!(left.device.link_state(), LinkState::Down, "{kind:?}");
        assert!(!left.device.has_unsent(), "{kind:?}");
        assert_eq!(left.device.counts().outages, 1, "{kind:?}");
        left.device.check().expect("it is there");
        assert_eq!(left.device.counts().outages, 1, "{kind:?}: told of once");
        left.close();
    }
}

fn what_cannot_be_opened_is_refused() {
    let namespace = namespace();
    for kind in kinds() {
        let buffers = Buffers::new(64, 2048).expect("128 KB");
        let mut packets = Packets::with_places(64);
        let opened = within(&namespace, || Device::open(77, kind, &buffers, &mut packets, None));
        assert!(matches!(opened, Err(Error::System { .. })), "{kind:?}: {opened:?}");
        assert_eq!(packets.live(), 0, "nothing is lent");
    }
    if !kinds().contains(&GENERIC) {
        return;
    }
    let refused = Side::open(&namespace, "lo", GENERIC, 9014).map(drop);
    let Err(Error::Unfit { help, .. }) = refused else { panic!("{refused:?}") };
    assert!(help.contains("MTU"), "{help}");
}

/// Opens the same interface again immediately, as in successive runs.
fn an_interface_can_be_opened_again() {
    for kind in kinds() {
        let (mut left, right, [_namespace, other]) = ends(kind, 1514);
        right.close();
        let mut right = Side::open(&other, "b0", kind, 1514).expect("the device, again");
        assert_pass(&mut left, &mut right, &[frame(&mut Random::from_seed(13), 99)]);
    }
}

fn an_interface_that_others_have_is_refused() {
    if !kinds().contains(&GENERIC) {
        return;
    }
    let (_left, _right, [_namespace, other]) = ends(GENERIC, 1514);
    let told = Side::open(&other, "b0", GENERIC, 1514).map(drop);
    let Err(Error::Lacking { help, .. }) = told else { panic!("{told:?}") };
    assert!(help.contains("stop the program"), "{help}");
}
