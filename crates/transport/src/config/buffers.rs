//! Socket buffers, and how much of them a window is.

use base::Bytes;
use base::setting::settings;
use base::setting::{Bytes32, Field, Kind, Value};

/// A socket buffer's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// This many bytes (`SO_SNDBUF`, `SO_RCVBUF` as the kernel keeps it, that is after doubling).
    Fixed(u64),
    /// Tuned between the two by the kernel (`tcp_wmem`, `tcp_rmem`).
    Auto {
        /// The size at the start.
        initial: u64,
        /// The maximum size.
        max: u64,
    },
}

impl Field for Buffer {
    const KIND: Option<Kind> = Some(Kind::TunedBytes);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        Some(match *self {
            Self::Fixed(bytes) => Value::Bytes(Bytes(bytes)),
            Self::Auto { initial, max } => {
                Value::TunedBytes { initial: Bytes(initial), max: Bytes(max) }
            }
        })
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Bytes(Bytes(bytes)) => Some(Self::Fixed(bytes)),
            Value::TunedBytes { initial: Bytes(initial), max: Bytes(max) } => {
                Some(Self::Auto { initial, max })
            }
            _ => None,
        }
    }
}

impl Buffer {
    /// The size to start with, in bytes. A tuned one holds the initial window at least, as Linux sizes
    /// it when the connection is established (`tcp_init_buffer_space`).
    pub fn initial(self, window: u64) -> u64 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Auto { initial, max } => initial.max(window).min(max),
        }
    }
    /// The size it may grow to, in bytes.
    pub const fn max(self) -> u64 {
        match self {
            Self::Fixed(bytes) | Self::Auto { max: bytes, .. } => bytes,
        }
    }
}

/// Room of a receive buffer around an IP packet: virtio's header, `NET_SKB_PAD` and `NET_IP_ALIGN`, Ethernet's header
/// with a VLAN tag.
const FRAME_HEADROOM: u32 = 12 + 66 + 18;
/// `struct skb_shared_info` and `struct sk_buff` (Linux's `SKB_TRUESIZE`, x86-64).
const FRAME_STRUCTURES: u32 = 320 + 256;
/// Up to this MTU a frame has one buffer, with a length that does not depend on the MTU (virtio's `GOOD_PACKET_LEN`),
/// rounded up to `SMP_CACHE_BYTES`; above it a frame has pages.
const ONE_BUFFER_MTU: u32 = 1500;
const ONE_BUFFER: u32 = (ONE_BUFFER_MTU + FRAME_HEADROOM).next_multiple_of(64) + FRAME_STRUCTURES;
/// The buffer for what is copied out of a frame in pages: its headers, or all of it (`napi_alloc_skb`).
const COPY_BUFFER: u32 = 1024 + 256;
/// The bytes of such a frame before its payload: virtio's header with its padding, and the headers of Ethernet, IP
/// and TCP.
const PAGED_HEADERS: u32 = 16 + 14 + 52;
const PAGE: u32 = 4096;

/// Returns the memory of a received frame with `payload` bytes over links of `mtu`, as `virtio_net` without offloads
/// counts it.
fn frame_memory(payload: u32, mtu: u32) -> u32 {
    if mtu <= ONE_BUFFER_MTU {
        return ONE_BUFFER;
    }
    COPY_BUFFER + (payload + PAGED_HEADERS).next_multiple_of(PAGE)
}

/// The memory that frames of full segments take while they wait for the program (Linux's `tcp_try_coalesce`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameMemory {
    /// The first frame of several that follow one another.
    pub(crate) first: u32,
    /// Each that is joined to it.
    pub(crate) next: u32,
    /// How many may be joined, with the first.
    pub(crate) joined_max: u32,
    /// Payload that a buffer has room for, where short segments are copied together.
    pub(crate) payload_max: u32,
}

impl FrameMemory {
    /// Parts that a buffer may have beside its own (Linux's `MAX_SKB_FRAGS`).
    const PARTS_MAX: u32 = 17;

    /// Returns the memory of frames over links of `mtu`.
    pub(crate) fn of(mtu: u32) -> Self {
        /// The memory of the headers, which are not kept: `struct sk_buff`, or everything that is copied out.
        const STRUCTURE: u32 = 256;
        if mtu <= ONE_BUFFER_MTU {
            let first = ONE_BUFFER;
            let payload_max = ONE_BUFFER_MTU + 4 - 48;
            return Self {
                first,
                next: first - STRUCTURE,
                joined_max: 1 + Self::PARTS_MAX,
                payload_max,
            };
        }
        let first = frame_memory(mtu - 52, mtu);
        let next = first - COPY_BUFFER;
        Self { first, next, joined_max: Self::PARTS_MAX / (next / PAGE), payload_max: 0 }
    }
}

