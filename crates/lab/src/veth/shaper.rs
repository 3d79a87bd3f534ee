//! The queue before a host's line: the kernel's token bucket filter (tc-tbf(8)) at the line's rate, so that packets
//! wait in the host as before a real network card.

use std::io;

use base::{Bytes, Rate};
use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};

use super::{Segmentation, Settings};
use crate::Error;
use crate::netlink::Socket;

/// Bytes of a frame that the kernel counts besides the IP datagram: the Ethernet header, without FCS.
const HEADER: u32 = 14;
/// The shortest frame as the kernel counts it. The kernel itself does not pad frames.
const SHORTEST: u16 = 60;
/// A super-frame of 64 KiB as the kernel counts it, with a header for each of its segments: at most 144 at an MTU of
/// 576 bytes or more.
const SUPER_FRAME: u32 = 65_536 + 144 * 134;
/// The tolerated delay of a timer, in nanoseconds. What the line would have sent during that time may leave at once.
const LATE: u64 = 50_000;

/// Attributes of include/uapi/linux/pkt_sched.h.
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const LINKLAYER_ETHERNET: u8 = 1;

/// A line whose rate limits the host's kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The rate. The kernel counts bytes per second, rounded down.
    pub rate: Rate,
    /// Bytes that a frame costs beyond its header and payload: 4 for the FCS, plus the overhead of the wire. A frame
    /// shorter than Ethernet's minimum costs as much as the minimum.
    pub overhead: u16,
    /// The queue limit in bytes, with headers but without `overhead`.
    pub limit: Bytes,
    /// Whether the timer is exact, as in virtual time.
    pub punctual: bool,
    /// The bytes that may leave at once after idle time. `None`: twice the longest unit that leaves the queue whole
    /// (with [`Segmentation::InQueue`] one frame if the timer is punctual, else one byte less than two), or what the
    /// line sends in 50 us if that is more.
    pub burst: Option<u32>,
}

/// Installs the filter on the interface `index`. Returns whether this kernel has it.
pub(super) fn install(
    socket: &mut Socket,
    index: u32,
    line: &Line,
    settings: &Settings,
) -> Result<bool, Error> {
    let mut message = TcMessage::with_index(index as i32);
    message.header.parent = TcHandle::ROOT;
    message.header.handle = TcHandle { major: 1, minor: 0 };
    message.attributes =
        vec![TcAttribute::Kind("tbf".into()), TcAttribute::Options(options(line, settings))];
    match socket.change(Message::NewQueueDiscipline(message), NLM_F_CREATE | NLM_F_REPLACE) {
        Ok(()) => Ok(true),
        // The kernel has no discipline of that name.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::system("add a TBF to a host's link")(error)),
    }
}

fn options(line: &Line, settings: &Settings) -> Vec<TcOption> {
    let frame = settings.mtu + HEADER;
    let exact = (line.rate.bits_per_second() / 8).max(1);
    let burst = line.burst.unwrap_or_else(|| usual_burst(exact, line, settings));
    let (rate, overhead) = if passes_whole(burst, line, settings) {
        // A super-frame would pay the overhead of a single frame. So full frames pay by a lower rate; shorter frames
        // pay too little here and wait in the fabric for the rest.
        (exact * u64::from(frame) / u64::from(frame + u32::from(line.overhead)), 0)
    } else {
        (exact, line.overhead)
    };
    // The kernel converts the burst into time as for a frame, whose overhead it adds.
    let burst = burst.saturating_add(overhead.into());
    [
        (TCA_TBF_PARMS, parameters(rate.max(1), overhead, line)),
        (TCA_TBF_BURST, burst.to_ne_bytes().to_vec()),
        (TCA_TBF_RATE64, rate.max(1).to_ne_bytes().to_vec()),
    ]
    .map(|(kind, value)| TcOption::Other(DefaultNla::new(kind, value)))
    .into()
}

/// Whether super-frames leave the queue whole. The queue cuts super-frames longer than the burst.
fn passes_whole(burst: u32, line: &Line, settings: &Settings) -> bool {
    match settings.segmentation {
        Segmentation::Tcp => false,
        Segmentation::InQueue => burst > cutting_burst(line, settings),
        Segmentation::BehindQueue(_) | Segmentation::Reader => true,
    }
}

/// The longest burst with which the queue still cuts super-frames of two full frames. The timer may be late by the time
/// of almost one frame: beyond the burst no tokens accumulate, and that time of the line is lost.
const fn cutting_burst(line: &Line, settings: &Settings) -> u32 {
    let frame = settings.mtu + HEADER;
    if line.punctual { frame } else { 2 * frame - 1 }
}

/// The default burst in bytes at `rate` bytes per second.
fn usual_burst(rate: u64, line: &Line, settings: &Settings) -> u32 {
    let frame = settings.mtu + HEADER;
    let most = match settings.segmentation {
        Segmentation::Tcp => 2 * frame,
        Segmentation::InQueue => cutting_burst(line, settings),
        Segmentation::BehindQueue(frames) => frames.max(1).saturating_mul(2 * frame),
        Segmentation::Reader => 2 * SUPER_FRAME,
    };
    let late = u128::from(rate) * u128::from(LATE) / 1_000_000_000;
    most.max(u32::try_from(late).unwrap_or(u32::MAX))
}

/// `struct tc_tbf_qopt`: two `struct tc_ratespec` of 12 bytes (the second, a peak, is unused),
/// limit, buffer and mtu.
fn parameters(rate: u64, overhead: u16, line: &Line) -> Vec<u8> {
    let shortest = SHORTEST.saturating_add(line.overhead);
    let limit = u32::try_from(line.limit.0).unwrap_or(u32::MAX);
    let mut bytes = vec![0, LINKLAYER_ETHERNET];
    bytes.extend(overhead.to_ne_bytes());
    bytes.extend([0; 2]);
    bytes.extend(shortest.to_ne_bytes());
    // If all bits are set, the rate is in TCA_TBF_RATE64.
    bytes.extend(u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
    bytes.extend([0; 12]);
    bytes.extend(limit.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes
}
