//! Open-loop senders: UDP datagrams sent at set times regardless of loss or delay, and the program that receives
//! them. As `iperf -u` and ns-3's `OnOffApplication` do.

use base::packet::ecn;
use base::setting::{Bytes32, choice, settings};
use base::units::Serializer;
use base::{Bytes, Duration, Instant, Random, Rate};
use network::application::{
    ActivePeriod, Application, INTERVAL_MIN, SocketEvent, SocketId, Sockets,
};
use network::datagram::frame_length;
use network::invalid::Invalid;
use network::link::RATE_MAX;

use crate::workload::config::{Member, PlannedApplication, WorkloadConfig, pair};

settings! {
    besides: ip_header, dscp;
    required: rate;
    /// An open-loop UDP sender, as `iperf -u` or ns-3's OnOffApplication.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Config {
        /// UDP payload per second while sending.
        #[range(..=RATE_MAX)]
        pub rate: Rate,
        /// UDP payload of each datagram (RFC 791, RFC 768); the payload that fits the smallest MTU of the path unless
        /// given. The last datagram of a limited number of bytes may be shorter.
        #[range(1..=65_507)]
        #[like(Bytes32)]
        pub size: u32,
        /// Spacing of datagrams: "even" for constant intervals, "poisson" for exponential intervals of the same mean;
        /// "even" unless given.
        pub spacing: Spacing,
        /// Duration of each sending period, before a pause of `off`; always on unless given.
        #[range(INTERVAL_MIN..)]
        pub on: Option<Duration>,
        /// Duration of the pause after each `on` period.
        pub off: Option<Duration>,
        /// Whether datagrams are marked ECN-capable, ECT(0), though the sender ignores CE marks; false unless given.
        pub ecn: bool,
        /// The IP header in bytes: 20 over IPv4, 40 over IPv6.
        pub ip_header: u32,
        /// The code point of every datagram (RFC 2474), 0 to 63.
        pub dscp: u8,
    }
}

choice! {
    /// The interval between datagrams.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Spacing {
        /// A constant interval: the time that a datagram takes at the rate.
        Even = "even",
        /// Exponential intervals with that mean: Poisson arrivals.
        Poisson = "poisson",
    }
}

/// Over IPv4 and Ethernet, always on; the caller sets the rate.
impl Default for Config {
    fn default() -> Self {
        Self {
            rate: Rate::MIN,
            size: 1_472,
            spacing: Spacing::Even,
            on: None,
            off: None,
            ecn: false,
            ip_header: 20,
            dscp: 0,
        }
    }
}

impl WorkloadConfig for Config {
    fn title(&self) -> &'static str {
        "datagrams"
    }

    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication> {
        let Member { span, names, .. } = flows[0];
        pair(Sender::new(*self, span, Random::new(names.seed, names.flow)), Receiver)
    }

    fn sets_data(&self) -> bool {
        false
    }

    fn datagrams(&self) -> Option<Config> {
        Some(*self)
    }

    fn draws(&self) -> bool {
        self.spacing == Spacing::Poisson
    }

    fn check(&self) -> Result<(), Invalid> {
        let half = |setting| {
            let help = "give both, or neither to send all the time";
            Err(Invalid { setting, message: "only one of `on` and `off`", help })
        };
        match (self.on, self.off) {
            (Some(_), None) => half("on"),
            (None, Some(_)) => half("off"),
            (_, Some(off)) if (Duration::from_ps(1)..INTERVAL_MIN).contains(&off) => {
                let message = "the interval is too short";
                let help = "check its unit: the minimum is 100 ns";
                Err(Invalid { setting: "off", message, help })
            }
            _ => Ok(()),
        }
    }
}

impl Config {
    /// A datagram's frame, header and FCS included.
    pub fn frame(&self) -> Bytes {
        Bytes(frame_length(self.size, self.ip_header).into())
    }

    /// The type of service in the IP header, or the traffic class.
    pub const fn tos(&self) -> u8 {
        self.dscp << 2 | if self.ecn { ecn::ECT0 } else { ecn::NOT_ECT }
    }
}

/// The program that sends.
#[derive(Debug)]
pub struct Sender {
    span: ActivePeriod,
    config: Config,
    /// The time that the datagrams so far take at the rate, to below a picosecond.
    clock: Serializer,
    random: Random,
    /// The time at which the next one leaves, counted while the program is on.
    next: Duration,
    /// The remaining payload that it may send.
    left: u64,
}

impl Sender {
    /// A program that is active for `span`; `random` spaces Poisson arrivals.
    pub fn new(config: Config, span: ActivePeriod, random: Random) -> Self {
        let mut sender = Self {
            span,
            config,
            clock: Serializer::new(config.rate),
            random,
            next: Duration::ZERO,
            left: span.bytes.map_or(u64::MAX, |bytes| bytes.0),
        };
        // Evenly spaced ones begin at the start; Poisson arrivals have no first instant.
        if config.spacing == Spacing::Poisson {
            sender.next = sender.spacing();
        }
        sender
    }

