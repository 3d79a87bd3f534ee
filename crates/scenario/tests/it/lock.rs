//! A lock parses to the plan that it was written from.

use scenario::plan::{Transport, User};
use scenario::{Document, Plan, lock};

/// All kinds of headers and conditioners.
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
[change.five]
when = "300 ms"
flow = "f"
congestion = { vegas = { alpha = 3 } }
pacing_rate = "40 Mbit/s"
rto_min = "12 ms"
idle_restart = "rfc7661"
nodelay = true
save_window = "a \"phase\""
restore_window = "another"
[change.six]
when = "400 ms"
flow = "f.2"
rto_min = "200 ms"
[flow.f]
from = "a"
to = "b"
source_port = 7
destination_port = 4000
dscp = "af41"
flow_label = 77
"#;

/// Programs, features of real kernels only, and tolerances.
const LAB: &str = r#"
duration = "1 s"
[host.a]
count = 2
program = "httpd --bind {address}"
[host.b]
program = ["one 'a b' {{", "two \\"]
as = "root"
[link.wire]
between = ["a", "b"]
rate = "1 Gbit/s"
wire = "frames"
gso = true
[flow.bulk]
from = "a"
to = "b"
program = "iperf3 -c {to} -p {port} -B {from} 'it''s'"
server = "iperf3 -s -1 -p {port}"
as = "root"
[flow.web]
from = "a.1"
to = "b"
exchange = { request = "1 KiB", response = "64 KiB", every = "10 ms" }
congestion = "kernel:bbr"
[compare]
tolerance = "7.5 %"
[compare.flow.web]
goodput = "3 %"
min_rtt = "200 us"
response_max = "1 ms"
[compare.link."wire.1"]
queue_max = "3 KiB"
drops = 10
[compare.run]
goodput = "1 MB/s"
[expect.flow.web]
response_mean.max = "10 ms"
exchanges.min = 3
"#;

/// Names that TOML requires in quotes, and differences within a counted entity.
const ODD: &str = r#"
duration = "10 s"
seed = 7
[host.a]
count = 4
program = ["serve {address} 9000", "sh -c 'echo \"it''s {{{address}}\"'"]
[host.b]
[host.lone]
count = 1
[host."c.7"]
[router.r]
count = 1
[link.in]
between = ["a", "r.1"]
rate = "1 Gbit/s"
[link.in.at.a]
device_buffer = "3 kB"
[link.in.at."a.2".queue.drr.class]
"best effort" = { match = { dscp = "ef" } }
"größer \"q\" \\ [x]" = { match = { flow = "to_b", from = "a" } }
"" = { match = [{ from = "a", to = "b", flow = "many" }, { from = "a.1", flow = "many" }] }
"a.b.class.c" = { match = { from = "r.1", priority = 3 } }
[link.in.at."a.3"]
device_buffer = "0 B"
[link.in.at."a.3".conditioner]
default = "drop"
[link.out]
between = ["r.1", "b"]
rate = "100 Mbit/s"
mtu = "9000 B"
[link.more]
between = ["lone", "r"]
rate = "10 Mbit/s"
mtu = "1000 B"
[link.seventh]
between = ["r", "c.7"]
rate = "10 Mbit/s"
[flow.many]
from = "a"
to = "b"
count = 3
start = "1 s..2 s"
stagger = "exponential 10 ms"
[flow."to_b"]
from = "lone"
to = "b"
[flow.apart]
from = "a"
to = "b"
stagger = "250 us"
destination_port = 80
[flow.one]
from = "b"
to = "a.1"
start = "0 ms..5 ms"
stagger = "1 s"
[flow.programs]
from = "a"
to = "b"
program = "client -B {from} -c {to}:{port} -t 10 {{}"
server = "server {port}"
[flow.udp]
from = "a"
to = "lone.1"
datagrams.rate = "1 Mbit/s"
[probe.bandwidth.out]
at = "r:out"
bin = "1 ms"
flows = ["many", "apart.2", "programs"]
[expect]
link."in.2".class."best effort".drops.max = 3
"#;

