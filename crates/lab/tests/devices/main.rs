//! Real frames between two interfaces, through every kind of device.
//!
//! Needs root; without, the tests say so and pass.

mod wire;

use lab::device::Kind;
use traffic::Random;
use wire::{Namespace, Side, is_possible};

const GENERIC: Kind = Kind::Xdp { native: false };
const NATIVE: Kind = Kind::Xdp { native: true };
const PACKET: Kind = Kind::Packet { vnet: false };
const VNET: Kind = Kind::Packet { vnet: true };
const KINDS: [Kind; 4] = [GENERIC, NATIVE, PACKET, VNET];

/// Both ends of a new veth pair, opened as `kind`, for frames of up to `frame` bytes.
fn ends(kind: Kind, frame: u32) -> (Side, Side, [Namespace; 2]) {
    let namespaces = [Namespace::new(), Namespace::new()];
    let [left, right] = &namespaces;
    left.join("a0", right, "b0", frame - 14);
    let open = |namespace, name| Side::open(namespace, name, kind, frame).expect("the device");
    (open(left, "a0"), open(right, "b0"), namespaces)
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

#[test]
fn frames_of_every_length_pass_both_ways() {
    if !is_possible() {
        return;
    }
    for kind in KINDS {
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
