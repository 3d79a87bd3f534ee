//! The queue before a host's line: the kernel's token bucket filter (tc-tbf(8)) at the line's rate,
//! so that packets wait in the host as they do before a real network card.

use std::io;

use netlink_packet_core::{DefaultNla, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::RouteNetlinkMessage as Message;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use traffic::{Bytes, Rate};

use super::{Segmentation, Settings};
use crate::Error;
use crate::netlink::Socket;

/// What the kernel counts of a frame beside the IP datagram: the Ethernet header, no FCS.
const HEADER: u32 = 14;
/// The shortest frame as the kernel counts, which pads none itself.
const SHORTEST: u16 = 60;
/// A super-frame of 64 KiB as the kernel counts it, with a header for each of its segments, of
/// which there are at most 144 at an MTU of 576 bytes or more.
const SUPER_FRAME: u32 = 65_536 + 144 * 134;
/// What a timer may be late, nanoseconds: what the line would have sent meanwhile may follow at
/// once.
const LATE: u64 = 50_000;

/// Attributes of include/uapi/linux/pkt_sched.h.
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_RATE64: u16 = 4;
const TCA_TBF_BURST: u16 = 6;
const LINKLAYER_ETHERNET: u8 = 1;

/// A line as the host's kernel keeps to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its rate; the kernel counts bytes per second, rounded down.
    pub rate: Rate,
    /// What a frame costs beyond its header and payload: 4 for the FCS, and what the wire adds. A
    /// frame shorter than Ethernet's shortest costs as much as that.
    pub overhead: u16,
    /// The bytes that may wait, headers counted and `overhead` not.
    pub limit: Bytes,
    /// Whether its timer goes off when it should, as in virtual time.
    pub punctual: bool,
    /// The bytes that may leave at once after silence; `None`: what the queue leaves whole, twice unless the timer is
    /// punctual, or what the line sends in 50 us if that is more.
    pub burst: Option<u32>,
}

/// Puts the filter on the interface `index`; returns whether this kernel has it.
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
        // The kernel knows no discipline of that name.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Error::system("put a TBF before a host's line")(error)),
    }
}

fn options(line: &Line, settings: &Settings) -> Vec<TcOption> {
    let frame = settings.mtu + HEADER;
    let exact = (line.rate.bits_per_second() / 8).max(1);
    let burst = line.burst.unwrap_or_else(|| usual_burst(exact, line, settings));
    let (rate, overhead) = if passes_whole(burst, line, settings) {
        // A super-frame would pay for one frame's: full frames pay by a lower rate, and shorter ones wait in the
        // fabric for what they did not pay.
        (exact * u64::from(frame) / u64::from(frame + u32::from(line.overhead)), 0)
    } else {
        (exact, line.overhead)
    };
    // The kernel turns this into time as it does with a frame, whose overhead it adds.
    let burst = burst.saturating_add(overhead.into());
    [
        (TCA_TBF_PARMS, parameters(rate.max(1), overhead, line)),
        (TCA_TBF_BURST, burst.to_ne_bytes().to_vec()),
        (TCA_TBF_RATE64, rate.max(1).to_ne_bytes().to_vec()),
    ]
    .map(|(kind, value)| TcOption::Other(DefaultNla::new(kind, value)))
    .into()
}

/// Whether super-frames leave the queue as they are: it cuts those that are longer than the burst.
fn passes_whole(burst: u32, line: &Line, settings: &Settings) -> bool {
    match settings.segmentation {
        Segmentation::Tcp => false,
        Segmentation::InQueue => burst > cutting_burst(line, settings),
        Segmentation::BehindQueue(_) | Segmentation::Reader => true,
    }
}

/// The longest burst by which the queue cuts all that is of two full frames. Its timer may then be late by all but what a
/// frame takes: time that tokens cannot be saved up for is lost to the line.
const fn cutting_burst(line: &Line, settings: &Settings) -> u32 {
    let frame = settings.mtu + HEADER;
    if line.punctual { frame } else { 2 * frame - 1 }
}

/// In bytes, at `rate` bytes per second.
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
    // A full field says that the rate stands in TCA_TBF_RATE64.
    bytes.extend(u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
    bytes.extend([0; 12]);
    bytes.extend(limit.to_ne_bytes());
    bytes.extend([0; 8]);
    bytes
}
