//! Guarantees as they are drawn.

use proptest::prelude::*;
use traffic::qdisc::jobs::Class;

use crate::jobs::link::{LINK, frames};
use crate::wire::{OVERHEAD, rate};

pub(crate) fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// A guarantee that is drawn: a share of the link in thousandths, and for a delay the bound in frames.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Drawn {
    Delay { share: u64, bound: u64, relative: Option<u32> },
    Rate { share: u64, length: u32 },
    Nothing,
}

pub(crate) fn class(guarantee: &Drawn) -> Class {
    match *guarantee {
        Drawn::Delay { bound, relative, .. } => {
            Class { delay: Some(frames(bound)), relative_delay: relative, ..Class::default() }
        }
        Drawn::Rate { share, length } => {
            Class { rate: Some(rate(goodput(share, length))), ..Class::default() }
        }
        Drawn::Nothing => Class::default(),
    }
}

/// The bit rate of frames of this length that takes this share of the link.
fn goodput(share: u64, length: u32) -> u64 {
    LINK / 1_000 * share * u64::from(length) / (u64::from(length) + OVERHEAD)
}
