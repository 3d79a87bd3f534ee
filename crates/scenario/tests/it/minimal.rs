//! The smallest useful file, and its plan.

use base::{Bytes, Duration, Rate};
use scenario::Document;
use scenario::plan::NodeKind;

const FILE: &str = r#"
title = "One flow"
duration = "3 s"

[host.sender]
profile = "linux-2.4-web100"
[host.receiver]
[emulator.gnet]
rate = "62.5 MB/s"
delay = "100 ms"
buffer = "512 KiB"

[link.access]
between = ["sender", "gnet"]
rate = "1 Gbit/s"
[link.egress]
between = ["gnet", "receiver"]
rate = "1 Gbit/s"

[flow.bulk]
from = "sender"
to = "receiver"
congestion = "scalable"

[probe.bandwidth.out]
at = "sender:access"
bin = "500 us"

[expect.flow.bulk]
goodput = { min = "55 MB/s", max = "59.7 MB/s" }
[expect.emulator.gnet]
drops = { max = 0 }
"#;

#[test]
fn a_small_file_becomes_a_plan() {
    let plan = match Document::parse("one.toml", FILE).and_then(|document| document.plan()) {
        Ok(plan) => plan,
        Err(errors) => panic!("{errors}"),
    };
    let names: Vec<&str> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["sender", "receiver", "gnet"]);
    let NodeKind::Emulator(gnet) = &plan.nodes[2].kind else { panic!("{:?}", plan.nodes[2]) };
    assert_eq!(Some(gnet.rate), Rate::from_bits_per_second(500_000_000));
    assert_eq!((gnet.delay, gnet.buffer), (Duration::from_ms(100), Bytes(512 * 1024)));
    let routes = |from| [0, 1, 2].map(|to| plan.routes.next(from, to));
    assert_eq!(
        [0, 1, 2].map(routes),
        [[None, Some(0), Some(0)], [Some(1), None, Some(1)], [Some(0), Some(1), None]]
    );
    let bulk = &plan.flows[0];
    assert_eq!((bulk.name.as_str(), bulk.from, bulk.to), ("bulk", 0, 1));
    assert_eq!(bulk.tcp().unwrap().sender.congestion.algorithm().name(), "scalable");
    assert_eq!(bulk.tcp().unwrap().sender.segment.mtu, 1_500);
    assert_eq!(plan.probes.bandwidth[0].port, network::PortId(0));
    let bounds = |index: usize| (plan.expectations[index].low, plan.expectations[index].high);
    assert_eq!(plan.expectations[0].path, "flow.bulk.goodput");
    assert_eq!(bounds(0), (Some(55e6), Some(59.7e6)));
    assert_eq!(plan.expectations[1].path, "emulator.gnet.drops");
    assert_eq!(bounds(1), (None, Some(0.0)));
}
