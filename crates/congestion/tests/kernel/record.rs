//! The report of the logging flavour for each hook call.

use std::mem::size_of;

use congestion::{RateSample, Sock};

/// `struct cc_record` of `cc_log.h`, field for field.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Record {
    pub(crate) hook: u32,
    pub(crate) args: [u32; 3],
    pub(crate) ret: u32,
    pub(crate) lost: u32,
    /// The argument of `cong_control`.
    pub(crate) rate: RateSample,
    pub(crate) before: Sock,
    pub(crate) after: Sock,
}

/// The hooks in the order of `enum cc_hook`.
pub(crate) const HOOKS: [&str; 8] = [
    "ssthresh",
    "cong_avoid",
    "undo_cwnd",
    "init",
    "pkts_acked",
    "cwnd_event",
    "set_state",
    "cong_control",
];

/// The records of a log.
pub(crate) fn records(log: &[u8]) -> impl Iterator<Item = Record> {
    let chunks = log.chunks_exact(size_of::<Record>());
    assert!(chunks.remainder().is_empty(), "the log is not made of whole records");
    // SAFETY: the chunk has the record's size, and all its fields are plain integers.
    chunks.map(|bytes| unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}
