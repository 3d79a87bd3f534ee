//! Open-loop senders: UDP datagrams that leave at their times whatever becomes of them, and the count
//! of what arrives. As `iperf -u` and ns-3's `OnOffApplication` do.

use traffic::packet::{ETHERNET_HEADER_AND_FCS, FRAME_MIN, Protocol, Tcp, ecn};
use traffic::units::Serializer;
use traffic::{Bytes, Duration, FlowId, HostId, Instant, Packet, Random, Rate};
use transport::Info;

use crate::application::ActivePeriod;
use crate::schedule::Schedule;

/// What UDP puts before the payload (RFC 768).
pub const UDP_HEADER: u32 = 8;

/// A source's settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Payload a second while it is on.
    pub rate: Rate,
    /// Payload of a datagram in bytes, 1 to 65507 (RFC 791, RFC 768); the last of a limited number of
    /// bytes may be shorter.
    pub size: u32,
    /// The IP header in bytes: 20 over IPv4, 40 over IPv6.
    pub ip_header: u32,
    /// From datagram to datagram.
    pub spacing: Spacing,
    /// Silence in between; `None` sends all the time.
    pub on_off: Option<OnOff>,
    /// The code point of every datagram (RFC 2474), 0 to 63.
    pub dscp: u8,
    /// Whether datagrams say that their transport speaks ECN (ECT(0)); the sender ignores marks.
    pub ecn: bool,
}

/// From datagram to datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// The same time always: what one takes at the rate.
    Even,
    /// Exponential times of that mean: Poisson arrivals.
    Poisson,
}

/// Periods of sending and of silence, in turn from the start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnOff {
    /// How long it sends; above zero.
    pub on: Duration,
    /// How long it is silent then.
    pub off: Duration,
}

impl Config {
    /// A datagram's frame, header and FCS included.
    pub fn frame(&self) -> Bytes {
        Bytes(self.frame_of(self.size).into())
    }

    /// The frame of a datagram with that payload; a short one is padded.
    fn frame_of(&self, payload: u32) -> u32 {
        (payload + UDP_HEADER + self.ip_header + ETHERNET_HEADER_AND_FCS).max(FRAME_MIN)
    }
}

/// A source at work.
#[derive(Debug)]
pub struct Source {
    span: ActivePeriod,
    config: Config,
    /// What the datagrams so far take at the rate, to below a picosecond.
    clock: Serializer,
    random: Random,
    /// When the next one leaves, in time that the source was on.
    next: Duration,
    /// Payload it may still send in all.
    left: u64,
    sent_packets: u64,
    sent_bytes: u64,
    template: Packet,
}

impl Source {
    /// A source of `flow` from one host to another; `random` spaces Poisson arrivals.
    pub fn new(
        config: Config,
        span: ActivePeriod,
        (flow, source, destination): (FlowId, HostId, HostId),
        random: Random,
    ) -> Self {
        let tos = config.dscp << 2 | if config.ecn { ecn::ECT0 } else { ecn::NOT_ECT };
        let protocol = Protocol::Udp;
        let priority = Packet::priority_of(tos);
        let template =
            Packet { flow, source, destination, tos, priority, protocol, ..Packet::default() };
        let mut source = Self {
            span,
            config,
            clock: Serializer::new(config.rate),
            random,
            next: Duration::ZERO,
            left: span.bytes.map_or(u64::MAX, |bytes| bytes.0),
            sent_packets: 0,
            sent_bytes: 0,
            template,
        };
        // Evenly spaced ones begin at the start; Poisson arrivals have no first instant.
        if config.spacing == Spacing::Poisson {
            source.next = source.spacing();
        }
        source
    }

    /// The time from this datagram to the next, while on. Never zero, so that time goes on at any rate.
    fn spacing(&mut self) -> Duration {
        let mean = self.clock.advance(Bytes(self.config.size.into()));
        let spacing = match self.config.spacing {
            Spacing::Even => mean,
            Spacing::Poisson => self.random.exponential(mean),
        };
        spacing.max(Duration::from_ps(1))
    }

    /// When the next datagram leaves; `NEVER` after the last.
    pub fn next_wakeup(&self) -> Instant {
        let silence = match self.config.on_off {
            Some(OnOff { on, off }) => off.times(self.next.as_ps() / on.as_ps().max(1)),
            None => Duration::ZERO,
        };
        let at = self.span.start + self.next + silence;
        if self.left == 0 || at >= self.span.stop { Instant::NEVER } else { at }
    }

    /// Writes the datagram that leaves now into `packet`, every field of it.
    pub fn emit(&mut self, packet: &mut Packet, now: Instant) {
        // At most `size`, which is of 32 bits.
        let payload = u64::from(self.config.size).min(self.left) as u32;
        let tcp = Tcp { seq: self.sent_bytes as u32, payload, ..Tcp::default() };
        *packet =
            Packet { created: now, length: self.config.frame_of(payload), tcp, ..self.template };
        self.left -= u64::from(payload);
        self.sent_packets += 1;
        self.sent_bytes += u64::from(payload);
        let spacing = self.spacing();
        self.next += spacing;
    }
}

