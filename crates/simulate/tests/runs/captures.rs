//! Captures of whole runs, against the counters of the run.

use std::collections::BTreeMap;

use base::DropReason;
use record::Recorder;

use crate::driver;

/// A link that loses one packet in a hundred, captured where they leave.
const LOSSES: &str = r#"
duration = "3 s"
[host.a]
[router.r]
[host.b]
[link.in]
between = ["a", "r"]
rate = "10 Gbit/s"
[link.l]
between = ["r", "b"]
rate = "100 Mbit/s"
delay = "10 ms"
queue.fifo.packets = 400
[link.l.at.r]
loss = "1 %"
[flow.f]
from = "a"
to = "b"
congestion = "cubic"
[probe.capture.f]
at = "r:l"
"#;

/// A packet that its link loses is one frame, or readers would count a retransmission for each.
#[test]
fn a_capture_has_each_packet_that_its_link_loses_once() {
    let test = "a_capture_has_each_packet_that_its_link_loses_once";
    if testbed::lacks_programs(test, &["tshark"]) {
        return;
    }
    let plan = driver::plan(LOSSES);
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(&plan, Some(folder.path())).expect("a recorder");
    let totals = driver::totals_observed(&plan, &mut recorder);
    recorder.finish(&totals).expect("it records");

    let port = plan.probes.captures[0].port.0 as usize;
    let counted = &totals.ports[port];
    let [lost, full] =
        [DropReason::LinkLoss, DropReason::QueuePackets].map(|reason| counted.drops.of(reason));
    assert!(lost >= 10, "{lost}");
    let fields = ["-T", "fields", "-e", "tcp.len", "-e", "tcp.seq", "-e", "frame.comment"];
    let shown = driver::tshark(folder.path(), &fields);
    let frames: Vec<Vec<&str>> = shown.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(frames.len() as u64, counted.statistics.sent_packets + full);
    let commented = frames.iter().filter(|frame| frame[2].contains("link_loss")).count();
    assert_eq!(commented as u64, lost);

    // Retransmissions as a reader counts them, by sequence numbers.
    let mut times = BTreeMap::new();
    for frame in frames.iter().filter(|frame| frame[0] != "0") {
        *times.entry(frame[1]).or_insert(0_u64) += 1;
    }
    let repeated: u64 = times.values().map(|times| times - 1).sum();
    let retransmitted = totals.flows[0].sender.get().retransmissions;
    assert_eq!(repeated, retransmitted);
}
