//! A policer passes what its bucket holds, to the byte, and drops or marks the rest at once.

use record::summary::Summary;

use crate::driver;

/// A source of 40 Mbit/s of IP packets of 1 000 B for ten seconds, through a policer, and a second one that stays
/// within rate and burst at another port.
fn text(policer: &str) -> String {
    format!(
        "duration = \"20 s\"\n[host.a]\n[host.b]\n[host.c]\n[policer.p]\n{policer}\n\
         [link.in]\nbetween = [\"a\", \"p\"]\nrate = \"1 Gbit/s\"\n\
         [link.other]\nbetween = [\"c\", \"p\"]\nrate = \"1 Gbit/s\"\n\
         [link.out]\nbetween = [\"p\", \"b\"]\nrate = \"1 Gbit/s\"\n\
         [flow.much]\nfrom = \"a\"\nto = \"b\"\nstop = \"10 s\"\n\
         datagrams = {{ rate = \"40 Mbit/s\", size = \"1000 B\" }}\n\
         [flow.little]\nfrom = \"c\"\nto = \"b\"\nstop = \"10 s\"\n\
         datagrams = {{ rate = \"9 Mbit/s\", size = \"1000 B\" }}\n"
    )
}

fn summary(text: &str) -> Summary {
    driver::summary(&driver::plan(text))
}

fn value(summary: &Summary, path: &str) -> f64 {
    let quantities = summary.quantities();
    let found = quantities.iter().find(|(name, _)| name == path);
    found.unwrap_or_else(|| panic!("no {path}")).1
}

/// The datagrams of a flow that were sent and received.
fn datagrams(summary: &Summary, flow: &str) -> (f64, f64) {
    let flow = summary.flow.get(flow).expect("the flow");
    let datagrams = flow.datagrams.as_ref().expect("it sends datagrams");
    (datagrams.sent as f64, datagrams.received as f64)
}

#[test]
fn each_port_passes_rate_and_burst_to_the_packet() {
    let summary = summary(&text("rate = \"10 Mbit/s\"\nburst = \"25 kB\""));
    let value = |path: &str| value(&summary, path);
    let (green, red) = (
        value("link.in.forward.element.police.green_bytes"),
        value("link.in.forward.element.police.red"),
    );
    // A full bucket of 25 000 B, and 1 250 000 B each second for ten seconds, less the time of the last packet.
    let earned = 25_000.0 + 10.0 * 1_250_000.0;
    assert!(green <= earned && green > earned - 2_000.0, "{green} of {earned}");
    let (sent, received) = datagrams(&summary, "much");
    assert_eq!(sent, received + red, "each is received or dropped");
    assert_eq!(red, value("node.p.drops_by_reason.policed"));
    assert_eq!(value("link.other.forward.element.police.red"), 0.0, "each port has its bucket");
    let (sent, received) = datagrams(&summary, "little");
    assert_eq!(sent, received);
}

#[test]
fn the_excess_may_be_marked_instead() {
    let summary = summary(
        &(text("rate = \"10 Mbit/s\"\nburst = \"25 kB\"\nexceed = \"mark cs1\"")
            + "[link.out.at.p.queue.priq.class]\n\
               scavenger = { priority = 0, match = { dscp = \"cs1\" } }\n\
               rest = { priority = 1, match = {} }\n"),
    );
    let value = |path: &str| value(&summary, path);
    let red = value("link.in.forward.element.police.red");
    assert!(red > 30_000.0, "three quarters exceed the rate: {red}");
    assert_eq!(value("link.out.forward.class.scavenger.packets"), red);
    let (sent, received) = datagrams(&summary, "much");
    assert_eq!(sent, received);
}
