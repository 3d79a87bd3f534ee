//! What single disciplines count beyond the counters that all have (`TCA_STATS_APP`).

use std::mem::offset_of;
use std::time::Duration;

use traffic_kernel::abi::SuimonStatistics;

use crate::wire::{long, word};

/// What a discipline counts of itself; `None` where it does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnStatistics {
    /// Packets marked with Congestion Experienced (RFC 3168).
    pub marks: Option<u64>,
    /// The time that the packet sent last waited; of a discipline of flows of the kernel's, in the flow where that is longest; of PIE, its
    /// estimate for the packets that arrive now.
    pub delay: Option<Duration>,
    /// Gap frames sent.
    pub gap_frames: Option<u64>,
    /// Their bytes.
    pub gap_bytes: Option<u64>,
    /// Gap frames that were not sent for lack of memory.
    pub gaps_lost: Option<u64>,
    /// Whether the discipline broke, so that packets leave in the order of arrival.
    pub faulty: Option<bool>,
}

/// Reads the statistics of a discipline of that kind, or of a class of it. The structs are those of
/// include/uapi/linux/pkt_sched.h; each field has four bytes unless noted.
pub(super) fn read(kind: &str, class: bool, bytes: &[u8]) -> OwnStatistics {
    let marked = |fields: &[usize]| {
        let marks = fields.iter().map(|&at| u64::from(word(bytes, at))).sum();
        OwnStatistics { marks: Some(marks), ..OwnStatistics::default() }
    };
    let delay = |at| Some(Duration::from_micros(word(bytes, at).into()));
    match (kind, class) {
        _ if bytes.is_empty() => OwnStatistics::default(),
        // `struct tc_red_xstats`, `tc_choke_xstats`: marked.
        ("red" | "choke", false) => marked(&[12]),
        // `struct tc_codel_xstats`: ecn_mark and ce_mark; ldelay.
        ("codel", false) => OwnStatistics { delay: delay(12), ..marked(&[24, 32]) },
        // `struct tc_fq_codel_xstats` with its type first: ecn_mark and ce_mark of `qdisc_stats`; the delay is that of the
        // flows that have packets.
        ("fq_codel", false) => OwnStatistics { delay: Some(Duration::ZERO), ..marked(&[12, 28]) },
        // ldelay of `class_stats`.
        ("fq_codel", true) => OwnStatistics { delay: delay(8), ..OwnStatistics::default() },
        // `struct tc_pie_xstats`, whose first field has eight bytes: delay, ecn_mark.
        ("pie", false) => OwnStatistics { delay: delay(8), ..marked(&[36]) },
        // `struct tc_fq_pie_xstats`: ecn_mark.
        ("fq_pie", false) => marked(&[16]),
        // `struct tc_fq_qd_stats`: ce_mark, of eight bytes.
        ("fq", false) => OwnStatistics { marks: Some(long(bytes, 80)), ..OwnStatistics::default() },
        ("suimon" | "psp", false) => ours(bytes),
        // Frames without memory and faults are those of the whole discipline.
        ("suimon" | "psp", true) => OwnStatistics { gaps_lost: None, faulty: None, ..ours(bytes) },
        _ => OwnStatistics::default(),
    }
}

/// `struct tc_suimon_xstats` of kernel/module/suimon_netlink.h.
fn ours(bytes: &[u8]) -> OwnStatistics {
    const GAPS_LOST: usize = size_of::<SuimonStatistics>();
    const FAULTY: usize = GAPS_LOST + size_of::<u64>();
    OwnStatistics {
        marks: Some(long(bytes, offset_of!(SuimonStatistics, marked_packets))),
        delay: Some(Duration::from_nanos(long(bytes, offset_of!(SuimonStatistics, delay)))),
        gap_frames: Some(long(bytes, offset_of!(SuimonStatistics, gap_frames))),
        gap_bytes: Some(long(bytes, offset_of!(SuimonStatistics, gap_bytes))),
        gaps_lost: Some(long(bytes, GAPS_LOST)),
        faulty: Some(word(bytes, FAULTY) != 0),
    }
}
