//! What congestion control algorithms are for, on the path that they are for.

mod driver;

use record::summary::FlowSummary;

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
    assert!(illinois.fast_recoveries > 1 && newreno.fast_recoveries > 0, "no loss, nothing to see");
    assert_eq!((illinois.timeouts, newreno.timeouts), (0, 0));
    assert!(fast > 450.0 && fast > 1.2 * slow, "{fast} and {slow} Mbit/s");
}
