//! Applications that are slower than the network, and receive buffers that grow with a path.

use crate::pipe::{Fate, Pipe, ms};
use base::{Duration, Packet};
use transport::config::{Buffer, WindowShare};
use transport::{Config, Profile};

const MSS: u64 = 1_448;
const SENDER: usize = 0;
const RECEIVER: usize = 1;

fn linux6() -> Config {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.congestion = congestion::Algorithm::by_name("newreno").unwrap().into();
    config.buffers.send = Buffer::Fixed(64 << 20);
    config
}

/// A pipe of 10 ms each way to a receiver with a buffer of `bytes`, all of it advertised.
fn pipe_to_buffer(bytes: u64) -> Pipe<impl FnMut(usize, &Packet, base::Instant) -> Fate> {
    let (config, mut receiver) = (linux6(), linux6());
    receiver.buffers.receive = Buffer::Fixed(bytes);
    receiver.buffers.window_share = WindowShare::Fraction(1, 1);
    let mut pipe = Pipe::new([&config, &receiver], ms(10), |_, _, _| Fate::Pass);
    pipe.establish();
    pipe.keep = true;
    pipe
}

/// Runs the pipe for `span`, then lets the receiving application read.
fn run_and_read<F>(pipe: &mut Pipe<F>, span: Duration, bytes: u64) -> u64
where
    F: FnMut(usize, &Packet, base::Instant) -> Fate,
{
    pipe.run(span, |_| false);
    let now = pipe.now;
    let read = pipe.ends[RECEIVER].read(bytes, now);
    pipe.send_pending();
    read
}

#[test]
fn a_slow_reader_sets_the_pace_and_its_window_never_shrinks() {
    const BUFFER: u64 = 64 << 10;
    let mut pipe = pipe_to_buffer(BUFFER);
    let now = pipe.now;
    pipe.ends[SENDER].supply(100 << 20, now);
    let mut read = 0;
    for _ in 0..200 {
        read += run_and_read(&mut pipe, ms(10), 10_000);
        let waiting = pipe.ends[RECEIVER].readable();
        assert!(waiting <= BUFFER, "{waiting} bytes wait in a buffer of {BUFFER}");
    }
    // 200 reads of 10 000 bytes, except for those of the first round trips.
    assert!((1_900_000..=2_000_000).contains(&read), "{read}");
    let info = pipe.ends[SENDER].info();
    assert_eq!((info.retransmissions, info.timeouts), (0, 0), "{info:?}");
    assert!(info.bytes_acked <= read + BUFFER);

    let shift = 1; // 64 KiB need one bit of scale.
    let acks = pipe.sent.iter().filter(|s| s.side == RECEIVER).map(|s| &s.packet.tcp);
    let edges: Vec<u32> =
        acks.map(|tcp| tcp.ack.wrapping_add(u32::from(tcp.window) << shift)).collect();
    let steps = edges.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
    let moves: Vec<u32> = steps.filter(|&step| step != 0).collect();
    // RFC 9293, section 3.8.6.2.2: to the right, and by a worthwhile step.
    assert!(moves.iter().all(|&step| step < 1 << 20), "an edge moved left");
    assert!(moves.iter().all(|&step| u64::from(step) + 2 >= MSS), "{moves:?}");
    assert!(moves.len() > 100);
}

#[test]
fn a_reader_that_stalls_is_probed_ever_more_rarely_and_then_served() {
    let mut pipe = pipe_to_buffer(64 << 10);
    let now = pipe.now;
    pipe.ends[SENDER].supply(1 << 20, now);
    pipe.run(Duration::from_secs(20), |_| false);
    let info = pipe.ends[SENDER].info();
    assert_eq!(info.peer_window, 0);
    assert_eq!(pipe.ends[RECEIVER].readable(), 64 << 10);
    let probes: Vec<_> =
        pipe.sent.iter().filter(|s| s.side == SENDER && s.packet.tcp.payload == 0).collect();
    assert!((4..=8).contains(&info.zero_window_probes), "{}", info.zero_window_probes);
    let tail = &probes[probes.len() - 3..];
    let gaps = [tail[1].at - tail[0].at, tail[2].at - tail[1].at];
    // RFC 9293, section 3.8.6.1: twice as long each time, from the answer on, to a slot of the timer wheel.
    let (twice, slot) = (gaps[0].times(2), ms(256));
    assert!(gaps[1] <= twice + slot && twice <= gaps[1] + slot, "{gaps:?}");
    // The probes did not bring the connection down, and reading starts it again.
    let now = pipe.now;
    pipe.ends[RECEIVER].read_always(now);
    let done = pipe.run(Duration::from_secs(5), |e| e[RECEIVER].delivered_bytes() == 1 << 20);
    assert!(done, "{:?}", pipe.ends[SENDER].info());
}

