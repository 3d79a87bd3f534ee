//! Calls by voice over IP: RTP packets of a codec over UDP (RFC 3550), a receiver with a de-jitter buffer, and the
//! score of what it plays.
//!
//! The first packet that arrives waits in the buffer for `jitter_buffer`, and each is played as long after it as it
//! was sent after it. A packet that is not there by then is lost to the listener. The delay from
//! mouth to ear is the time in which a packet is filled, the codec's look-ahead, the first packet's way, and the wait
//! in the buffer.

pub mod emodel;
mod results;

use std::any::{Any, TypeId};

use base::setting::{choice, settings};
use base::{Bytes, Duration, Instant, Random, Rate};
use network::application::{ActivePeriod, Application, SocketEvent, SocketId, Sockets};

use crate::datagrams::{self, Sender};
use crate::workload::config::{Member, PlannedApplication, WorkloadConfig, pair};

pub use results::Call;

/// The bytes of the RTP header (RFC 3550, section 5.1).
const RTP_HEADER: u64 = 12;

choice! {
    /// A codec, with its loss concealment.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Codec {
        /// G.711 without packet loss concealment.
        G711 = "g711",
        /// G.711 with packet loss concealment (G.711 Appendix I).
        #[default]
        G711Plc = "g711-plc",
        /// G.729A with its own concealment.
        G729a = "g729a",
        /// G.723.1 at 6.3 kbit/s with its own concealment.
        G7231 = "g723.1",
    }
}

/// A codec's bit rate and delay, and its planning values.
struct Planning {
    /// The time of a frame, ms, and its bytes.
    frame_ms: u64,
    bytes: u64,
    /// The look-ahead of the coder, microseconds.
    lookahead_us: u64,
    /// The equipment impairment factor (Ie), and the packet loss robustness factor (Bpl).
    ie: f64,
    bpl: f64,
}

impl Codec {
    /// Its frames (RFC 3551, section 4.5; look-aheads of G.729 and G.723.1), and the values of ITU-T G.113, Appendix I
    /// (05/2002), table I.4.
    const fn planning(self) -> Planning {
        let (frame_ms, bytes, lookahead_us, ie, bpl) = match self {
            Self::G711 => (20, 160, 0, 0.0, 4.3),
            Self::G711Plc => (20, 160, 0, 0.0, 25.1),
            Self::G729a => (20, 20, 5_000, 11.0, 19.0),
            Self::G7231 => (30, 24, 7_500, 15.0, 16.1),
        };
        Planning { frame_ms, bytes, lookahead_us, ie, bpl }
    }
}

settings! {
    /// A call: RTP packets of a codec at a constant interval, in one direction. Two flows make a conversation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Voip {
        /// Codec: "g711" without packet loss concealment, "g711-plc" with it, "g729a", all with frames of 20 ms, or "g723.1"
        /// at 6.3 kbit/s with frames of 30 ms; "g711-plc" unless given.
        pub codec: Codec,
        /// Frames of that time in each packet; 1 unless given.
        #[range(1..=10)]
        pub frames: u64,
        /// Wait of the first packet in the receiver's de-jitter buffer; 60 ms unless given.
        #[range(..=Duration::from_ms(10_000))]
        pub jitter_buffer: Duration,
    }
}

impl Default for Voip {
    fn default() -> Self {
        Self { codec: Codec::default(), frames: 1, jitter_buffer: Duration::from_ms(60) }
    }
}

impl Voip {
    /// The time from one packet to the next.
    fn interval(&self) -> Duration {
        Duration::from_ms(self.codec.planning().frame_ms * self.frames)
    }

    /// The payload per second.
    fn rate(&self) -> Rate {
        let bits = self.payload() * 8 * 1_000;
        Rate::from_bits_per_second(bits / (self.codec.planning().frame_ms * self.frames))
            .unwrap_or(Rate::MIN)
    }

