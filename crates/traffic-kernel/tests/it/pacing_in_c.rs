//! The pacing of one class against a second text of it, in C: every answer is the same.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use base::{Bytes, FlowId, Instant, Packet, Random, Rate};
use testbed::lacks_programs;
use traffic::qdisc::psp::{Parameters, Psp};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port, WireClock};

const BEGIN: u64 = 0;
const ENQUEUE: u64 = 1;
const DEQUEUE: u64 = 2;
const NOTHING: u64 = 0;
const PACKET: u64 = 1;
const GAP: u64 = 2;

const RUNS: usize = 3_000;
const STEPS: usize = 3_000;
/// Packets queued at most; the C source has room for 64.
const QUEUE: u64 = 40;
/// Preamble and the least gap between frames, in bytes.
const OVERHEAD: u64 = 20;

/// Draws a line, a rate and a driver that takes frames up to some time before the line is free, and packets of any length.
/// Writes each event and psp's answer.
fn run(random: &mut Random, to: &mut impl Write) -> std::io::Result<()> {
    let mut draw = |below: u64| random.next_u64() % below;
    let mut write =
        |record: [u64; 8]| record.iter().try_for_each(|word| to.write_all(&word.to_ne_bytes()));
    let line = (1 + draw(1_250)) * 100_000;
    let rate = (1 + line / (1 + draw(40))).saturating_sub(draw(1_000)).clamp(1, line);
    let mtu = match draw(4) {
        0 => 46 + draw(200),
        1 => 576 + draw(8_424),
        _ => 1_500,
    };
    let ahead = if draw(3) == 0 { draw(300_000) } else { 0 };
    let bits = |bytes: u64| Rate::from_bits_per_second(8 * bytes).expect("not zero");
    let port = Port { rate: bits(line), mtu: Bytes(mtu), overhead: Bytes(OVERHEAD), seed: 1 };
    let mut psp = Psp::attach(&Parameters::single(bits(rate)), port).expect("a rate of the line's");
    let mut packets = Packets::new();
    write([BEGIN, rate, line, mtu, 0, 0, 0, 0])?;

    let (mut now, mut free, mut rest, mut queued) = (1_000_u64, 0_u64, 0_u64, 0_u64);
    for _ in 0..STEPS {
        let at = |ns: u64| Instant::from_ps(1_000 * ns);
        let clock = WireClock { now: at(now), free: at(free) };
        if draw(3) == 0 && queued < QUEUE {
            let length = 64 + draw(mtu + 18 - 63);
            let packet = Packet { length: length as u32, flow: FlowId(1), ..Packet::default() };
            let id = packets.insert(packet);
            assert_eq!(psp.enqueue(&mut packets, id, clock), Enqueued::Queued);
            queued += 1;
            write([ENQUEUE, now, free, length, 0, 0, 0, 0])?;
        } else if free <= now + ahead {
            let (kind, length) = match psp.dequeue(&mut packets, clock) {
                Dequeued::Send(id) => {
                    let length = packets[id].length;
                    packets.release(id);
                    queued -= 1;
                    (PACKET, u64::from(length))
                }
                Dequeued::Gap(Bytes(length)) => (GAP, length),
                Dequeued::NotBefore(then) => panic!("not before {then:?} with gap frames"),
                Dequeued::Empty => (NOTHING, 0),
            };
            write([DEQUEUE, now, free, 0, kind, length, 0, 0])?;
            if kind != NOTHING {
                if free < now {
                    (free, rest) = (now, 0);
                }
                let parts = (length + OVERHEAD) * 1_000_000_000 + rest;
                (free, rest) = (free + parts / line, parts % line);
            }
        }
        if draw(2) == 0 {
            now += if draw(4) == 0 { draw(2_000_000) } else { draw(40_000) };
        }
    }
    Ok(())
}

#[test]
fn a_second_text_paces_alike() {
    if lacks_programs("pacing in C", &["cc"]) {
        return;
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/pacing_in_c.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pacing_in_c");
    let mut compile = Command::new("cc");
    compile.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).args([&program, &source]);
    assert!(compile.status().expect("it starts").success());

    let mut second = Command::new(program);
    second.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut second = second.spawn().expect("it starts");
    let mut to = std::io::BufWriter::new(second.stdin.take().expect("a pipe"));
    let mut random = Random::from_seed(1);
    // It stops reading at the first difference, and says why.
    let written = (0..RUNS).try_for_each(|_| run(&mut random, &mut to)).and_then(|()| to.flush());
    drop(to);
    let output = second.wait_with_output().expect("its output");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    written.expect("it reads all");
    let counts: Vec<u64> = said.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    assert!(counts[0] > 2_000_000 && counts[1] > 400_000, "{said}");
}
