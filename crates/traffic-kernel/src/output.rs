//! A discipline at the output of a device, with its packets and the clock of its link.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::str::Utf8Error;

use base::header::Header;
use base::packet::{Protocol, Tcp};
use base::segment;
use base::units::Serializer;
use base::{Bytes, DropReason, Duration, FlowId, HostId, Instant, Packet, PacketId, Rate};
use traffic::qdisc::{self, Parameters, Qdisc};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port, Statistics, WireClock};

use crate::table::{self, Looks};

/// How long before the link is free the next frame is given to the device. Packets beyond that wait in the discipline,
/// whose order and drops they take part in, not in the device's ring.
const AHEAD: Duration = Duration::from_ms(1);
/// Picoseconds in a nanosecond.
pub(crate) const PS_PER_NS: u64 = 1_000;
/// Flow numbers from here on are not those of packets with data.
const FLOWS_END: u32 = FlowId::NOTIFICATION.0;

/// The device that a discipline sends by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The line rate.
    pub rate: Rate,
    /// Bytes of a frame on the wire besides the frame itself: 20 on Ethernet.
    pub overhead: Bytes,
    /// The longest IP datagram, in bytes.
    pub mtu: u32,
    /// The greatest number of packets queued.
    pub places: u32,
    /// The seed of the discipline's random stream.
    pub seed: u64,
}

impl Device {
    const fn port(&self) -> Port {
        Port {
            rate: self.rate,
            mtu: Bytes(self.mtu as u64),
            overhead: self.overhead,
            seed: self.seed,
        }
    }
}

/// What a discipline gets to know about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer<'p> {
    /// Length of the Ethernet frame, header and FCS included.
    pub length: u32,
    /// The number of its flow: a hash of addresses, protocol and ports.
    pub flow: u32,
    /// A number for the source address.
    pub source: u16,
    /// A number for the destination address.
    pub destination: u16,
    /// IP type of service: DSCP in the high six bits, ECN in the low two.
    pub tos: u8,
    /// The priority, 0 to 7.
    pub priority: u8,
    /// The number of frames on the wire, more than one for a TCP segment that the card splits; 0 means one.
    pub frames: u8,
    /// The priority of the packet's 802.1Q tag, if it has one.
    pub vlan_priority: Option<u8>,
    /// The class that filters of the kernel chose, before those of the discipline: its position plus one; 0 is none, and a
    /// number of no class that holds packets leaves the choice to the discipline.
    pub class: u16,
    /// The packet from its IP header on, at least its headers; empty if it is not IP.
    pub datagram: &'p [u8],
}

/// The answer to an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is queued in this place.
    Queued(u32),
    /// The packet was not taken.
    Dropped(DropReason),
}

/// The next frame for the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Send the packet of this place, which is free from now on.
    Packet {
        /// The place.
        place: u32,
        /// The type of service to send it with: the discipline may have marked congestion.
        tos: u8,
    },
    /// Send a gap frame of this length, header and FCS included.
    Gap(u32),
    /// Nothing before this time in nanoseconds, although packets are queued.
    NotBefore(u64),
    /// Nothing is queued.
    Nothing,
}

