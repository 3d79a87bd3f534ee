//! A link: its configuration, and one direction of it, through which packets propagate.

use base::setting::settings;
use base::{Bytes, DropReason, Duration, Instant, PacketId, Rate, Ring};
use traffic::Packets;

use crate::impairment::{Impairment, Transit};
use base::prefetch::prefetch;

/// Sixty times the fastest Ethernet (IEEE 802.3dj): a higher rate is a mistaken unit.
pub const RATE_MAX: Rate = Rate::from_bits_per_second(100_000_000_000_000).unwrap();

settings! {
    /// A link with the same settings in both directions.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Config {
        /// Line rate; required unless there is a `trace`.
        #[range(..=RATE_MAX)]
        pub rate: Rate,
        /// One-way propagation delay; 0 unless given.
        pub delay: Duration,
        /// MTU, the maximum IP datagram (every IPv4 host accepts 576 B: RFC 791); 1500 B unless given.
        #[range(Bytes(576)..=Bytes(65_535))]
        pub mtu: Bytes,
        /// Overhead of a frame beyond header and FCS; 20 B unless given (Ethernet's preamble and gap).
        #[range(..=Bytes(1_000_000))]
        pub overhead: Bytes,
    }
}

impl Default for Config {
    /// Ethernet; the caller sets the rate.
    fn default() -> Self {
        let overhead = Bytes(base::packet::PREAMBLE_AND_GAP.into());
        Self { rate: Rate::MIN, delay: Duration::ZERO, mtu: Bytes(1_500), overhead }
    }
}

settings! {
    /// One direction of a link: that of the frames sent at one of its ends.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Direction {
        /// Line rate of this direction; the link's unless given.
        #[range(..=RATE_MAX)]
        pub rate: Rate,
        /// Propagation delay of this direction; the link's unless given.
        pub delay: Duration,
        /// Bytes that the device takes from the discipline ahead of transmission, counted as on the link; 0 unless
        /// given.
        pub device_buffer: Bytes,
    }
}

impl From<&Config> for Direction {
    fn from(link: &Config) -> Self {
        Self { rate: link.rate, delay: link.delay, device_buffer: Bytes(0) }
    }
}

impl Default for Direction {
    fn default() -> Self {
        Self::from(&Config::default())
    }
}

/// One direction of a link: packets in flight, each with the arrival time of its last bit, in order of arrival.
#[derive(Debug)]
pub struct Wire {
    delay: Duration,
    impaired: Option<Box<Impaired>>,
    flight: Ring<(Instant, PacketId)>,
}

/// The result of putting a packet onto a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    /// Why the link loses it, if it does; the packet then still belongs to the caller.
    pub lost: Option<DropReason>,
    /// The copy that the link made of it, which is in flight.
    pub copy: Option<PacketId>,
}

/// The state of a link direction with impairments, or with its far end in another part of the world.
#[derive(Debug, Default)]
struct Impaired {
    /// The impairments, in the order in which a packet passes them.
    impairments: Vec<Impairment>,
    /// The arrival time of the last packet among those that keep their order.
    latest: Instant,
    counters: Counters,
    /// The part of the world in which the link ends, if it is another one.
    far_part: Option<u32>,
}

/// The effects of impairments on the packets of one direction of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets lost.
    pub lost: u64,
    /// Packets that arrived, copies included.
    pub passed: u64,
    /// Packets held back while later ones passed them.
    pub reordered: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Packets damaged.
    pub corrupted: u64,
    /// Packets with a changed payload that no checksum detects.
    pub corrupted_undetected: u64,
    /// The sum of the delays of all arrived packets beyond the propagation delay, in picoseconds.
    pub delay_sum: u128,
    /// The maximum of these delays.
    pub delay_max: Duration,
}

impl Counters {
    /// The counts since `earlier`; the maximum delay covers the whole run.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            lost: self.lost.saturating_sub(earlier.lost),
            passed: self.passed.saturating_sub(earlier.passed),
            reordered: self.reordered.saturating_sub(earlier.reordered),
            duplicated: self.duplicated.saturating_sub(earlier.duplicated),
            corrupted: self.corrupted.saturating_sub(earlier.corrupted),
            corrupted_undetected: self
                .corrupted_undetected
                .saturating_sub(earlier.corrupted_undetected),
            delay_sum: self.delay_sum.saturating_sub(earlier.delay_sum),
            delay_max: self.delay_max,
        }
    }
}

impl Wire {
    /// Creates a link direction with the given delay and these impairments, which a packet passes in order.
    pub fn new(delay: Duration, impairments: Vec<Impairment>) -> Self {
        let impaired = (!impairments.is_empty())
            .then(|| Box::new(Impaired { impairments, ..Impaired::default() }));
        Self { delay, impaired, flight: Ring::new() }
    }

    /// Cuts the empty link: it ends in another part of the world, `far_part`. What is sent leaves it by [`Wire::take`] at
    /// once, to arrive on the half that this returns.
    pub fn cut(&mut self, far_part: u32) -> Self {
        self.impaired.get_or_insert_default().far_part = Some(far_part);
        Self::new(self.delay, Vec::new())
    }

    /// The part of the world in which it ends, if it is cut.
    pub fn far_part(&self) -> Option<u32> {
        self.impaired.as_ref()?.far_part
    }