    /// The payload of a packet's datagram.
    fn payload(&self) -> u64 {
        RTP_HEADER + self.codec.planning().bytes * self.frames
    }
}

impl WorkloadConfig for Voip {
    fn title(&self) -> &'static str {
        "a call"
    }

    fn datagrams(&self) -> Option<datagrams::Config> {
        Some(datagrams::Config {
            rate: self.rate(),
            // At most 10 frames of 160 bytes.
            size: self.payload() as u32,
            ..datagrams::Config::default()
        })
    }

    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication> {
        let Member { span, names, .. } = flows[0];
        let config = self.datagrams().unwrap_or_default();
        let sender = Sender::new(config, span, Random::new(names.seed, names.flow));
        pair(sender, Listener::new(*self, span))
    }

    fn results(&self) -> Option<TypeId> {
        Some(TypeId::of::<Call>())
    }

    fn draws(&self) -> bool {
        false
    }
}

/// The packets that a buffer may hold: one in each place of a ring.
const PLACES: u64 = 1 << 10;

/// The program that listens.
#[derive(Debug)]
pub struct Listener {
    voip: Voip,
    span: ActivePeriod,
    call: Call,
    /// The wait of each packet from its sending to its playing; none before the first packet has arrived.
    playout: Option<Duration>,
    /// The number of the packet that is played next.
    next: u64,
    /// Whether the packet of that number, modulo the places, has arrived.
    arrived: Box<[bool]>,
    /// Whether the packet before the next one was missed.
    in_run: bool,
}

impl Listener {
    /// The listener of a call over `span`.
    pub fn new(voip: Voip, span: ActivePeriod) -> Self {
        let arrived = vec![false; PLACES as usize].into();
        let Planning { lookahead_us, ie, bpl, .. } = voip.codec.planning();
        let delay = voip.interval() + Duration::from_us(lookahead_us) + voip.jitter_buffer;
        let call = Call::new((ie, bpl), delay);
        Self { voip, span, call, playout: None, next: 0, arrived, in_run: false }
    }

    /// When the packet of that number is sent: a sender's rate is of whole bits per second.
    fn sent(&self, number: u64) -> Instant {
        self.span.start + self.voip.rate().time_for(Bytes(self.voip.payload() * number))
    }

    /// Plays the packets whose time has come.
    fn play(&mut self, now: Instant) {
        while self.next_wakeup() <= now {
            let place = &mut self.arrived[(self.next % PLACES) as usize];
            let missed = !core::mem::take(place);
            self.call.due += 1;
            self.call.missed += u64::from(missed);
            self.call.runs += u64::from(missed && !self.in_run);
            self.in_run = missed;
            self.next += 1;
        }
    }

    /// Puts a packet into the buffer; the first one sets when all are played.
    fn receive(&mut self, number: u64, now: Instant) {
        if self.playout.is_none() {
            let network = now.since(self.sent(number));
            self.playout = Some(network + self.voip.jitter_buffer);
            self.call.mouth_to_ear += network;
        }
        match number.checked_sub(self.next) {
            None => self.call.late += 1,
            Some(ahead) if ahead < PLACES => self.arrived[(number % PLACES) as usize] = true,
            // A buffer of that many packets has no room for it.
            Some(_) => {}
        }
    }
}

impl Application for Listener {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        let now = sockets.now();
        // A packet that arrives when it is due is played.
        if let SocketEvent::Datagram(socket, _) = event {
            self.receive(sockets.datagram_number(socket), now);
        }
        self.play(now);
    }

    /// When the next packet is played; `NEVER` after the last.
    fn next_wakeup(&self) -> Instant {
        let sent = self.sent(self.next);
        match self.playout {
            Some(playout) if sent < self.span.stop => sent + playout,
            _ => Instant::NEVER,
        }
    }

    fn results(&self, _: SocketId) -> Option<Box<dyn Any>> {
        Some(Box::new(self.call))
    }
}