/// The denominator of a measured share (Linux's `TCP_RMEM_TO_WIN_SCALE`).
pub(crate) const MEASURED_IN: u32 = 256;

/// The share of a receive buffer that is advertised as window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowShare {
    /// A numerator and a denominator.
    Fraction(u32, u32),
    /// One half before the first data (Linux's `TCP_DEFAULT_SCALING_RATIO`), then what the longest segment's payload
    /// is of the memory that its frame takes (`scaling_ratio`, `tcp_measure_rcv_mss`), in steps of 1/256: 170/256
    /// for 1448 bytes in 2176, 168/256 for 8948 in 13568, as `virtio_net` receives them. Up to 536 bytes
    /// (`TCP_MSS_DEFAULT`) are not measured. Linux since 6.6.
    Measured,
}

impl Field for WindowShare {
    const KIND: Option<Kind> = Some(Kind::FractionOrMeasured);
    type Measure = ();
    fn to_value(&self) -> Option<Value> {
        Some(match *self {
            Self::Fraction(over, under) => Value::Fraction(over, under),
            Self::Measured => Value::Measured,
        })
    }
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Fraction(over, under) => Some(Self::Fraction(over, under)),
            Value::Measured => Some(Self::Measured),
            _ => None,
        }
    }
}

impl WindowShare {
    /// The fraction when a connection begins.
    pub const fn initial(self) -> (u32, u32) {
        match self {
            Self::Fraction(over, under) => (over, under),
            Self::Measured => (MEASURED_IN / 2, MEASURED_IN),
        }
    }

    /// The fraction once the longest segment had `payload` bytes, over links of `mtu`.
    pub fn after(self, payload: u32, mtu: u32) -> (u32, u32) {
        match self {
            Self::Fraction(over, under) => (over, under),
            Self::Measured => {
                let ratio = payload * MEASURED_IN / frame_memory(payload, mtu);
                (ratio.max(1), MEASURED_IN)
            }
        }
    }
}

settings! {
    /// Socket buffers, in payload bytes, except a send buffer with `send_headroom`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct BufferConfig {
        /// Send buffer, for data written and not yet acknowledged: a size, or { initial, max } for autotuning. It
        /// counts memory or payload, depending on `send_headroom`.
        pub send: Buffer,
        /// Headroom for headers in each packet of a send buffer that counts memory and is filled packet by packet
        /// (Linux's `MAX_TCP_HEADER`, 320 bytes); 0 counts payload. A buffer that a program requests by `SO_SNDBUF`
        /// takes twice that memory.
        #[like(Bytes32)]
        pub send_headroom: u32,
        /// Receive buffer, for data received and not yet read: a size, or { initial, max } for autotuning.
        pub receive: Buffer,
        /// Share of the receive buffer that is advertised as window; the rest is kernel overhead. Linux's
        /// `tcp_adv_win_scale` 1 is "1/2" and 2 is "3/4"; 4.4BSD advertises "1/1". Linux since 6.6 has "measured":
        /// one half in the handshake, then the ratio of the longest segment's payload to the memory of its frame
        /// (`tcp_measure_rcv_mss`), 170/256 for 1448 bytes.
        pub window_share: WindowShare,
        /// Whether the window starts at the maximum of a SYN, 65535 bytes, and opens by two segments for each arrival
        /// (Linux's `rcv_ssthresh`, `tcp_grow_window`); `false` advertises all of it from the start (4.4BSD).
        pub window_slow_start: bool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values are the windows that Linux 6.12 advertised in a guest with links of that MTU.
    #[test]
    fn the_share_of_the_window_follows_the_buffers_of_the_interface() {
        let ratio = |mtu: u32| WindowShare::Measured.after(mtu - 52, mtu).0;
        assert_eq!(ratio(1_500), 170, "1448 of 2176");
        assert_eq!(ratio(1_280), 144, "1228 of 2176: the buffer is no shorter");
        assert_eq!(ratio(9_000), 168, "8948 of 13568: three pages, and the buffer for the headers");
    }
}
