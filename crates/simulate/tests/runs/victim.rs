//! The victim of somebody else's congestion: what pauses leave of a flow that meets none of it (Zhu et al., SIGCOMM 2015,
//! section 2.2, figures 2 and 4).
//!
//! Four top-of-rack switches T1 to T4, leaves L1 to L4 above two of them each, spines S1 and S2, and links of 40 Gbit/s. Four
//! hosts at T1 send to R at T4, without congestion control, and a fifth one to VR at T2: the victim. Up to two hosts at T3
//! send to R as well, and share no link with the victim.

use scenario::Plan;
use scenario::plan::Flow;

use crate::driver;

/// Payload of a full datagram's frame, of what that takes of the wire.
const PAYLOAD: f64 = 1_472.0 / 1_538.0;
/// Gbit/s of all links.
const LINE: f64 = 40.0;
/// The four hosts' flows to R come first.
const INCAST: usize = 4;

/// The plan with `remote` hosts at T3 that send to R. `spines` says how leaves connect to spines, `incast` what
/// else the four flows to R have. With thresholds of 100 kB, the pauses reach all senders within a millisecond.
fn clos(seed: u64, remote: usize, spines: &str, incast: &str) -> Plan {
    let mut text = format!(
        r#"
        duration = "4 ms"
        seed = {seed}
        [host]
        h.count = 4
        vs = {{}}
        vr = {{}}
        r = {{}}
        remote.count = 2
        "#
    );
    for (name, count) in [("t", 4), ("l", 4), ("s", 2)] {
        text +=
            &format!("[switch.{name}]\ncount = {count}\nlossless = \"0-7\"\nxoff = \"100 kB\"\n");
    }
    for (name, [one, other], joined) in [
        ("h", ["h", "t.1"], "at.h.queue.fifo.packets = 20"),
        ("vs", ["vs", "t.1"], "at.vs.queue.fifo.packets = 20"),
        ("vr", ["t.2", "vr"], ""),
        ("r", ["t.4", "r"], ""),
        ("remote", ["remote", "t.3"], "at.remote.queue.fifo.packets = 20"),
        ("rack", ["t", "l"], "groups = 2"),
        ("spine", ["l", "s"], spines),
    ] {
        text += &format!(
            "[link.{name}]\nbetween = [\"{one}\", \"{other}\"]\nrate = \"40 Gbit/s\"\n\
             delay = \"500 ns\"\n{joined}\n"
        );
    }
    let senders = match remote {
        0 => "",
        1 => "remote = { from = \"remote.1\", to = \"r\" }",
        _ => "remote = { from = \"remote\", to = \"r\" }",
    };
    text += &format!(
        "[flow]\nincast = {{ from = \"h\", to = \"r\"{incast} }}\n\
         victim = {{ from = \"vs\", to = \"vr\" }}\n{senders}\n\
         [measure]\nfrom = \"2 ms\"\n[probe]\nautomatic = false\n"
    );
    // As fast as their links: what the network does not take, their own queues drop.
    driver::plan(&text.replace(" }\n", ", datagrams = { rate = \"40 Gbit/s\" } }\n"))
}

/// Gbit/s of payload that each flow had.
fn goodputs(plan: &Plan) -> Vec<f64> {
    let totals = driver::totals(plan);
    let switches: u64 = totals.nodes.iter().map(|node| node.drops.total()).sum();
    assert_eq!(switches, 0, "a lossless network");
    totals.flows.iter().map(|flow| flow.received.0 as f64 * 8e-9 / totals.seconds()).collect()
}

/// The number of the leaf to which the hash leads a flow from its first switch.
fn leaf(plan: &Plan, (number, flow): (usize, &Flow)) -> usize {
    let path = scenario::path(plan, flow, number).expect("a path");
    let up = &path.links[1];
    let node = plan.links[up.link].ends[1 - up.end].node;
    plan.nodes[node].name.strip_prefix("l.").and_then(|n| n.parse().ok()).expect("a leaf")
}

/// The victim's share in Gbit/s of frames, if the hash leads the flows to these leaves. R's link is divided
/// evenly among the ports that lead to its switch, a leaf's part of that among its own ports, and an
/// uplink's part among the hosts that use it, because each switch stops its ports alike. The victim gets no
/// more than the others on its uplink.
fn share(leaves: &[usize]) -> f64 {
    let (victim, remote) = (leaves[INCAST], &leaves[INCAST + 1..]);
    // L1 and L3, L2 and L4 have a spine to themselves.
    let plane = |leaf: &usize| leaf % 2;
    let on = |flows: &[usize], mine: usize| flows.iter().filter(|l| plane(l) == mine).count();
    let (incast, mine) = (&leaves[..INCAST], plane(&victim));
    let to_r = (0..2).filter(|&p| on(incast, p) + on(remote, p) > 0).count() as f64;
    let ports = if on(remote, mine) > 0 { 2.0 } else { 1.0 };
    match on(incast, mine) as f64 {
        0.0 => LINE,
        same => (LINE / to_r / ports / same).min(LINE / (same + 1.0)),
    }
}

/// Without the crossed links above the leaves the hash chooses among two uplinks, and the shares are fractions of the line:
/// with two of the four flows on the victim's uplink a quarter, and an eighth with a sender at T3 on either side.
#[test]
fn a_victim_gets_what_the_pauses_of_its_uplink_leave() {
    let mut paper = [false; 2];
    for seed in [2, 5, 6, 9, 12] {
        for remote in [0, 1, 2] {
            let plan = clos(seed, remote, "planes = 2", "");
            let leaves: Vec<usize> =
                plan.flows.iter().enumerate().map(|flow| leaf(&plan, flow)).collect();
            let (expected, measured) = (share(&leaves), goodputs(&plan)[INCAST] / PAYLOAD);
            let off = (measured / expected - 1.0).abs();
            assert!(off < 0.02, "{seed} {remote} {leaves:?}: {measured} of {expected}");
            paper[0] |= remote == 0 && expected == LINE / 4.0;
            paper[1] |= remote == 2 && expected == LINE / 8.0;
        }
    }
    assert_eq!(paper, [true, true], "the paper's own cases are among them");
}

/// With the four flows in a higher priority, which is the only one that pauses stop, the victim gets the rest of
/// the uplink: the expected 20 Gbit/s.
#[test]
fn a_victim_of_another_priority_has_the_rest_of_its_uplink() {
    let plan = clos(2, 0, "planes = 2", ", dscp = \"cs1\"");
    let measured = goodputs(&plan)[INCAST] / PAYLOAD;
    assert!((measured - LINE / 2.0).abs() < 0.02 * LINE / 2.0, "{measured}");
}

/// The paper's figure 4: the median over the paths chosen by the hash is 10 Gbit/s without senders at T3 (20
/// would be expected), and 4.5 with two. Here it is 9.6 and 4.8 of payload, which is 957 of 1000 parts of a
/// frame's time.
#[test]
fn the_median_victim_has_ten_gigabits_and_half_of_them_with_two_senders_elsewhere() {
    for (remote, published) in [(0, 10.0), (2, 4.5)] {
        let of = |seed| goodputs(&clos(seed, remote, "groups = 1", ""))[INCAST];
        let mut victims: Vec<f64> = (1..=15).map(of).collect();
        victims.sort_by(f64::total_cmp);
        let median = victims[victims.len() / 2];
        assert!((median / published - 1.0_f64).abs() < 0.1, "{remote}: {median} of {victims:.2?}");
    }
}