/// Goodput of the last second of ten, in bytes, over 100 ms of round trip.
fn last_second(receive: Buffer) -> (u64, u64) {
    let (config, mut receiver) = (linux6(), linux6());
    receiver.buffers.receive = receive;
    let mut pipe = Pipe::new([&config, &receiver], ms(50), |_, _, _| Fate::Pass);
    pipe.ends[RECEIVER].read_always(pipe.now);
    pipe.establish();
    let now = pipe.now;
    pipe.ends[SENDER].supply(u64::MAX / 4, now);
    pipe.run(Duration::from_secs(9), |_| false);
    let before = pipe.ends[RECEIVER].delivered_bytes();
    pipe.run(Duration::from_secs(1), |_| false);
    let info = pipe.ends[RECEIVER].info();
    (pipe.ends[RECEIVER].delivered_bytes() - before, info.receive_buffer)
}

#[test]
fn a_tuned_buffer_grows_until_its_maximum_limits() {
    let Buffer::Auto { initial, max } = linux6().buffers.receive else { panic!("tuned") };
    let (tuned, buffer) = last_second(Buffer::Auto { initial, max });
    assert_eq!(buffer, max);
    // That share of the buffer each round trip.
    let (over, under) = linux6().window_share();
    let window = |buffer: u64| buffer * u64::from(over) / u64::from(under);
    let full = 10 * window(max);
    assert!((full * 95 / 100..=full).contains(&tuned), "{tuned} of {full}");
    let (fixed, buffer) = last_second(Buffer::Fixed(initial));
    assert_eq!(buffer, initial);
    let small = 10 * window(initial);
    assert!((small * 90 / 100..=small).contains(&fixed), "{fixed} of {small}");
}

/// The receiver's info after each event, if the segments with these numbers are lost once, over a round trip of
/// 100 ms.
fn around_holes(holes: &'static [u64], send: Buffer, receive: Buffer) -> Vec<transport::Info> {
    const SEGMENTS: u64 = 3_000;
    let (mut config, mut receiver) = (linux6(), linux6());
    (config.buffers.send, receiver.buffers.receive) = (send, receive);
    let (mut first, mut lost) = (None, 0);
    let mut pipe = Pipe::new([&config, &receiver], ms(50), move |side, packet: &Packet, _| {
        if side == RECEIVER || packet.tcp.payload == 0 {
            return Fate::Pass;
        }
        let start = *first.get_or_insert(packet.tcp.seq);
        let number = u64::from(packet.tcp.seq.wrapping_sub(start)) / 1_448;
        if holes.get(lost) == Some(&number) {
            lost += 1;
            return Fate::Drop;
        }
        Fate::Pass
    });
    pipe.ends[RECEIVER].read_always(pipe.now);
    pipe.establish();
    let now = pipe.now;
    pipe.ends[SENDER].supply(SEGMENTS * 1_448, now);
    let mut seen = Vec::new();
    pipe.run(Duration::from_secs(30), |ends| {
        seen.push(ends[RECEIVER].info());
        ends[SENDER].acknowledged_bytes() == SEGMENTS * 1_448
    });
    seen
}

#[test]
fn what_is_beyond_a_hole_takes_room_in_the_buffer() {
    const BUFFER: u64 = 2_000 * 1_448;
    let seen = around_holes(&[700, 704], linux6().buffers.send, Buffer::Fixed(BUFFER));
    // The first hole is filled: the right edge stays, because data beyond the second one takes more room than
    // that.
    let between = seen.iter().find(|info| info.bytes_received == 704 * 1_448).expect("a hole");
    assert!(between.out_of_order > 100 * 1_448, "{between:?}");
    // All of it was open by then, two segments for each that arrived, except for the segment that opened it;
    // rounded up to the window scale.
    let (over, under) = linux6().window_share();
    let window = (BUFFER * u64::from(over) / u64::from(under) - 1_448).next_multiple_of(32);
    assert_eq!(between.receive_window, window - 4 * 1_448, "{between:?}");
}

/// The ACK for what fills a hole goes before the program reads: its window lacks the memory of all of that.
#[test]
fn what_fills_a_hole_takes_room_until_it_is_read() {
    const BUFFER: u64 = 2_000 * 1_448;
    let seen = around_holes(&[700], linux6().buffers.send, Buffer::Fixed(BUFFER));
    let filled = seen.iter().rposition(|info| info.out_of_order > 0).expect("a hole") + 1;
    let frames = (seen[filled].bytes_received - seen[filled - 1].bytes_received) / 1_448;
    assert!(frames > 100, "{frames}");
    // As `virtio_net` receives them, eighteen frames joined to one buffer.
    let buffers = frames.div_ceil(18);
    let memory = buffers * 2_176 + (frames - buffers) * 1_920;
    let (over, under) = linux6().window_share();
    let window = ((BUFFER - memory) * u64::from(over) / u64::from(under)).next_multiple_of(32);
    assert_eq!(seen[filled].receive_window, window, "{:?}", seen[filled]);
    assert!(seen[filled..].iter().any(|info| info.receive_window > window), "the next ACK says so");
}
