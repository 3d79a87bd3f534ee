//! Connections exist while they are open: both ends close them with any losses on the path, and their memory is
//! reused.

use base::{Duration, FlowId, Instant};
use engine::Hosts;
use simulate::{Engine, World};
use transport::Phase;

use crate::driver;

/// Two hundred transfers one after the other over a path that loses one packet in fifty.
const SHORT: &str = r#"
duration = "40 s"
[host.a]
[host.b]
[link.path]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "5 ms"
loss = "2 %"
[flow.short]
from = "a"
to = "b"
count = 200
stagger = "100 ms"
bytes = "20 KB"
"#;

#[test]
fn short_connections_end_at_both_ends_whatever_is_lost() {
    let plan = driver::plan(SHORT);
    let mut engine = Engine::new(World::new(&plan).expect("a world"));
    let host = |engine: &Engine, node: usize| {
        let host = engine.world().nodes[node].as_host().expect("a host");
        (host.open_connections(), host.connection_places())
    };
    let mut most = 0;
    for ms in (0..40_000).step_by(100) {
        engine.run_until(Instant::ZERO + Duration::from_ms(ms), &mut ());
        most = most.max(host(&engine, 0).0);
    }
    for node in [0, 1] {
        let (open, places) = host(&engine, node);
        assert_eq!(open, 0, "host {node}");
        assert!(places <= most + 2, "{places} places for {most} connections at once");
        for flow in 0..200 {
            let host = engine.world().nodes[node].as_host().expect("a host");
            let info = host.info(FlowId(flow)).expect("its end");
            assert_eq!(info.phase, Phase::Closed, "flow {flow} at {node}");
            assert_eq!(host.progress(FlowId(flow)).expect("its end").0, [0, 20_000][node]);
        }
    }
    assert!((2..40).contains(&most), "{most} at once");
}

#[test]
fn a_host_has_places_for_the_applications_that_run_at_once() {
    let plan = driver::plan(SHORT);
    let mut engine = Engine::new(World::at_start(&plan).expect("a world"));
    for ms in (0..40_000).step_by(100) {
        let now = Instant::ZERO + Duration::from_ms(ms);
        engine.begin_flows(&plan, now);
        engine.run_until(now, &mut ());
    }
    for node in [0, 1] {
        let host = engine.world().nodes[node].as_host().expect("a host");
        // A flow begins every 100 ms, and is over soon after.
        let places = host.application_places();
        assert!((2..=10).contains(&places), "{places} places");
        assert_eq!(host.flows().count(), 200);
    }
}

/// Flows that begin in another order than the plan has them, some not at all, with timers due at the same times.
const MIXED: &str = r#"
duration = "1 s"
[host.a]
[host.b]
[link.path]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "3 ms"
loss = "1 %"
[flow.drawn]
from = "a"
to = "b"
count = 60
start = "0 s..2 s"
bytes = "30 kB"
[flow.late]
from = "a"
to = "b"
start = "20 ms"
train = { message = "2 kB", every = "10 ms" }
[flow.early]
from = "a"
to = "b"
count = 3
stop = "800 ms"
train = { message = "3 kB", every = "10 ms" }
[flow.datagrams]
from = "a"
to = "b"
datagrams = { rate = "8 Mbit/s", size = "1000 B" }
[flow.middle]
from = "b"
to = "a"
start = "500 ms"
"#;

#[test]
fn a_run_is_the_same_with_all_flows_there_from_the_start() {
    let plan = driver::plan(MIXED);
    let totals = driver::totals(&plan);
    let mut engine = Engine::new(World::new(&plan).expect("a world"));
    engine.look_ahead(&plan, &());
    engine.run_until(Instant::ZERO + plan.duration, &mut ());
    engine.settle(&mut ());
    assert_eq!(engine.totals(), totals.engine);
    let completed = totals.flows.iter().filter(|flow| flow.completed).count();
    assert!((10..50).contains(&completed), "{completed} completed");
    for (number, (flow, counted)) in plan.flows.iter().zip(&totals.flows).enumerate() {
        let info = |node: usize| engine.info(node, FlowId(number as u32));
        let counted = [counted.sender.get(), counted.receiver.get()];
        assert_eq!([info(flow.from), info(flow.to)], counted, "{}", flow.name);
    }
}

#[test]
fn the_handshake_ends_with_an_ack_of_its_own() {
    let plan =
        driver::plan(&SHORT.replace("loss = \"2 %\"", "").replace("count = 200", "count = 1"));
    let mut engine = Engine::new(World::new(&plan).expect("a world"));
    engine.run_until(Instant::ZERO + Duration::from_secs(1), &mut ());
    let info = |node: usize| {
        let host = engine.world().nodes[node].as_host().expect("a host");
        host.info(FlowId(0)).expect("its end")
    };
    // SYN, ACK, 14 segments (the last with the FIN), the ACK of the other FIN.
    assert_eq!((info(0).segments_sent, info(0).data_segments_sent), (17, 14));
    assert_eq!(info(1).segments_received, 17);
}

#[test]
fn a_connection_begins_with_what_the_one_before_to_the_same_host_found_out() {
    // A flow fills half a second of buffer; 2 s later, everything that the next flow sends first is lost.
    let took = |metrics: &str, to: &str| {
        let text = format!(
            "duration = \"9 s\"\n[host.a]\n[host.b]\n[host.c]\n[router.r]\n\
             [link.access]\nbetween = [\"a\", \"r\"]\nrate = \"1 Gbit/s\"\n\
             [link.bottleneck]\nbetween = [\"r\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
             at.r.queue.fifo.bytes = \"600 kB\"\nat.r.down = {{ at = \"6.005 s\", lasts = \"500 ms\" }}\n\
             [link.other]\nbetween = [\"r\", \"c\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
             at.r.queue.fifo.bytes = \"600 kB\"\n\
             [flow.first]\nfrom = \"a\"\nto = \"{to}\"\nbytes = \"2 MB\"\ntcp.window.metrics = \"{metrics}\"\n\
             [flow.next]\nfrom = \"a\"\nto = \"b\"\nstart = \"6 s\"\nbytes = \"10 kB\"\n\
             tcp.window.metrics = \"{metrics}\"\n"
        );
        1e4 / driver::summary(&driver::plan(&text)).flow.get("next").expect("a flow").goodput
    };
    let fresh = took("none", "b");
    assert_eq!(took("round-trip", "c"), fresh, "another host's path says nothing");
    // The first timeout is three round trips as the first flow had them, and the second twice that.
    let told = took("round-trip", "b");
    assert!(told > fresh + 0.2, "{told} s, and {fresh} s by the handshake's round trip");
}
