//! Interfaces with addresses: `host:link` names the link of a flow at that host.

use std::net::IpAddr;

use scenario::{Document, Plan, lock};

fn parsed(text: &str) -> Result<Plan, String> {
    let document = Document::parse("x.toml", &format!("duration = \"1 s\"\n{text}"));
    document.and_then(|document| document.plan()).map_err(|errors| errors.to_string())
}

fn plan(text: &str) -> Plan {
    parsed(text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The lock file; it gives the same plan.
fn locked(plan: &Plan) -> String {
    let text = lock(plan);
    let document = Document::parse("lock.toml", &text).expect("a lock file parses");
    let again = document.plan().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    assert_eq!(format!("{plan:?}"), format!("{again:?}"), "{text}");
    text
}

/// A host with two links to a router, and three with one.
const HOSTS: &str = r#"
[host.a]
[host.b]
count = 3
[router.r]
[link.fast]
between = ["a", "r"]
rate = "1 Gbit/s"
mtu = "9000 B"
[link.slow]
between = ["a", "r"]
rate = "100 Mbit/s"
[link.b]
between = ["b", "r"]
rate = "1 Gbit/s"
mtu = "9000 B"
"#;

/// The links on the path of that flow, one way or the other.
fn path(plan: &Plan, flow: usize, back: bool) -> Vec<&str> {
    let (from, to) = (plan.flows[flow].source, plan.flows[flow].destination);
    let ends = if back { [to, from] } else { [from, to] };
    let (mut node, mut path) = (plan.node_of(ends[0]), Vec::new());
    while let Some(link) = plan.next_link(node, flow, ends) {
        let link = &plan.links[link as usize];
        let far = usize::from(link.ends[0].node == node);
        (node, path) = (link.ends[far].node, [path, vec![link.name.as_str()]].concat());
    }
    assert_eq!(node, plan.node_of(ends[1]));
    path
}

#[test]
fn flows_leave_and_arrive_by_the_links_that_they_name() {
    let text = r#"
[flow.out]
from = "a:slow"
to = "b.2"
[flow.in]
from = "b.1"
to = "a:slow"
[flow.plain]
from = "a"
to = "b.3"
[flow.single]
from = "b.1:b"
to = "a:fast"
"#;
    let plan = plan(&format!("{HOSTS}{text}"));
    assert_eq!([0, 1].map(|flow| path(&plan, flow, false)), [["slow", "b.2"], ["b.1", "slow"]]);
    assert_eq!([0, 1].map(|flow| path(&plan, flow, true)), [["b.2", "slow"], ["slow", "b.1"]]);
    assert_eq!(path(&plan, 2, false), ["fast", "b.3"]);
    assert_eq!(path(&plan, 3, false), ["b.1", "fast"]);
    // Segments fit the link that they leave by.
    let mtu = |flow: usize| plan.flows[flow].tcp().expect("a connection").sender.segment.mtu;
    assert_eq!([0, 2].map(mtu), [1_500, 9_000]);
    // The addresses are in the headers; the host's own address applies to names without a link.
    let source = |flow: usize| plan.flows[flow].header.address(plan.flows[flow].header.source);
    let addresses = ["10.64.0.2", "10.0.0.1", "10.0.0.2"].map(|text| text.parse::<IpAddr>().ok());
    assert_eq!([0, 2, 3].map(source), addresses);
    let text = locked(&plan);
    assert!(text.contains("from = \"a:slow\"") && text.contains("to = \"a:fast\""), "{text}");
}

#[test]
fn addresses_are_given_or_follow_one_another() {
    let text = r#"
[host.h]
count = 3
[router.r]
[link.lan]
between = ["h", "r"]
rate = "1 Gbit/s"
[link.lan.at.h]
address = "10.1.0.7"
[link.wan]
between = ["h", "r"]
rate = "1 Gbit/s"
[flow.f]
from = "h.2..3:wan"
to = "h.1:lan"
"#;
    let plan = plan(text);
    let address = |host: usize, link: &str| {
        let link = plan.links.iter().position(|l| l.name == format!("{link}.{}", host + 1));
        plan.interface_at(host, link.expect("a link")).expect("an interface").address.to_string()
    };
    assert_eq!([0, 1, 2].map(|h| address(h, "lan")), ["10.1.0.7", "10.1.0.8", "10.1.0.9"]);
    assert_eq!([0, 1, 2].map(|h| address(h, "wan")), ["10.64.0.1", "10.64.0.2", "10.64.0.3"]);
    assert_eq!(
        [0, 1].map(|flow| path(&plan, flow, false)),
        [["wan.2", "lan.1"], ["wan.3", "lan.1"]]
    );
    let text = locked(&plan);
    assert_eq!(text.matches("address = ").count(), 3, "one for each table: {text}");
}

#[test]
fn an_address_that_somebody_has_is_no_usual_one() {
    let text = HOSTS.replace("[host.a]", "[host.a]\naddress = \"10.64.0.1\"");
    let plan = plan(&text);
    let addresses = plan.interfaces.iter().map(|interface| interface.address.to_string());
    assert_eq!(addresses.collect::<Vec<_>>(), ["10.64.0.2", "10.64.0.3"]);
    locked(&plan);
}

#[test]
fn hosts_that_face_each_other_reach_what_is_at_the_same_link() {
    let text = r#"
[host.a]
[host.b]
[link.one]
between = ["a", "b"]
rate = "1 Gbit/s"
[link.two]
between = ["a", "b"]
rate = "1 Gbit/s"
"#;
    let flow = |from: &str, to: &str| format!("{text}[flow.f]\nfrom = \"{from}\"\nto = \"{to}\"\n");
    for (from, to) in [("a:two", "b:two"), ("a:two", "b"), ("a", "b:two")] {
        assert_eq!(path(&plan(&flow(from, to)), 0, false), ["two"], "{from} to {to}");
    }
    let errors = parsed(&flow("a:one", "b:two")).expect_err("no such way");
    assert!(errors.contains("there is no path from `a:one` to `b:two`"), "{errors}");
}

#[test]
fn a_filter_that_names_a_host_means_all_its_interfaces() {
    let text = r#"
[link.b.at.r.queue.priq.class]
own = { match = { to = "b.1", from = "a" } }
rest = { priority = 0, match = {} }
[flow.f]
from = "a:slow"
to = "b"
"#;
    let plan = plan(&format!("{HOSTS}{text}"));
    let traffic::qdisc::Parameters::Priq(priq) = &plan.links[2].ends[1].queue else { panic!() };
    let sources = priq.filters.iter().filter_map(|rule| rule.filter.source_host);
    assert_eq!(sources.collect::<Vec<_>>().len(), 3, "its own address and its interfaces'");
    let text = locked(&plan);
    assert_eq!(text.matches("from = \"a\"").count(), 1, "{text}");
}

#[test]
fn mistakes_are_reported_with_the_correction() {
    let flow = |from: &str| format!("[flow.f]\nfrom = \"{from}\"\nto = \"b.1\"\n");
    let at = |node: &str, address: &str| {
        format!("[link.slow.at.{node}]\naddress = \"{address}\"\n{}", flow("a"))
    };
    let cases = [
        (flow("a:b"), "host `a` has no link `b`", "its links are `fast`, `slow`"),
        (flow("a:wan"), "there is no link `wan`", "`slow`"),
        (flow("b.2:slow"), "host `b.2` has no link `slow`", "its link is `b.2`"),
        (flow("r:slow"), "`r` is not a host", ""),
        (at("r", "10.1.0.1"), "`r` has no address of its own on this link", "several links"),
        (at("a", "10.0.0.1"), "already has the address 10.0.0.1", "a different address"),
        (at("a", "fd00::1"), "the host cannot have this address", "IP version"),
    ];
    for (text, message, help) in cases {
        let errors = parsed(&format!("{HOSTS}{text}")).expect_err(message);
        assert!(errors.contains(message) && errors.contains(help), "{errors}");
    }
}
