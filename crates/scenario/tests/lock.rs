//! A lock parses to the plan that it was written from.

use scenario::{Document, lock};

/// Whatever headers and conditioners can say.
const TEXT: &str = r#"
duration = "1 s"
[host.a]
address = "2001:db8::1"
count = 2
[host.b]
address = "2001:db8::ff"
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.in.at.r.conditioner]
default = "mark cs1"
[link.in.at.r.conditioner.element]
one = { match = { from = "a", to = "b" }, token_bucket = { rate = "1 Mbit/s", burst = "3 kB" }, red = "next two" }
two = { single_rate = { committed_rate = "1 Mbit/s", committed_burst = "3 kB", excess_burst = "9 kB" }, red = "return" }
[link.in.at.r.conditioner.element.three]
match = [{ dscp = "0x08/0x38", priority = 7 }, { source_port = "1-7" }]
two_rate.peak_rate = "3 Mbit/s"
two_rate.peak_burst = "9 kB"
two_rate.committed_rate = "1 Mbit/s"
two_rate.committed_burst = "3 kB"
two_rate.colour_aware = true
yellow = "mark 5"
red = "next four"
[link.in.at.r.conditioner.element.four]
window = { committed_rate = "1 Mbit/s", peak_rate = "2 Mbit/s", window = "250 ms" }
red = "drop"
[link.out]
between = ["r", "b"]
rate = "100 Mbit/s"
[link.out.at.r.queue.drr.class]
label = { match = { flow_label = 77, source = "2001:db8::/64", destination = "2001:db8::ff" } }
ports = { match = { source_port = 7, destination_port = "1024-65535", protocol = "udp", vlan_priority = 3 } }
rest = { match = { flow = "f.2", priority = 3 } }
[change.one]
when = "500 ms"
at = "r:out"
reserve = { class = "v", rate = "1 Mbit/s", burst = "3 kB", delay = "5 ms", match = { dscp = "ef", from = "a.1" } }
[change.two]
when = "600 ms"
at = "r:out"
queue.priq.class.all.match = {}
[change.three]
when = "700 ms"
at = "r:out"
enabled = false
[change.four]
when = "100 ms"
at = "r:out"
release = "v"
[flow.f]
from = "a"
to = "b"
source_port = 7
destination_port = 4000
dscp = "af41"
flow_label = 77
"#;

#[test]
fn it_reads_back() {
    let plan = |text: &str| {
        let document = Document::parse("x.toml", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        document.plan().unwrap_or_else(|e| panic!("{e}\n{text}"))
    };
    let first = plan(TEXT);
    let again = plan(&lock(&first));
    assert_eq!(format!("{first:#?}"), format!("{again:#?}"));
}
