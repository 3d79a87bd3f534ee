//! Scripts like packetdrill's: given these segments, expect those, at these times.

mod acknowledging;
mod calls;
mod cubic;
mod emission;
mod marks;
mod opening;
mod options;
mod rates;
mod recovery;
mod restart;
mod segments;
mod tail;
mod writing;

use crate::pipe::{Fate, Pipe, Sent, ms};
use base::packet::{ecn, flags};
use base::{Duration, FlowId, HostId, Instant, Packet};
use transport::config::*;
use transport::{Config, Connection, Profile};

const MSS: u64 = 1_448;

fn linux6() -> Config {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.congestion = congestion::Algorithm::by_name("newreno").unwrap().into();
    (config.buffers.send, config.buffers.send_headroom) = (Buffer::Fixed(64 << 20), 0);
    config.buffers.receive = Buffer::Fixed(64 << 20);
    config.emission.tso = false;
    config.rto.tick = Duration::ZERO;
    config
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// A connection; the script is its peer.
struct Script {
    end: Connection,
    now: Instant,
    ack: u32,
    echo: u32,
    seq: u32,
    window: u16,
    /// Wire number of the first data byte.
    base: u32,
}

impl Script {
    /// Established at `rtt` after zero, by a peer with a window scale of 7.
    fn new(config: &Config, rtt: u64, window: u16) -> Self {
        let isn = 0xffff_0000;
        let mut end = Connection::connect(config, FlowId(0), HostId(0), HostId(1), isn);
        let mut syn = Packet::default();
        assert!(end.poll_transmit(Instant::ZERO, &mut syn));
        assert!(syn.tcp.flags & flags::SYN != 0);
        let mut reply = Packet::default();
        reply.tcp.flags = flags::SYN | flags::ACK;
        if syn.tcp.flags & flags::ECE != 0 {
            reply.tcp.flags |= flags::ECE;
        }
        (reply.tcp.seq, reply.tcp.ack) = (1_000, isn.wrapping_add(1));
        (reply.tcp.mss, reply.tcp.window_scale, reply.tcp.window) = (1_460, 7, window);
        (reply.tcp.sack_permitted, reply.tcp.has_timestamps) = (config.segment.sack, true);
        (reply.tcp.ts_val, reply.tcp.ts_ecr) = (1, syn.tcp.ts_val);
        end.receive(&reply, at(rtt));
        let base = isn.wrapping_add(1);
        let mut script = Self { end, now: at(rtt), ack: base, echo: 0, seq: 1_001, window, base };
        let first = script.sends();
        assert!(first.len() == 1 && first[0].tcp.payload == 0, "the handshake's ACK");
        script
    }

    /// The packets that are sent now.
    fn sends(&mut self) -> Vec<Packet> {
        let mut sent = Vec::new();
        let mut packet = Packet::default();
        while self.end.poll_transmit(self.now, &mut packet) {
            sent.push(packet);
        }
        sent
    }

    /// The numbers, in segments from the first byte, of what goes out now.
    fn numbers(&mut self) -> Vec<u64> {
        let base = self.base;
        let data = self.sends().into_iter().filter(|p| p.tcp.payload > 0);
        data.map(|p| u64::from(p.tcp.seq.wrapping_sub(base)) / MSS).collect()
    }

    fn wire(&self, segment: u64) -> u32 {
        self.base.wrapping_add((segment * MSS) as u32)
    }

    fn ack_packet(&self, segments: u64, sacks: &[(u64, u64)]) -> Packet {
        let mut packet = Packet::default();
        packet.tcp.flags = flags::ACK;
        (packet.tcp.seq, packet.tcp.ack) = (self.seq, self.wire(segments));
        packet.tcp.window = self.window;
        (packet.tcp.has_timestamps, packet.tcp.ts_val, packet.tcp.ts_ecr) = (true, 2, self.echo);
        for (block, &(start, end)) in packet.tcp.sack.iter_mut().zip(sacks) {
            (block.start, block.end) = (self.wire(start), self.wire(end));
        }
        packet.tcp.sack_len = sacks.len() as u8;
        packet
    }

    /// An ACK up to segment number `segments`, with SACK blocks in segments, at `now`.
    fn ack(&mut self, ms: u64, segments: u64, sacks: &[(u64, u64)]) {
        self.now = at(ms);
        let packet = self.ack_packet(segments, sacks);
        self.ack = packet.tcp.ack;
        self.end.receive(&packet, self.now);
    }

    /// Time passes to the next timer.
    fn wait(&mut self) -> Instant {
        self.now = self.end.next_wakeup();
        assert_ne!(self.now, Instant::NEVER, "nothing to wait for");
        self.end.wake(self.now);
        self.now
    }

    fn supply(&mut self, segments: u64) {
        self.end.supply(segments * MSS, self.now);
    }
}
