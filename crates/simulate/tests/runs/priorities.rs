//! Priorities by code point: hosts stop what a switch stops, and receive the marks that it sets.

use scenario::Plan;

use crate::driver;

/// Four senders of 10 Gbit/s into one port of 10 Gbit/s; `switch` goes into its table, `flow` into the flows'.
fn incast(switch: &str, flow: &str) -> Plan {
    driver::plan(&format!(
        r#"
        duration = "20 ms"
        [host.s]
        count = 4
        [host.sink]
        [switch.sw]
        {switch}
        [link.in]
        between = ["s", "sw"]
        rate = "10 Gbit/s"
        delay = "1 us"
        [link.out]
        between = ["sw", "sink"]
        rate = "10 Gbit/s"
        delay = "1 us"
        [flow.f]
        from = "s"
        to = "sink"
        {flow}
        "#
    ))
}

/// Expedited forwarding, class selector 5, as priority 4, which is lossless: senders stop that one.
#[test]
fn a_mapped_priority_is_stopped_at_its_senders() {
    for (dscp, stopped) in [("dscp = { ef = 4 }", 4), ("dscp = \"40-47:4\"", 4), ("", 5)] {
        let lossless = format!("{dscp}\nlossless = {stopped}\nxoff = \"50 kB\"");
        let plan = incast(&lossless, "dscp = \"ef\"");
        let totals = driver::totals(&plan);
        assert_eq!(totals.flows.iter().map(|flow| flow.drops).sum::<u64>(), 0, "{dscp}");
        let sender = totals.ports[0].flow_control.expect("a port that is stopped");
        let told: Vec<usize> = (0..8).filter(|&p| sender.stopped[p].as_ps() > 0).collect();
        assert_eq!(told, [stopped], "{dscp}");
        // It obeys: it was stopped for most of the time and had little in the switch.
        assert!(sender.stopped[stopped].as_secs_f64() > 0.01, "{dscp}");
        let classes = &totals.ports[0].classes;
        let busy = classes.iter().filter(|(_, counted)| counted.sent_packets > 1_000);
        let names: Vec<&str> = busy.map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [format!("priority{stopped}")], "{dscp}");
    }
}

/// A host with its own map sends by that map.
#[test]
fn datagrams_have_the_priority_of_their_code_point() {
    let flow = "dscp = \"af31\"\ndatagrams = { rate = \"1 Gbit/s\" }";
    let plan = incast("dscp = { af31 = 6 }\nlossless = 1", flow);
    let totals = driver::totals(&plan);
    for port in [0, 8] {
        let classes = &totals.ports[port].classes;
        let busy = classes.iter().filter(|(_, counted)| counted.sent_packets > 100);
        let names: Vec<&str> = busy.map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["priority6"], "port {port}");
    }
}

/// A switch tags packets with their regenerated priority, and the next switch uses and stops that one: the edge
/// switch regenerates 5 as 3 (IEEE 802.1Q, 6.9.4), the core takes 3 regardless of the DSCP, and has the
/// bottleneck.
#[test]
fn a_regenerated_priority_is_carried_on() {
    let chain = |edge: &str, core: &str| {
        driver::plan(&format!(
            r#"
            duration = "20 ms"
            [host.s]
            count = 4
            [host.sink]
            [switch.edge]
            lossless = "3,5"
            xoff = "50 kB"
            {edge}
            [switch.core]
            lossless = 3
            xoff = "50 kB"
            {core}
            [link.in]
            between = ["s", "edge"]
            rate = "10 Gbit/s"
            delay = "1 us"
            [link.trunk]
            between = ["edge", "core"]
            rate = "10 Gbit/s"
            delay = "1 us"
            [link.out]
            between = ["core", "sink"]
            rate = "1 Gbit/s"
            delay = "1 us"
            [flow.f]
            from = "s"
            to = "sink"
            dscp = "cs5"
            "#
        ))
    };
    // The priorities that the trunk and the last port send with, those that the core stops at the edge, and
    // whether packets are lost.
    let run = |edge: &str, core: &str| {
        let totals = driver::totals(&chain(edge, core));
        let busy = |port: usize| -> Vec<String> {
            let classes = totals.ports[port].classes.iter();
            let busy = classes.filter(|(_, counted)| counted.sent_packets > 100);
            busy.map(|(name, _)| name.clone()).collect()
        };
        let trunk = totals.ports[8].flow_control.expect("a port that is stopped");
        let stopped: Vec<usize> = (0..8).filter(|&p| trunk.stopped[p].as_ps() > 0).collect();
        let drops: u64 = totals.flows.iter().map(|flow| flow.drops).sum();
        (busy(8), busy(10), stopped, drops > 0)
    };
    let named = |priority: u8| vec![format!("priority{priority}")];
    // The core stops the edge. The edge cannot stop the sources, which send by 5: `suimon check` says so.
    for edge in ["pcp = \"5:3\"", "pcp = { 5 = 3 }"] {
        assert_eq!(run(edge, "pcp = \"5:1\""), (named(3), named(3), vec![3], true));
    }
    // Where the sources know of it, nothing is lost.
    assert_eq!(run("dscp = \"cs5:3\"", "pcp = \"5:1\""), (named(3), named(3), vec![3], false));
    // The DSCP takes precedence if both are configured.
    let both = run("pcp = \"5:3\"\ndscp = \"cs5:4\"", "pcp = \"4:3\"");
    assert_eq!(both, (named(4), named(3), vec![3], true), "which stops no 4");
}

/// A threshold on the switch is what DCTCP goes by: the queue stays there, and nothing is lost or stopped.
#[test]
fn a_threshold_of_the_switch_holds_dctcp_to_it() {
    let dctcp = "congestion.dctcp = {}\ntcp.segment.ecn = true\ndscp = \"cs3\"";
    for ecn in ["\"100 kB\"", "{ min = \"50 kB\", max = \"150 kB\", probability = \"10 %\" }"] {
        let plan = incast(&format!("ecn = {ecn}\nlossless = 3\nxoff = \"300 kB\""), dctcp);
        let totals = driver::totals(&plan);
        let port = &totals.ports[8];
        assert!(
            port.statistics.marked_packets > 1_000,
            "{ecn}: {}",
            port.statistics.marked_packets
        );
        let longest = port.statistics.backlog_bytes_max;
        assert!(longest < 400_000, "{ecn}: {longest}");
        let bytes: u64 = totals.flows.iter().map(|flow| flow.received.0).sum();
        assert!(bytes as f64 * 8.0 / 0.02 > 0.95 * 9.41e9, "{ecn}: {bytes}");
        assert_eq!(totals.flows.iter().map(|flow| flow.drops).sum::<u64>(), 0, "{ecn}");
    }
}
