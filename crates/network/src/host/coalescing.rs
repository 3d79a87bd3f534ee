//! Interrupt coalescing: the time that frames wait in an interface before the interrupt, and how they are merged
//! then (`ethtool -C`, Linux's NAPI and GRO). It is host noise in a delay-based congestion signal.

use base::packet::flags;
use base::setting::{Field, settings};
use base::{Bytes, Duration, Instant, Packet, PacketId};

use super::Host;
use crate::context::{Context, Egress};
use crate::observer::Observer;

/// The longest wait of an interface: no driver accepts more.
const DELAY_MAX: Duration = Duration::from_ms(100);

/// The maximum size of a GRO packet (Linux's `GRO_LEGACY_MAX_SIZE`).
const JOINED_MAX: Bytes = Bytes(65_536);

settings! {
    required: delay;
    /// Interrupt coalescing of the interfaces (`ethtool -C`). Without this table each frame interrupts at once; frames
    /// that arrive at the same instant, as over a link with jitter, interrupt together.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Coalescing {
        /// Minimum time between two interrupts: ethtool's rx-usecs, as in Intel's interfaces. A frame after a longer
        /// silence interrupts at once.
        #[range(..=DELAY_MAX)]
        pub delay: Duration,
        /// Number of waiting frames that trigger an immediate interrupt: ethtool's rx-frames; no limit unless given.
        #[range(1..)]
        pub frames: Option<u32>,
        /// Whether consecutive segments of one connection within one interrupt are merged, up to 64 KiB, and
        /// acknowledged once (generic receive offload, GRO); true unless given.
        pub gro: bool,
    }
}

impl Default for Coalescing {
    fn default() -> Self {
        Self { delay: Duration::ZERO, frames: None, gro: true }
    }
}

/// It is a table of its own in the file.
impl Field for Coalescing {
    type Measure = ();
}

/// Consecutive segments that the connection has taken as one.
#[derive(Clone, Copy, Debug)]
struct Joined {
    /// The connection's endpoint.
    index: u32,
    /// The sequence number of the next segment.
    next: u32,
    ack: u32,
    /// The payload of the first segment; a smaller one ends the run.
    payload: u32,
    bytes: u32,
}

impl Joined {
    /// A run of `packet` alone; `None` if nothing may follow it.
    fn of(index: u32, packet: &Packet) -> Option<Self> {
        let tcp = &packet.tcp;
        (tcp.payload != 0 && tcp.flags == flags::ACK && tcp.sack_len == 0).then_some(Self {
            index,
            next: tcp.seq.wrapping_add(tcp.payload),
            ack: tcp.ack,
            payload: tcp.payload,
            bytes: tcp.payload,
        })
    }

    /// Adds `packet` if it follows. Returns whether more may follow.
    fn join(&mut self, packet: &Packet) -> Option<bool> {
        let tcp = &packet.tcp;
        let follows = tcp.seq == self.next
            && tcp.ack == self.ack
            && tcp.payload != 0
            && tcp.payload <= self.payload
            && tcp.flags & !flags::PSH == flags::ACK
            && tcp.sack_len == 0
            && u64::from(self.bytes + tcp.payload) <= JOINED_MAX.0;
        if !follows {
            return None;
        }
        self.next = self.next.wrapping_add(tcp.payload);
        self.bytes += tcp.payload;
        Some(tcp.flags == flags::ACK && tcp.payload == self.payload)
    }
}

/// The frames that wait for an interrupt, and the time of the interrupt.
#[derive(Debug)]
pub(super) struct Interrupts {
    config: Coalescing,
    waiting: Vec<PacketId>,
    due: Instant,
    /// The earliest time of the next interrupt, unless enough frames wait.
    allowed: Instant,
    /// Empty between interrupts, like the next.
    joined: Vec<Joined>,
    /// The endpoints whose programs read after the interrupt.
    readers: Vec<u32>,
}

impl Interrupts {
    pub(super) const fn new(config: Coalescing) -> Self {
        Self {
            config,
            waiting: Vec::new(),
            due: Instant::NEVER,
            allowed: Instant::ZERO,
            joined: Vec::new(),
            readers: Vec::new(),
        }
    }

