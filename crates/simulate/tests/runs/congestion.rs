//! Congestion control algorithms on the paths that they are made for.

use record::summary::{Direction, FlowSummary};

use crate::driver;

/// A flow of `congestion` over 500 Mbit/s and a round trip of 100 ms, which hold 4100 packets, with an eighth of
/// that in the buffer.
fn over_a_long_fat_pipe(congestion: &str) -> FlowSummary {
    let plan = driver::plan(&format!(
        "duration = \"90 s\"\n[host.a]\n[router.r]\n[host.b]\n\
         [link.in]\nbetween = [\"a\", \"r\"]\nrate = \"10 Gbit/s\"\n\
         [link.out]\nbetween = [\"r\", \"b\"]\nrate = \"500 Mbit/s\"\ndelay = \"50 ms\"\n\
         at.r.queue.fifo = {{ bytes = \"780 kB\" }}\n\
         [flow.bulk]\nfrom = \"a\"\nto = \"b\"\ncongestion = \"{congestion}\"\n\
         tcp.buffers.send = \"64 MiB\"\nreceiver_tcp.buffers.receive = \"64 MiB\"\n"
    ));
    driver::summary(&plan).flow.0.remove(0).1
}

#[test]
fn illinois_fills_a_long_fat_pipe_again_long_before_newreno() {
    let [illinois, newreno] = ["illinois", "newreno"].map(over_a_long_fat_pipe);
    let [fast, slow] =
        [&illinois, &newreno].map(|flow| flow.goodput_last_half.expect("it is past") * 8.0 / 1e6);
    println!("illinois {fast:.1} Mbit/s, newreno {slow:.1} Mbit/s");
    assert!(
        illinois.fast_recoveries > Some(1) && newreno.fast_recoveries > Some(0),
        "no loss, nothing to see"
    );
    assert_eq!((illinois.timeouts, newreno.timeouts), (0, 0));
    assert!(fast > 450.0 && fast > 1.2 * slow, "{fast} and {slow} Mbit/s");
}

/// The goodput in Mbit/s of `count` flows of `congestion` through a switch's port of 1 Gbit/s at the end of a
/// wire of `delay_us`, and that port. The port marks packets that waited for longer than `above_us`. Segments
/// leave one by one, because bursts that the interface segments are as long as K.
fn through_a_marking_port(
    congestion: &str,
    count: u32,
    above_us: u32,
    delay_us: u32,
) -> (f64, Direction) {
    let plan = driver::plan(&format!(
        "duration = \"2 s\"\n[host.a]\n[router.s]\n[host.b]\n\
         [link.in]\nbetween = [\"a\", \"s\"]\nrate = \"10 Gbit/s\"\ndelay = \"20 us\"\n\
         [link.out]\nbetween = [\"s\", \"b\"]\nrate = \"1 Gbit/s\"\ndelay = \"{delay_us} us\"\n\
         at.s.queue.codel = {{ packets = 1000, mark_above = \"{above_us} us\", target = \"50 ms\", ecn = true }}\n\
         [flow.bulk]\nfrom = \"a\"\nto = \"b\"\ncount = {count}\ncongestion = \"{congestion}\"\n\
         tcp.segment.ecn = true\ntcp.emission.tso = false\nreceiver_tcp.segment.ecn = true\n"
    ));
    let mut summary = driver::summary(&plan);
    let goodput = summary.flow.0.iter().map(|(_, flow)| flow.goodput * 8e-6).sum();
    let port = summary.link.0.iter().position(|(name, _)| name == "out").expect("the port's link");
    (goodput, summary.link.0.remove(port).1.forward)
}

/// The goodput, and the p50 and p99 of the packets that wait at the port.
fn queue(congestion: &str, count: u32, threshold: u32, delay_us: u32) -> (f64, f64, f64) {
    const PACKET_US: f64 = 1_538.0 * 8e-3;
    let above_us = (f64::from(threshold) * PACKET_US) as u32;
    let (goodput, port) = through_a_marking_port(congestion, count, above_us, delay_us);
    assert_eq!(port.drops, 0, "{congestion}");
    let [p50, p99] = [port.sojourn_p50_seconds, port.sojourn_p99_seconds]
        .map(|wait| wait.expect("packets waited") * 1e6 / PACKET_US);
    println!(
        "{congestion}, {count} flows, K = {threshold}, {delay_us} us: {goodput:.1} Mbit/s, \
         {p50:.1} packets wait, p99 {p99:.1}, {} marks",
        port.marks
    );
    (goodput, p50, p99)
}

/// Alizadeh 2010, section 3.3: the queue swings just below the threshold K and up to K + N packets of N flows.
#[test]
fn dctcp_keeps_the_queue_at_the_marking_threshold_and_the_link_full() {
    for (count, threshold) in [(2, 20), (4, 20), (2, 40), (8, 40)] {
        let (goodput, p50, p99) = queue("dctcp", count, threshold, 50);
        let (most, threshold) = (f64::from(count + threshold), f64::from(threshold));
        assert!(goodput > 935.0, "{goodput} Mbit/s of 941");
        assert!((0.8 * threshold..=most).contains(&p50), "{p50} packets wait");
        assert!(p99 < 1.2 * most, "p99 {p99} packets, K + N = {most}");
    }
}

/// RFC 8257, section 3.4: a threshold of a seventh of what the path holds is enough, where standard TCP, which halves
/// its window at a mark, needs all of it.
#[test]
fn where_dctcp_fills_the_link_with_a_short_queue_newreno_does_not() {
    // A round trip of 1 ms holds 81 packets.
    let (dctcp, ..) = queue("dctcp", 1, 20, 460);
    let (newreno, ..) = queue("newreno", 1, 20, 460);
    assert!(dctcp > 925.0 && newreno < 0.95 * dctcp, "{dctcp} and {newreno} Mbit/s");
}
