//! Thresholds of marking by queue length.

use crate::units::{Bytes, Share};

/// The thresholds that a switch sets for all its queues (Kmin, Kmax and Pmax of DCQCN; Zhu et al., SIGCOMM 2015,
/// figure 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// The length in bytes above which packets are marked; some of them, if there is an upper threshold.
    pub min: Bytes,
    /// The length in bytes above which all packets are marked; `None` if all are above `min`.
    pub max: Option<Bytes>,
    /// The marking probability just below `max`.
    pub probability: Share,
}

impl Thresholds {
    /// The default probability: 1 % (DCQCN).
    pub const PROBABILITY: Share = Share(u32::MAX / 100);

    /// A single threshold, above which every packet is marked.
    pub const fn one(min: Bytes) -> Self {
        Self { min, max: None, probability: Self::PROBABILITY }
    }
}