    /// The number of waiting frames.
    pub(super) const fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The time of the interrupt; `NEVER` if no frame waits.
    pub(super) const fn next_wakeup(&self) -> Instant {
        self.due
    }
}

impl Host {
    /// Queues a frame for the interrupt.
    pub(super) fn wait_for_interrupt<E: Egress, O: Observer>(
        &mut self,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let Some(interrupts) = &mut self.interrupts else { return };
        interrupts.waiting.push(packet);
        if interrupts.waiting.len() == 1 {
            interrupts.due = interrupts.allowed.max(cx.now);
        }
        let most = interrupts.config.frames.map_or(usize::MAX, |frames| frames as usize);
        // What else arrives at this instant is taken by the same interrupt.
        if interrupts.waiting.len() >= most {
            self.interrupt(cx);
        } else {
            cx.egress.wake(self.number, interrupts.due);
        }
    }

    /// Takes all waiting frames, if the interrupt is due.
    pub(super) fn interrupt_if_due<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        if self.interrupts.as_ref().is_some_and(|interrupts| interrupts.due <= cx.now) {
            self.interrupt(cx);
        }
    }

    /// Takes all waiting frames. A connection answers merged segments once, when all have been taken or the next
    /// one cannot be merged. With GRO, programs read afterwards: where unread data keeps the window from moving, the
    /// ACK waits for them (Linux's `__tcp_ack_snd_check`).
    fn interrupt<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        let Some(interrupts) = &mut self.interrupts else { return };
        interrupts.due = Instant::NEVER;
        interrupts.allowed = cx.now + interrupts.config.delay;
        let gro = interrupts.config.gro;
        let mut waiting = std::mem::take(&mut interrupts.waiting);
        let mut joined = std::mem::take(&mut interrupts.joined);
        for packet in waiting.drain(..) {
            let index = self.by_flow.get(cx.packets[packet].flow);
            if gro {
                self.defer_reading(index);
            }
            let answer = !gro || self.ends_run(index, &mut joined, packet, cx);
            if let Some((index, _)) = self.deliver(packet, cx)
                && answer
            {
                self.send_pending(index, cx);
            }
        }
        for Joined { index, .. } in joined.drain(..) {
            self.send_pending(index, cx);
        }
        while let Some(index) = self.interrupts.as_mut().and_then(|own| own.readers.pop()) {
            self.endpoints[index as usize].connection.read_always(cx.now);
            self.send_pending(index, cx);
        }
        if let Some(interrupts) = &mut self.interrupts {
            (interrupts.waiting, interrupts.joined) = (waiting, joined);
        }
    }

    /// Makes the program of an endpoint read after this interrupt, if it reads whatever arrives.
    fn defer_reading(&mut self, index: u32) {
        if let Some(endpoint) = self.endpoints.get_mut(index as usize)
            && let Some(interrupts) = &mut self.interrupts
            && endpoint.connection.defer_reading()
        {
            interrupts.readers.push(index);
        }
    }

    /// Lets the program of an endpoint read if it would after this interrupt: it is notified of an event now.
    pub(super) fn read_before_event(&mut self, index: u32, now: Instant) {
        if self.interrupts.as_ref().is_some_and(|own| own.readers.contains(&index)) {
            self.endpoints[index as usize].connection.read_always(now);
        }
    }

    /// Merges a packet with the run of its connection, or starts a run, or neither. Returns whether the run is
    /// answered now, because nothing may follow it.
    fn ends_run<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        joined: &mut Vec<Joined>,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        if let Some(place) = joined.iter().position(|joined| joined.index == index) {
            if let Some(more) = joined[place].join(&cx.packets[packet]) {
                if !more {
                    joined.swap_remove(place);
                }
                return !more;
            }
            joined.swap_remove(place);
            self.send_pending(index, cx);
        }
        let first = Joined::of(index, &cx.packets[packet]);
        let first = first.filter(|_| (index as usize) < self.endpoints.len());
        joined.extend(first);
        first.is_none()
    }
}
