//! Data out of order: the window of the ACK that a filled hole brings, and the round trip that the receive buffer grows by.

use super::*;

/// A connection whose application reads whatever arrives, established 100 ms after zero.
fn reader(receive: Buffer) -> Script {
    let mut config = linux6();
    (config.buffers.receive, config.ack.tick) = (receive, Duration::ZERO);
    let mut script = Script::new(&config, 100, 60_000);
    script.end.read_always(script.now);
    script
}

/// Segment number `n` of the peer arrives at `ms`, and echoes a timestamp that is `age` milliseconds old.
fn arrives(script: &mut Script, ms: u64, n: u64, age: u64) -> Vec<Packet> {
    let mut packet = Packet::default();
    packet.tcp.flags = flags::ACK;
    packet.tcp.seq = script.seq.wrapping_add((n * MSS) as u32);
    (packet.tcp.payload, packet.tcp.window) = (MSS as u32, script.window);
    packet.tcp.ack = script.base;
    // A clock of milliseconds that begins with one.
    (packet.tcp.has_timestamps, packet.tcp.ts_val) = (true, ms as u32);
    packet.tcp.ts_ecr = (ms - age + 1) as u32;
    script.now = at(ms);
    script.end.receive(&packet, script.now);
    script.sends()
}

/// The right edge of the window that was advertised last, in bytes beyond the first.
fn edge(script: &Script) -> u64 {
    let info = script.end.info();
    info.bytes_received + info.receive_window
}

#[test]
fn the_ack_of_a_filled_hole_goes_before_the_program_reads() {
    let mut script = reader(Buffer::Fixed(200_000));
    for n in 0..40 {
        arrives(&mut script, 200 + n, n, 100);
    }
    // 40 and 60 are missing.
    for n in (41..60).chain(61..80) {
        arrives(&mut script, 300 + n, n, 100);
    }
    let before = edge(&script);
    assert_eq!(arrives(&mut script, 400, 40, 100).len(), 1);
    assert_eq!(script.end.info().bytes_read, 60 * MSS);
    assert_eq!(edge(&script), before, "what was filled takes its room still");
    assert_eq!(arrives(&mut script, 401, 80, 100).len(), 1);
    let opened = edge(&script) - before;
    assert!(opened > 3 * MSS, "it is read: {opened}");
}

#[test]
fn a_window_that_a_filled_hole_closed_opens_when_it_is_read() {
    let mut script = reader(Buffer::Fixed(60_000));
    arrives(&mut script, 200, 0, 100);
    let end = edge(&script) / MSS;
    for n in 2..end {
        arrives(&mut script, 200 + n, n, 100);
    }
    // Nothing more fits in, so nothing else would tell the sender of the room.
    assert_eq!(arrives(&mut script, 400, 1, 100).len(), 1);
    assert_eq!(script.end.info().bytes_read, end * MSS);
    let room = edge(&script) - end * MSS;
    assert!(room > 15 * MSS, "{room}");
}

/// The size of the receive buffer with the segment after a hole was filled. What arrived beyond the hole echoed timestamps
/// of that `age`.
fn buffer_after_a_hole(age: u64) -> u64 {
    let mut script = reader(Buffer::Auto { initial: 131_072, max: 6_291_456 });
    // The first round trip of 100 ms, and a second one: a measurement begins at 301 ms.
    for n in 0..30 {
        arrives(&mut script, if n < 10 { 200 } else { 301 }, n, 100);
    }
    let before = script.end.info().receive_buffer;
    for n in 31..81 {
        arrives(&mut script, 400 + 2 * (n - 31), n, age);
    }
    // Most of what the hole held back is not read yet when the first of it is.
    arrives(&mut script, 500, 30, age);
    assert_eq!(script.end.info().receive_buffer, before);
    // By a round trip of 100 ms a measurement began there; by a longer one the last one ends here.
    arrives(&mut script, 501, 81, 100);
    script.end.info().receive_buffer
}

#[test]
fn what_comes_out_of_order_measures_the_round_trip() {
    let (short, long) = (buffer_after_a_hole(100), buffer_after_a_hole(350));
    assert!(long > short, "{short} by round trips of 100 ms, {long} of 350");
}