    /// The time from this datagram to the next, while on. Never zero, so that time advances at any rate.
    fn spacing(&mut self) -> Duration {
        let mean = self.clock.advance(Bytes(self.config.size.into()));
        let spacing = match self.config.spacing {
            Spacing::Even => mean,
            Spacing::Poisson => self.random.exponential(mean),
        };
        spacing.max(Duration::from_ps(1))
    }
}

impl Application for Sender {
    fn handle(&mut self, _: SocketEvent, sockets: &mut dyn Sockets) {
        let now = sockets.now();
        while self.next_wakeup() <= now {
            // At most `size`, which is of 32 bits.
            let bytes = u64::from(self.config.size).min(self.left) as u32;
            self.left -= u64::from(bytes);
            let spacing = self.spacing();
            self.next += spacing;
            sockets.send(SocketId::ONLY, bytes);
        }
    }

    /// When the next datagram leaves; `NEVER` after the last.
    fn next_wakeup(&self) -> Instant {
        let silence = match self.config.on.zip(self.config.off) {
            Some((on, off)) => off.times(self.next.as_ps() / on.as_ps().max(1)),
            None => Duration::ZERO,
        };
        let at = self.span.start + self.next + silence;
        if self.left == 0 || at >= self.span.stop { Instant::NEVER } else { at }
    }
}

/// The program that reads and drops all datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Receiver;

impl Application for Receiver {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        if let SocketEvent::Datagram(socket, _) = event {
            sockets.read_always(socket);
        }
    }

    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }
}

#[cfg(test)]
mod tests {
    use transport::{OptionError, SocketOption};

    use super::*;

    /// A socket of datagrams at a time, with what was sent on it.
    #[derive(Default)]
    struct Sent {
        now: Instant,
        datagrams: Vec<u32>,
    }

    impl Sockets for Sent {
        fn now(&self) -> Instant {
            self.now
        }

        fn send(&mut self, socket: SocketId, bytes: u32) {
            assert_eq!(socket, SocketId::ONLY);
            self.datagrams.push(bytes);
        }

        fn connect(&mut self, _: SocketId) {}
        fn write(&mut self, _: SocketId, _: u64) {}
        fn abandon(&mut self, _: SocketId) {}
        fn close(&mut self, _: SocketId) {}
        fn read_always(&mut self, _: SocketId) {}

        fn read(&mut self, _: SocketId, _: u64) -> u64 {
            0
        }

        fn is_readable(&self, _: SocketId) -> bool {
            false
        }

        fn set_option(&mut self, _: SocketId, _: &SocketOption) -> Result<(), OptionError> {
            Err(OptionError::NotOpen)
        }
    }

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// Sends 1000 bytes a millisecond in the first 10 ms of every 20.
    fn sender(span: ActivePeriod) -> Sender {
        let config = Config {
            rate: Rate::from_bits_per_second(8_000_000).expect("not 0"),
            size: 1_000,
            on: Some(Duration::from_ms(10)),
            off: Some(Duration::from_ms(10)),
            ..Config::default()
        };
        Sender::new(config, span, Random::new(1, "sender"))
    }

    /// A real-time driver wakes late: a datagram then leaves late, and none is left out.
    #[test]
    fn one_that_is_woken_late_sends_all_that_is_due() {
        let bytes = Some(Bytes(25_500));
        let mut sender = sender(ActivePeriod { start: ms(5), bytes, ..ActivePeriod::ALWAYS });
        assert_eq!(sender.next_wakeup(), ms(5));
        let mut sent = Sent::default();
        let mut wake = |at: Instant| {
            sent.now = at;
            sender.handle(SocketEvent::Timer, &mut sent);
            (core::mem::take(&mut sent.datagrams), sender.next_wakeup())
        };
        assert_eq!(wake(ms(5)), (vec![1_000], ms(6)));
        assert_eq!(wake(ms(8)), (vec![1_000; 3], ms(9)));
        // Six of the first period, and one of the second, which begins at 25 ms.
        assert_eq!(wake(ms(25)), (vec![1_000; 7], ms(26)));
        let rest = [vec![1_000; 14], vec![500]].concat();
        assert_eq!(wake(ms(200)), (rest, Instant::NEVER));
        assert_eq!(wake(ms(300)), (vec![], Instant::NEVER));
    }

    #[test]
    fn what_is_due_from_the_stop_on_is_not_sent() {
        let mut sender = sender(ActivePeriod { stop: ms(3), ..ActivePeriod::ALWAYS });
        let mut sent = Sent { now: ms(100), ..Sent::default() };
        sender.handle(SocketEvent::Timer, &mut sent);
        assert_eq!((sent.datagrams, sender.next_wakeup()), (vec![1_000; 3], Instant::NEVER));
    }
}