/// How long datagrams were on their way, from the sending program to the receiving one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// Picoseconds, summed over all.
    pub sum: u128,
    /// The longest.
    pub max: Duration,
    /// RFC 3550's interarrival jitter (section 6.4.1), 16 times, in picoseconds.
    jitter_times_16: u64,
    last: Option<Duration>,
}

impl Delay {
    /// Counts a datagram that was on its way for `delay`.
    pub fn add(&mut self, delay: Duration) {
        self.sum += u128::from(delay.as_ps());
        self.max = self.max.max(delay);
        if let Some(last) = self.last.replace(delay) {
            // J += (|D| - J) / 16, kept times 16 as in RFC 3550, appendix A.8.
            let difference = delay.as_ps().abs_diff(last.as_ps());
            self.jitter_times_16 -= (self.jitter_times_16 + 8) >> 4;
            self.jitter_times_16 = self.jitter_times_16.saturating_add(difference);
        }
    }

    /// Those since `earlier`; the longest and the jitter are of all time.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self { sum: self.sum.saturating_sub(earlier.sum), ..*self }
    }

    /// RFC 3550's interarrival jitter.
    pub fn jitter(&self) -> Duration {
        Duration::from_ps(self.jitter_times_16 >> 4)
    }
}

/// What the receiving host counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sink {
    packets: u64,
    bytes: u64,
    marks: u64,
    last: Instant,
    delay: Delay,
}

impl Sink {
    fn receive(&mut self, packet: &Packet, now: Instant) {
        self.packets += 1;
        self.bytes += u64::from(packet.tcp.payload);
        self.marks += u64::from(packet.tos & ecn::MASK == ecn::CE);
        self.last = now;
        self.delay.add(now - packet.created);
    }
}

/// One end of a flow of datagrams.
#[derive(Debug)]
enum End {
    /// It sends through that port.
    Source(u16, Box<Source>),
    Sink(Sink),
}

/// The ends of a host's datagram flows.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    list: Vec<(FlowId, End)>,
    timers: Schedule,
}

impl Ends {
    /// Adds the sending end of a flow that leaves through `port`; returns its number.
    pub(crate) fn send(&mut self, flow: FlowId, port: u16, source: Source) -> u32 {
        let number = self.timers.add();
        self.timers.set(number, source.next_wakeup());
        self.list.push((flow, End::Source(port, Box::new(source))));
        number
    }

    /// Adds the receiving end of a flow; returns its number.
    pub(crate) fn sink(&mut self, flow: FlowId) -> u32 {
        self.list.push((flow, End::Sink(Sink::default())));
        self.timers.add()
    }

    /// A datagram arrived for the end of that number; false if it is none that receives.
    pub(crate) fn receive(&mut self, number: u32, packet: &Packet, now: Instant) -> bool {
        let Some((_, End::Sink(sink))) = self.list.get_mut(number as usize) else { return false };
        sink.receive(packet, now);
        true
    }

    /// When the next datagram leaves.
    #[inline]
    pub(crate) fn next_wakeup(&self) -> Instant {
        self.timers.earliest()
    }

    /// The source whose datagram leaves now, if there is one.
    #[inline]
    pub(crate) fn due(&self, now: Instant) -> Option<u32> {
        self.timers.due(now).map(|(_, number)| number)
    }

    /// Writes the datagram of that source into `packet`; returns the port that it leaves through.
    pub(crate) fn emit(&mut self, number: u32, packet: &mut Packet, now: Instant) -> Option<u16> {
        let (_, End::Source(port, source)) = self.list.get_mut(number as usize)? else {
            return None;
        };
        source.emit(packet, now);
        self.timers.set(number, source.next_wakeup());
        Some(*port)
    }

    /// The counters of an end, where a connection's have the same meaning.
    pub(crate) fn info(&self, number: u32) -> Option<Info> {
        let (_, end) = self.list.get(number as usize)?;
        Some(match end {
            End::Source(_, source) => Info {
                bytes_written: source.sent_bytes,
                bytes_sent: source.sent_bytes,
                segments_sent: source.sent_packets,
                data_segments_sent: source.sent_packets,
                ..Info::default()
            },
            End::Sink(sink) => Info {
                bytes_received: sink.bytes,
                bytes_read: sink.bytes,
                segments_received: sink.packets,
                data_segments_received: sink.packets,
                ecn_marks: sink.marks,
                ..Info::default()
            },
        })
    }

    /// What arrived at an end and when the last of it did, and how long it was on its way.
    pub(crate) fn arrivals(&self, number: u32) -> Option<(u64, Instant, Delay)> {
        match self.list.get(number as usize)? {
            (_, End::Sink(sink)) => Some((sink.bytes, sink.last, sink.delay)),
            _ => None,
        }
    }

    /// The flows that end here.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.list.iter().map(|&(flow, _)| flow)
    }
}
