//! What a data segment costs: two connections over a bottleneck of 500 Mbit/s and 200 ms, an ACK
//! for every segment. For `valgrind --tool=callgrind`; prints segments, so that counts can be
//! divided.
//!
//! Arguments: profile, algorithm, packets per loss (0: none), seconds, buffer of the bottleneck in
//! packets, send buffer in bytes.

use std::collections::VecDeque;

use base::{Duration, FlowId, HostId, Instant, Packet};
use transport::config::{Buffer, WindowShare};
use transport::{Connection, Profile};

const SERVICE: Duration = Duration::from_us(24);
const DELAY: Duration = Duration::from_ms(100);

struct Lane {
    queue: VecDeque<(Instant, Packet)>,
    free_at: Instant,
    service: Duration,
}

impl Lane {
    fn new(service: Duration) -> Self {
        Self { queue: VecDeque::with_capacity(16_384), free_at: Instant::ZERO, service }
    }
    fn carry(&mut self, packet: &Packet, now: Instant) {
        self.free_at = self.free_at.max(now) + self.service;
        self.queue.push_back((self.free_at + DELAY, *packet));
    }
    fn next_at(&self) -> Instant {
        self.queue.front().map_or(Instant::NEVER, |head| head.0)
    }
}

struct Arguments {
    profile: String,
    algorithm: String,
    loss_every: u64,
    seconds: u64,
    buffer: u64,
    send_buffer: u64,
}

fn arguments() -> Arguments {
    let mut given = std::env::args().skip(1);
    let mut next = |default: &str| given.next().unwrap_or_else(|| default.to_owned());
    let number = |text: String| text.parse().expect("a number");
    Arguments {
        profile: next("linux-6"),
        algorithm: next("newreno"),
        loss_every: number(next("0")),
        seconds: number(next("20")),
        buffer: number(next("1000000")),
        send_buffer: number(next("64000000")),
    }
}

fn main() {
    let arguments = arguments();
    let mut config = Profile::by_name(&arguments.profile).expect("a profile").config();
    let algorithm = congestion::Algorithm::by_name(&arguments.algorithm).expect("an algorithm");
    config.congestion = algorithm.into();
    config.buffers.receive = Buffer::Fixed(14_000_000);
    config.buffers.send = Buffer::Fixed(arguments.send_buffer);
    config.buffers.window_share = WindowShare::Fraction(1, 1);
    config.ack.every = 1;
    config.check().expect("usable");
    let (flow, a, b) = (FlowId(0), HostId(0), HostId(1));
    let mut sender = Connection::connect(&config, flow, a, b, 1);
    let mut receiver = Connection::listen(&config, flow, b, a, 2);
    receiver.read_always(Instant::ZERO);
    sender.supply(u64::MAX / 4, Instant::ZERO);

    let (mut there, mut back) = (Lane::new(SERVICE), Lane::new(Duration::ZERO));
    let (mut now, mut packet, mut sent, mut dropped) = (Instant::ZERO, Packet::default(), 0u64, 0);
    let end = Instant::ZERO + Duration::from_secs(arguments.seconds);
    let (mut poll_sender, mut poll_receiver) = (true, false);
    while now < end {
        while poll_sender && sender.poll_transmit(now, &mut packet) {
            sent += 1;
            let waiting = there.free_at.since(now).as_ps() / SERVICE.as_ps();
            let lost = arguments.loss_every != 0 && sent.is_multiple_of(arguments.loss_every);
            if lost || waiting > arguments.buffer {
                dropped += 1;
            } else {
                there.carry(&packet, now);
            }
        }
        while poll_receiver && receiver.poll_transmit(now, &mut packet) {
            back.carry(&packet, now);
        }
        let timers = sender.next_wakeup().min(receiver.next_wakeup());
        now = there.next_at().min(back.next_at()).min(timers);
        (poll_sender, poll_receiver) = (false, false);
        if there.next_at() == now {
            let (_, packet) = there.queue.pop_front().expect("a head");
            receiver.receive(&packet, now);
            poll_receiver = true;
        } else if back.next_at() == now {
            let (_, packet) = back.queue.pop_front().expect("a head");
            sender.receive(&packet, now);
            poll_sender = true;
        } else {
            sender.wake(now);
            receiver.wake(now);
            (poll_sender, poll_receiver) = (true, true);
        }
    }
    let info = sender.info();
    println!("segments {sent} dropped {dropped} delivered {}", receiver.delivered_bytes());
    println!("{info:?}");
}
