//! Flow control of a port (IEEE 802.3, annex 31B; 802.1Qbb): the port at the other end of the wire stops it, as a
//! whole or by priorities, and control frames of its own go out before all that its discipline has.
//!
//! A packet of a priority that is stopped holds up those behind it in the same queue: what the discipline gave, the
//! port keeps until the priority goes on.

use traffic::control::PRIORITIES;
use traffic::{Duration, Instant, PacketId, Packets, Pause, Rate, Ring};

/// What a port has been told, and what it has to say.
#[derive(Debug, Default)]
pub(crate) struct FlowControl {
    /// When each priority goes on.
    stopped_until: [Instant; PRIORITIES],
    /// A packet that the discipline gave and that may not go yet.
    held: Option<PacketId>,
    held_bytes: u64,
    /// Control frames to be sent.
    waiting: Ring<PacketId>,
    counted: Counters,
}

/// What flow control counted at a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PAUSE frames sent, priority-based ones too.
    pub pauses_sent: u64,
    /// PAUSE frames received.
    pub pauses_received: u64,
    /// Congestion notifications received.
    pub notifications_received: u64,
    /// For how long each priority was told to stop, and did not go on before.
    pub stopped: [Duration; PRIORITIES],
}

impl FlowControl {
    /// Whether neither packets nor frames wait here, and no priority is stopped at `now`.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        !self.has_waiting() && self.stopped_until.iter().all(|&until| until <= now)
    }

    /// Whether a packet or frame waits here.
    pub(crate) fn has_waiting(&self) -> bool {
        self.held.is_some() || !self.waiting.is_empty()
    }

    /// Control frames that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The far end's port says to stop or to go on, at `now` to a port of `rate`.
    pub(crate) fn pause(&mut self, pause: &Pause, rate: Rate, now: Instant) {
        self.counted.pauses_received += 1;
        for (priority, until) in self.stopped_until.iter_mut().enumerate() {
            let Some(time) = pause.time(priority as u8, rate) else { continue };
            let stopped = &mut self.counted.stopped[priority];
            // What it was told before counts only as far as it lasted.
            *stopped = *stopped - until.since(now) + time;
            *until = now + time;
        }
    }

    /// A switch says that its queue is congested.
    pub(crate) fn notify(&mut self) {
        self.counted.notifications_received += 1;
    }

    /// A control frame is to be sent.
    pub(crate) fn push(&mut self, frame: PacketId) {
        self.waiting.push(frame);
    }

    /// The control frame that is sent next.
    pub(crate) fn pop(&mut self) -> Option<PacketId> {
        let frame = self.waiting.pop();
        self.counted.pauses_sent += u64::from(frame.is_some());
        frame
    }

    /// When something may be sent at all, if not at `now`.
    pub(crate) fn stopped(&self, now: Instant) -> Option<Instant> {
        self.stopped_until.iter().copied().min().filter(|&until| until > now)
    }

    /// Keeps a packet that the discipline gave if its priority is stopped at `now`; until when, then.
    pub(crate) fn keep(
        &mut self,
        packet: PacketId,
        packets: &Packets,
        now: Instant,
    ) -> Option<Instant> {
        let until = self.stopped_until[usize::from(packets[packet].priority) % PRIORITIES];
        let stopped = until > now;
        if stopped {
            self.held = Some(packet);
            self.held_bytes = packets[packet].length.into();
        }
        stopped.then_some(until)
    }

    /// Takes the packet that is kept.
    pub(crate) fn take_held(&mut self) -> Option<PacketId> {
        self.held.take()
    }

    /// The packet that is kept.
    pub(crate) fn held_packet(&self) -> Option<PacketId> {
        self.held
    }

    /// Packets and bytes that are kept.
    pub(crate) fn held(&self) -> Option<(u64, u64)> {
        self.held.map(|_| (1, self.held_bytes))
    }

    /// What it counted.
    pub(crate) fn counted(&self) -> Counters {
        self.counted
    }
}