/// Why a discipline cannot be created or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The table is not text.
    #[error("the table is not UTF-8")]
    Encoding(#[from] Utf8Error),
    /// The line rate is zero.
    #[error("the line rate is unknown: give it")]
    LineRate,
    /// The table has a wrong line.
    #[error(transparent)]
    Table(#[from] table::Error),
    /// The discipline refuses the settings.
    #[error(transparent)]
    Settings(#[from] qdisc::Error),
}

/// A discipline, its packets, and the time until which its link is busy.
///
/// Times are nanoseconds of the kernel's clock. Inside, time is picoseconds since the creation, which end after
/// 213 days: [`Output::enqueue`] and [`Output::dequeue`] then return `None`.
#[derive(Debug)]
pub struct Output {
    qdisc: Qdisc,
    packets: Packets,
    link: Serializer,
    port: Port,
    /// When the link has sent all that it was given.
    free: Instant,
    /// The kernel's time at the creation, in nanoseconds.
    created: u64,
    looks: Looks,
    /// See [`Output::listens`].
    listens: bool,
    /// How long the packet sent last was queued.
    delay: Duration,
    /// How long the packet that each class sent last was queued, by [`Packet::class`]; the first is of packets without one.
    class_delays: Vec<Duration>,
}

/// The TCP segment of a datagram with that header. The datagram may be its headers only: its length is in the IP header.
fn segment(header: &Header, datagram: &[u8]) -> (Protocol, Tcp) {
    let is_tcp = header.protocol == Protocol::Tcp as u8;
    let protocol = if is_tcp { Protocol::Tcp } else { Protocol::Udp };
    (protocol, segment::read(datagram, usize::MAX, header))
}

/// The delays of a discipline's classes, those that are known by their names, in the order of [`Packet::class`].
fn class_delays(qdisc: &Qdisc, known: &BTreeMap<String, Duration>) -> Vec<Duration> {
    let mut delays = vec![Duration::ZERO];
    qdisc.classes(&mut |number, name, _| {
        let place = number.saturating_add(1);
        if place >= delays.len() {
            delays.resize(place + 1, Duration::ZERO);
        }
        delays[place] = known.get(name).copied().unwrap_or_default();
    });
    delays
}

impl Output {
    /// Creates the discipline of a table, with all memory for its packets.
    ///
    /// # Errors
    ///
    /// The table or its settings are wrong.
    pub fn new(table: &str, device: &Device, now: u64) -> Result<Self, Refusal> {
        let parameters = table::read(table)?;
        let port = device.port();
        let mut qdisc = Qdisc::attach(&parameters, port)?;
        let packets = Packets::with_headers(device.places);
        qdisc.prepare_for(packets.places());
        Ok(Self {
            class_delays: class_delays(&qdisc, &BTreeMap::new()),
            delay: Duration::ZERO,
            listens: qdisc.listens(),
            qdisc,
            packets,
            link: Serializer::new(device.rate),
            port,
            free: Instant::ZERO,
            created: now,
            looks: Looks::of(&parameters),
        })
    }

    /// Gives the discipline the settings of another table; queued packets stay queued. The headers of packets that came
    /// while there were no filters are not known to filters that come now.
    ///
    /// # Errors
    ///
    /// The table or its settings are wrong, or are those of another discipline. Nothing is changed then.
    pub fn change(&mut self, table: &str, now: u64) -> Result<(), Refusal> {
        let parameters: Parameters = table::read(table)?;
        let clock = self.clock(now).unwrap_or(self.free.into());
        self.change_qdisc(&parameters, clock)?;
        let were_read = self.reads_headers();
        (self.looks, self.listens) = (Looks::of(&parameters), self.qdisc.listens());
        if self.reads_headers() && !were_read {
            // They are those of packets that left before headers were no longer read.
            self.packets.forget_headers();
        }
        Ok(())
    }

    /// Changes the discipline, which may renumber its classes. Packets that are queued count for no class then.
    fn change_qdisc(
        &mut self,
        parameters: &Parameters,
        clock: WireClock,
    ) -> Result<(), qdisc::Error> {
        let mut known = BTreeMap::new();
        self.qdisc.classes(&mut |number, name, _| {
            known.insert(String::from(name), self.class_delay(number));
        });
        self.qdisc.change(parameters, clock)?;
        self.qdisc.prepare_for(self.packets.places());
        self.class_delays = class_delays(&self.qdisc, &known);
        self.packets.forget_classes();
        Ok(())
    }

    fn class_delay(&self, number: usize) -> Duration {
        self.class_delays.get(number.saturating_add(1)).copied().unwrap_or_default()
    }

    /// Takes the rate, the MTU and the overhead of a device that has changed, with the table that is in force; queued
    /// packets stay queued. Its places and its seed do not count. What the link was given before is still on its way
    /// at the rate before.
    ///
    /// # Errors
    ///
    /// The table or its settings make no sense for the device. Nothing is changed then.
    pub fn change_device(&mut self, table: &str, device: &Device, now: u64) -> Result<(), Refusal> {
        let parameters: Parameters = table::read(table)?;
        let clock = self.clock(now).unwrap_or(self.free.into());
        let port = Port { seed: self.port.seed, ..device.port() };
        self.qdisc.set_port(port, clock);
        if let Err(refused) = self.change_qdisc(&parameters, clock) {
            self.qdisc.set_port(self.port, clock);
            return Err(refused.into());
        }
        (self.port, self.link) = (port, Serializer::new(port.rate));
        Ok(())
    }

    /// The time since the creation; `None` beyond the range of picoseconds.
    fn clock(&self, now: u64) -> Option<WireClock> {
        let ps = now.saturating_sub(self.created).checked_mul(PS_PER_NS)?;
        Some(WireClock { now: Instant::from_ps(ps), free: self.free })
    }

    /// Offers a packet at the time `now`.
    pub fn enqueue(&mut self, offer: &Offer<'_>, now: u64) -> Option<Verdict> {
        let clock = self.clock(now)?;
        let Some(id) = self.packets.try_alloc() else {
            return Some(Verdict::Dropped(DropReason::QueuePackets));
        };
        // The rest is as in a new place: only the discipline writes to it.
        let packet = &mut self.packets[id];
        packet.created = clock.now;
        packet.queued = clock.now;
        packet.length = offer.length;
        packet.flow = FlowId(offer.flow.min(FLOWS_END - 1));
        packet.source = HostId(offer.source.into());
        packet.destination = HostId(offer.destination.into());
        packet.tos = offer.tos;
        packet.priority = offer.priority;
        packet.frames = offer.frames;
        packet.class = 0;
        packet.assigned = offer.class;
        if self.reads_headers() {
            self.read_headers(id, offer);
        }
        match self.qdisc.enqueue(&mut self.packets, id, clock) {
            Enqueued::Queued => Some(Verdict::Queued(id.place())),
            Enqueued::Dropped(reason) => {
                self.packets.release(id);
                Some(Verdict::Dropped(reason))
            }
        }
    }

    const fn reads_headers(&self) -> bool {
        self.looks.headers || self.listens
    }

    /// Reads what the discipline looks at in a packet's headers.
    #[inline(never)]
    fn read_headers(&mut self, id: PacketId, offer: &Offer<'_>) {
        let header =
            Header { vlan_priority: offer.vlan_priority, ..Header::parse_ip(offer.datagram) };
        self.packets.set_header(id, &header);
        (self.packets[id].protocol, self.packets[id].tcp) = segment(&header, offer.datagram);
    }

    /// Whether the discipline distinguishes packets by the numbers of flow, source or destination; they count for nothing
    /// otherwise.
    pub const fn distinguishes_flows(&self) -> bool {
        self.looks.flows || self.listens
    }

    /// Whether the discipline measures by acknowledgements, so that it must hear what arrives at the device.
    pub const fn listens(&self) -> bool {
        self.listens
    }

    /// Passes a packet that arrived at the device to the discipline. The number of its flow is that of the packets which
    /// it acknowledges.
    pub fn hear(&mut self, flow: u32, datagram: &[u8], now: u64) -> Option<()> {
        let clock = self.clock(now)?;
        if self.listens {
            let (protocol, tcp) = segment(&Header::parse_ip(datagram), datagram);
            let flow = FlowId(flow.min(FLOWS_END - 1));
            let packet = Packet { flow, protocol, tcp, ..Packet::default() };
            self.qdisc.acknowledged(&packet, clock.now);
        }
        Some(())
    }

    /// Takes the next frame at the time `now`, and keeps the link busy for its length.
    pub fn dequeue(&mut self, now: u64) -> Option<Next> {
        let clock = self.clock(now)?;
        if let Some(wait) = self.wait(clock) {
            return Some(wait);
        }
        let answer = self.qdisc.dequeue(&mut self.packets, clock);
        let next = self.next(answer);
        match answer {
            Dequeued::Send(id) => {
                let Packet { length, queued, class, .. } = self.packets[id];
                self.delay = clock.now.since(queued);
                if let Some(delay) = self.class_delays.get_mut(usize::from(class)) {
                    *delay = self.delay;
                }
                self.packets.release(id);
                self.occupy(length.into(), clock.now);
            }
            Dequeued::Gap(Bytes(length)) => self.occupy(length, clock.now),
            Dequeued::NotBefore(_) | Dequeued::Empty => {}
        }
        Some(next)
    }

    /// The answer of the next [`Output::dequeue`] at the same time.
    pub fn peek(&mut self, now: u64) -> Option<Next> {
        let clock = self.clock(now)?;
        if let Some(wait) = self.wait(clock) {
            return Some(wait);
        }
        let answer = self.qdisc.peek(&self.packets, clock);
        Some(self.next(answer))
    }

    /// The answer while the link is busy for longer than [`AHEAD`].
    fn wait(&self, clock: WireClock) -> Option<Next> {
        let soon = clock.now + AHEAD;
        let waits = self.free > soon && !self.qdisc.is_empty();
        waits.then(|| Next::NotBefore(self.kernel_time(clock.now + self.free.since(soon))))
    }

    fn next(&self, answer: Dequeued) -> Next {
        match answer {
            Dequeued::Send(id) => Next::Packet { place: id.place(), tos: self.packets[id].tos },
            Dequeued::Gap(Bytes(length)) => Next::Gap(u32::try_from(length).unwrap_or(u32::MAX)),
            Dequeued::NotBefore(then) => Next::NotBefore(self.kernel_time(then)),
            Dequeued::Empty => Next::Nothing,
        }
    }

    /// The first nanosecond of the kernel's clock that is not before `then`.
    const fn kernel_time(&self, then: Instant) -> u64 {
        self.created.saturating_add(then.as_ps().div_ceil(PS_PER_NS))
    }

    fn occupy(&mut self, length: u64, now: Instant) {
        let time: Duration = self.link.advance(Bytes(length) + self.port.overhead);
        self.free = self.free.max(now) + time;
    }

    /// Whether the discipline dropped queued packets that were not taken yet.
    pub fn has_dropped(&self) -> bool {
        self.packets.dropped() > 0
    }

    /// Takes the oldest queued packet that the discipline dropped since.
    pub fn take_dropped(&mut self) -> Option<(u32, DropReason)> {
        let (id, reason): (PacketId, DropReason) = self.packets.take_dropped()?;
        self.packets.release(id);
        Some((id.place(), reason))
    }

    /// Discards everything queued: [`Output::take_dropped`] returns it, with [`DropReason::Flushed`].
    pub fn flush(&mut self, now: u64) {
        let clock = self.clock(now).unwrap_or(self.free.into());
        self.qdisc.flush(&mut self.packets, clock.now);
    }

    /// The counters.
    pub fn statistics(&self) -> Statistics {
        self.qdisc.statistics()
    }

    /// How long the packet sent last was queued.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Calls `each` with the name and the counters of every class, and how long the packet that it sent last was queued.
    pub fn classes(&self, each: &mut dyn FnMut(&str, Statistics, Duration)) {
        self.qdisc.classes(&mut |number, name, counters| {
            each(name, counters, self.class_delay(number));
        });
    }
}
