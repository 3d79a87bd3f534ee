//! What limited a transfer, from the counters of the kernel and the threads, and what could be changed.

use crate::send::Sent;
use crate::socket::Counts;

/// What limited a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Too little was sent to know.
    Unknown,
    /// The rate that was asked for.
    Rate,
    /// The path: congestion control allowed no larger window.
    Path,
    /// The path, below the rate that the transfer was given.
    PathBelowRate,
    /// The receiver: its window was full.
    Receiver,
    /// The sender's socket buffer.
    Buffer,
    /// The sender's processor: reading, hashing, encrypting.
    Processor,
    /// The sender's disk.
    Disk,
}

impl Limit {
    /// One word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Rate => "rate",
            Self::Path | Self::PathBelowRate => "path",
            Self::Receiver => "receiver",
            Self::Buffer => "buffer",
            Self::Processor => "processor",
            Self::Disk => "disk",
        }
    }

    /// Returns what limited the transfer, and what to change.
    pub const fn advice(self) -> &'static str {
        match self {
            Self::Unknown => "it was over too soon to tell what limited it",
            Self::Rate => "the rate that `--rate` asked for",
            Self::Path => {
                "the path: its rate, its losses or congestion control; more streams (`-P`), another `--congestion`, or a `--rate` just below the path's"
            }
            Self::PathBelowRate => {
                "the path, which did not carry what `--rate` asked for: other traffic, its losses, or congestion control after them; a lower `--rate`, more streams (`-P`), or another `--congestion`"
            }
            Self::Receiver => {
                "the receiver's window: its processor, its disk, or `net.ipv4.tcp_rmem` there"
            }
            Self::Buffer => {
                "the sender's socket buffer: raise the last number of `net.ipv4.tcp_wmem`"
            }
            Self::Processor => "the sender's processor: more streams (`-P`) use more cores",
            Self::Disk => "the sender's disk",
        }
    }

    /// Returns what limited `sent`, if `rate` was asked for.
    ///
    /// The kernel splits the time while a connection had data (`tcpi_busy_time`) into waits for the receiver's
    /// window, for the send buffer, and otherwise for the congestion window or pacing. In the rest of the time the
    /// sender had nothing to give it: its threads worked, or waited for the disk.
    pub fn of(sent: &Sent, rate: Option<u64>) -> Self {
        let elapsed = sent.elapsed.as_secs_f64();
        if elapsed < 0.1 || sent.connections.is_empty() {
            return Self::Unknown;
        }
        if rate.is_some_and(|rate| sent.bytes as f64 / elapsed > 0.9 * rate as f64) {
            return Self::Rate;
        }
        // Other connections may have had no chunk to send.
        let busiest = sent.connections.iter().max_by_key(|counts| counts.busy);
        let Counts { busy, receiver_limited, buffer_limited, .. } =
            busiest.copied().unwrap_or_default();
        // If threads need a whole core each, data may still be under way all the time.
        let processor = sent.processor.as_secs_f64() / sent.connections.len() as f64;
        if processor > 0.85 * elapsed {
            return Self::Processor;
        }
        let busy = busy.as_secs_f64();
        if busy < 0.7 * elapsed {
            let is_working = processor > 0.5 * (elapsed - busy);
            return if is_working { Self::Processor } else { Self::Disk };
        }
        if receiver_limited.as_secs_f64() > 0.4 * busy {
            return Self::Receiver;
        }
        match rate {
            _ if buffer_limited.as_secs_f64() > 0.4 * busy => Self::Buffer,
            Some(_) => Self::PathBelowRate,
            None => Self::Path,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::path::Path;

    #[test]
    fn it_is_where_the_time_went() {
        let ms = Duration::from_millis;
        // Busy, waiting for the receiver, for the buffer, and processor time, of a second.
        for (busy, receiver, buffer, processor, limit) in [
            (1000, 0, 0, 100, Limit::Path),
            (1000, 800, 0, 100, Limit::Receiver),
            (1000, 0, 700, 100, Limit::Buffer),
            (1000, 300, 0, 950, Limit::Processor),
            (200, 0, 0, 600, Limit::Processor),
            (200, 0, 0, 100, Limit::Disk),
        ] {
            let counts = Counts {
                busy: ms(busy),
                receiver_limited: ms(receiver),
                buffer_limited: ms(buffer),
                ..Counts::default()
            };
            let mut sent = Sent {
                files: 1,
                already: 0,
                bytes: 100 << 20,
                again: 0,
                refused: Vec::new(),
                changed: Vec::new(),
                unread: Vec::new(),
                path: Path::Copy,
                costs: Vec::new(),
                encryption: None,
                elapsed: ms(1000),
                processor: ms(processor),
                connections: vec![counts],
                buffers: crate::send::Buffers::default(),
            };
            assert_eq!(Limit::of(&sent, None), limit);
            assert_eq!(Limit::of(&sent, Some(105 << 20)), Limit::Rate);
            let below = if limit == Limit::Path { Limit::PathBelowRate } else { limit };
            assert_eq!(Limit::of(&sent, Some(400 << 20)), below, "the rate was not reached");
            sent.elapsed = ms(50);
            assert_eq!(Limit::of(&sent, None), Limit::Unknown);
        }
    }
}
