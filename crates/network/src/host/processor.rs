//! What a segment costs a host's processor, and the backlog in which segments wait for it.

use std::collections::VecDeque;

use traffic::setting::{Field, choice, settings};
use traffic::{DropReason, Duration, Instant, PacketId};

use super::Host;
use crate::node::{Context, Egress};
use crate::observer::{Observer, Place};

settings! {
    /// What a segment costs a host's processor. What is not given is the machine's, or free.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Processor {
        /// For each segment received.
        pub per_segment: Duration,
        /// For each entry of the retransmission queue that an ACK makes the stack walk.
        pub per_walked: Duration,
        /// Segments that may wait, 300 to 1000 in Linux (netdev_max_backlog); more are dropped.
        #[range(1..)]
        pub backlog: u32,
        /// Whether a backlog that overflowed takes nothing before it is empty, as in Linux 2.4 (`netif_rx`).
        pub throttle: bool,
    }
}

choice! {
    /// A machine whose costs are known.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Machine {
        /// See [`Processor::FREE`].
        Ideal = "ideal",
        /// See [`Processor::PENTIUM_4_LINUX_2_4`].
        Pentium4Linux24 = "pentium-4-linux-2.4",
    }
}

impl Machine {
    /// Its costs.
    pub const fn processor(self) -> Processor {
        match self {
            Self::Ideal => Processor::FREE,
            Self::Pentium4Linux24 => Processor::PENTIUM_4_LINUX_2_4,
        }
    }
}

/// One that takes no time.
impl Default for Processor {
    fn default() -> Self {
        Self::FREE
    }
}

impl Processor {
    /// One that takes no time.
    pub const FREE: Self = Self {
        per_segment: Duration::ZERO,
        per_walked: Duration::ZERO,
        backlog: 1000,
        throttle: false,
    };

    /// Paper 0's sender: a Pentium 4 of 2.8 GHz with Linux 2.4.26 (paper 0, tables 1 and 6).
    ///
    /// A segment: at full rate the benchmark of table 6 keeps 923.0 of 1935.5 MB/s, so the transfer has
    /// at most 52 % of the machine, 12.9 us for every ACK with the two segments it releases, some 3 us
    /// of them for copying these. A queue entry: a cache miss, for 8 200 `sk_buff`s of 160 bytes do
    /// not fit 512 KiB; 100 ns on DDR400, less what the processor prefetches of neighbours. Not
    /// measured, and table 4 hangs on it (papers/p0/README.md). The backlog is `netdev_max_backlog`; it
    /// throttles because the driver of table 2 is built without NAPI. What hangs on it is calibrated, not
    /// predicted.
    pub const PENTIUM_4_LINUX_2_4: Self = Self {
        per_segment: Duration::from_us(10),
        per_walked: Duration::from_ns(70),
        backlog: 300,
        throttle: true,
    };
}

/// It has a table of the file to itself.
impl Field for Processor {
    type Measure = ();
}

/// The processor and what waits for it.
#[derive(Debug)]
pub(super) struct Processing {
    config: Processor,
    backlog: VecDeque<PacketId>,
    /// It overflowed and is not yet empty again.
    throttled: bool,
    busy_until: Instant,
}

impl Processing {
    pub(super) fn new(config: Processor) -> Self {
        let busy_until = Instant::ZERO;
        Self { config, backlog: VecDeque::new(), throttled: false, busy_until }
    }

    /// Segments that wait.
    pub(super) fn waiting(&self) -> usize {
        self.backlog.len()
    }

    /// When it takes the next segment; `NEVER` if none waits.
    pub(super) fn next_wakeup(&self) -> Instant {
        if self.backlog.is_empty() { Instant::NEVER } else { self.busy_until }
    }
}

impl Host {
    /// A segment waits for the processor, or is dropped.
    pub(super) fn queue_for_processor<E: Egress, O: Observer>(
        &mut self,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let Some(processing) = &mut self.processing else { return };
        let Processor { backlog, throttle, .. } = processing.config;
        let waiting = processing.backlog.len();
        processing.throttled =
            throttle && waiting > 0 && (processing.throttled || waiting >= backlog as usize);
        if processing.throttled || waiting >= backlog as usize {
            return cx.drop(Place::Node(self.number), packet, DropReason::Backlog);
        }
        processing.backlog.push_back(packet);
        self.serve(cx);
    }

    /// Lets the processor take what waits in its backlog, as far as its time goes.
    pub(super) fn serve<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        while let Some(processing) = &mut self.processing {
            if processing.backlog.is_empty() {
                return;
            }
            if processing.busy_until > cx.now {
                return cx.egress.wake(self.number, processing.busy_until);
            }
            let Some(packet) = processing.backlog.pop_front() else { return };
            let mut cost = processing.config.per_segment;
            let per_walked = processing.config.per_walked;
            if let Some((index, work)) = self.deliver(packet, cx) {
                cost += per_walked.times(u64::from(work.walked));
                self.send_pending(index, cx);
            }
            if let Some(processing) = &mut self.processing {
                processing.busy_until = cx.now + cost;
            }
        }
    }
}