fn plan(text: &str) -> Plan {
    let document = Document::parse("x.toml", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    document.plan().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn it_reads_back() {
    for text in [TEXT, LAB, ODD] {
        let first = plan(text);
        let written = lock(&first);
        let again = plan(&written);
        let [one, other] = [&first, &again].map(|plan| format!("{plan:#?}"));
        let differ = one.lines().zip(other.lines()).position(|(one, other)| one != other);
        let near = |text: &str, at: usize| {
            text.lines().skip(at.saturating_sub(12)).take(20).collect::<Vec<_>>().join("\n")
        };
        let told = differ.map(|at| format!("{}\n---\n{}", near(&one, at), near(&other, at)));
        assert!(one == other, "{}\n{written}", told.unwrap_or_default());
        assert_eq!(lock(&again), written);
    }
}

#[test]
fn entries_for_all_links_are_asked_for_again() {
    let text = "duration = \"1 s\"\n[host.a]\ncount = 3\n[host.b]\n[link.in]\nbetween = [\"a\", \"b\"]\n\
                rate = \"1 Gbit/s\"\n[probe]\nidle = true\n";
    let given = plan(text);
    assert!(given.probes.idle && plan(&lock(&given)).probes.idle);
    let without = plan(&text.replace("idle = true", "automatic = false"));
    assert!(!without.probes.idle && !lock(&without).contains("idle = "));
}

#[test]
fn counted_entities_keep_their_count() {
    let written = lock(&plan(ODD));
    for table in
        ["[host.a]\ncount = 4", "[link.in]", "[flow.many]", "[flow.programs]", "[flow.udp]"]
    {
        assert!(written.contains(table), "{table}\n{written}");
    }
    let members = [".1\"]", ".1\".tcp]", ".2\".tcp]"];
    assert!(members.iter().all(|member| !written.contains(&format!("flow.\"many{member}"))));
    assert!(written.contains("start = \"1 s..2 s\"\nstagger = \"exponential 10 ms\""), "{written}");
}

/// 2 000 flows gave 6 MB, beyond the reader's limit.
#[test]
fn its_length_is_that_of_the_tables_not_of_their_members() {
    let text = |count: usize| {
        format!(
            "duration = \"100 s\"\n[host.a]\n[host.b]\n[link.wire]\nbetween = [\"a\", \"b\"]\n\
             rate = \"1 Gbit/s\"\nqueue.drr.class.all.match = {{ flow = \"f\" }}\n\
             [flow.f]\nfrom = \"a\"\nto = \"b\"\ncount = {count}\nstagger = \"1 ms\"\n\
             [probe.bandwidth.all]\nat = \"a:wire\"\nbin = \"1 s\"\nflows = [\"f\"]\n"
        )
    };
    let few = lock(&plan(&text(2)));
    let all = plan(&text(2_000));
    let many = lock(&all);
    assert!(many.len() < few.len() + 100, "{} and {} bytes", few.len(), many.len());
    let again = plan(&many);
    assert_eq!(format!("{:?}", all.flows), format!("{:?}", again.flows));
    assert_eq!(all.links[0].ends[0].queue, again.links[0].ends[0].queue);
}

#[test]
fn programs_have_addresses_and_a_port_of_their_own() {
    let plan = Document::parse("x.toml", LAB).and_then(|document| document.plan());
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(plan.nodes[1].programs, [["httpd", "--bind", "10.0.0.2"]]);
    assert_eq!(plan.nodes[2].programs[0], ["one", "a b", "{"]);
    let users: Vec<_> = plan.commands().map(|command| (command.owner, command.user)).collect();
    let (nobody, root) = (User::Nobody, User::Root);
    let flows = ["bulk.1", "bulk.1", "bulk.2", "bulk.2"].map(|name| (name, root));
    let hosts = [("a.1", nobody), ("a.2", nobody), ("b", root), ("b", root)];
    assert_eq!(users, [hosts, flows].concat());
    let Transport::Program(program) = &plan.flows[1].transport else { panic!("{plan:?}") };
    let client = ["iperf3", "-c", "10.0.0.3", "-p", "10001", "-B", "10.0.0.2", "its"];
    assert_eq!(program.client, client);
    assert_eq!(program.server.as_ref().unwrap()[4], "10001");
    let tcp = plan.flows[2].tcp().unwrap();
    assert_eq!(tcp.kernel_congestion.as_deref(), Some("bbr"));
    assert_eq!(plan.flows[2].reader(), plan.flows[2].from);
}
