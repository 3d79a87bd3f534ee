//! Packets that come to a class.

use base::{Instant, Random};

use crate::jobs::link::{BYTE, FRAME, Offer};
use crate::wire::OVERHEAD;

fn below(random: &mut Random, n: u64) -> u64 {
    random.next_u64() % n
}

/// Packets of a class that never bring more than `burst` bytes of the wire at once and `share` (of 1000) of
/// the link after that; often as much as that.
pub(crate) fn leaky(
    random: &mut Random,
    class: u32,
    burst: u64,
    share: u64,
    until: Instant,
) -> Vec<Offer> {
    let (mut offers, mut at, mut tokens) = (Vec::new(), 0, burst * BYTE);
    while at < until.as_ps() {
        let pause = match below(random, 4) {
            0 => below(random, 4 * burst * BYTE * 1_000 / share),
            _ => below(random, FRAME * BYTE * 1_000 / share),
        };
        at += pause;
        tokens = (tokens + pause * share / 1_000).min(burst * BYTE);
        let greed = below(random, 3);
        loop {
            let length = if greed == 0 { 1_518 } else { 64 + below(random, 1_455) };
            let cost = (length + OVERHEAD) * BYTE;
            if tokens < cost || (greed == 2 && below(random, 3) == 0) {
                break;
            }
            tokens -= cost;
            offers.push(Offer { at: Instant::from_ps(at), class, length: length as u32 });
        }
    }
    offers
}

/// Packets of a class at `share` (of 1000) of the link, at random times.
pub(crate) fn random_times(
    random: &mut Random,
    class: u32,
    share: u64,
    until: Instant,
) -> Vec<Offer> {
    let (mut offers, mut at) = (Vec::new(), 0);
    while at < until.as_ps() {
        let length = 64 + below(random, 1_455);
        at += below(random, 2 * (length + OVERHEAD) * BYTE * 1_000 / share);
        offers.push(Offer { at: Instant::from_ps(at), class, length: length as u32 });
    }
    offers
}