    /// Whether it has neither impairments nor a cut: otherwise packets enter through [`Wire::send_impaired`].
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.impaired.is_none()
    }

    /// Whether it has impairments.
    pub fn is_impaired(&self) -> bool {
        self.impaired.as_ref().is_some_and(|impaired| !impaired.impairments.is_empty())
    }

    /// Takes a packet with its last bit leaving the port at `leaves`; returns when it arrives.
    #[inline]
    pub fn send(&mut self, packet: PacketId, leaves: Instant) -> Instant {
        let arrives = leaves + self.delay;
        self.flight.push((arrives, packet));
        arrives
    }

    /// Like [`Wire::send`], through the impairments. Packets arrive in order except for those that an impairment
    /// holds back. A copy is a new packet of `packets`, and arrives behind its original.
    #[inline(never)]
    pub fn send_impaired(
        &mut self,
        packet: PacketId,
        leaves: Instant,
        packets: &mut Packets,
    ) -> Launched {
        let Some(impaired) = &mut self.impaired else {
            self.send(packet, leaves);
            return Launched::default();
        };
        let (frame, copied) = impaired.transit(0, Transit::new(leaves));
        // A copy passes the impairments after the one that made it.
        let copy = copied.and_then(|(stage, copied)| {
            let copy = packets.duplicate(packet)?;
            impaired.counters.duplicated += 1;
            Some((copy, impaired.transit(stage, copied).0))
        });
        let lost = self.enter(packet, frame, packets).err();
        let copy = copy.and_then(|(copy, frame)| match self.enter(copy, frame, packets) {
            Ok(()) => Some(copy),
            Err(_) => {
                packets.release(copy);
                None
            }
        });
        Launched { lost, copy }
    }

    /// Inserts a packet among those in flight, as its impairments left it.
    fn enter(
        &mut self,
        packet: PacketId,
        frame: Transit,
        packets: &mut Packets,
    ) -> Result<(), DropReason> {
        let Some(impaired) = &mut self.impaired else { return Ok(()) };
        let counters = &mut impaired.counters;
        if let Some(reason) = frame.lost {
            counters.lost += 1;
            return Err(reason);
        }
        let usual = frame.leaves + self.delay;
        impaired.latest = (usual + frame.delay).max(impaired.latest);
        let arrives = impaired.latest + frame.held;
        let added = arrives - usual;
        counters.passed += 1;
        counters.reordered += u64::from(frame.held > Duration::ZERO);
        counters.corrupted += u64::from(frame.corrupted);
        counters.corrupted_undetected += u64::from(frame.corrupted_undetected);
        counters.delay_sum += u128::from(added.as_ps());
        counters.delay_max = counters.delay_max.max(added);
        if frame.corrupted {
            packets[packet].corrupted = true;
        }
        if frame.corrupted_undetected {
            packets[packet].altered = true;
        }
        self.put(packet, arrives);
        Ok(())
    }

    /// Puts a packet onto it that arrives at `arrives`, behind those that arrive no later.
    pub fn put(&mut self, packet: PacketId, arrives: Instant) {
        self.flight.insert((arrives, packet), |(other, _)| other > arrives);
    }

    /// The counts of its impairments; `None` if it has none.
    pub fn counters(&self) -> Option<Counters> {
        let impaired = self.impaired.as_ref().filter(|_| self.is_impaired());
        impaired.map(|impaired| impaired.counters)
    }

    /// The propagation delay: no packet arrives sooner after it has left the port.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// The next arrival time; `None` if the wire is empty.
    #[inline]
    pub fn next_arrival(&self) -> Option<Instant> {
        self.flight.first().map(|(at, _)| at)
    }

    /// Asks the processor for the place of the packet that arrives next: see [`base::prefetch`].
    #[inline]
    pub fn expect(&self) {
        if let Some(place) = self.flight.first_place() {
            prefetch(place, 1);
        }
    }

    /// The packet that arrives next.
    #[inline]
    pub fn first(&self) -> Option<PacketId> {
        self.flight.first().map(|(_, packet)| packet)
    }

    /// Whether no packet is on it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.flight.is_empty()
    }

    /// Takes the packet that arrives next.
    #[inline]
    pub fn deliver(&mut self) -> Option<PacketId> {
        self.flight.pop().map(|(_, packet)| packet)
    }

    /// Takes the packet that arrives next, with its arrival time.
    pub fn take(&mut self) -> Option<(Instant, PacketId)> {
        self.flight.pop()
    }

    /// The number of packets in flight.
    pub fn in_flight(&self) -> usize {
        self.flight.len()
    }
}

impl Impaired {
    /// The frame after the impairments from number `from` on; if it is copied, the copy, and the number of the
    /// first impairment that the copy passes.
    fn transit(&mut self, from: usize, mut frame: Transit) -> (Transit, Option<(usize, Transit)>) {
        let mut copied = None;
        for (stage, impairment) in self.impairments.iter_mut().enumerate().skip(from) {
            impairment.apply(&mut frame);
            if core::mem::take(&mut frame.duplicated) {
                copied = Some((stage + 1, frame));
            }
            if frame.lost.is_some() {
                break;
            }
        }
        (frame, copied)
    }
}
