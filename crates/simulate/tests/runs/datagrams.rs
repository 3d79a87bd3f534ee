//! Open-loop senders send what they say, when they say it, and what arrives is counted.

use applications::datagrams::{Config, Sender};
use base::{Bytes, Duration, FlowId, HostId, Instant, Random, Rate};
use network::application::{ActivePeriod, Application, SocketEvent, Sockets};
use network::host::{Host, SocketConfig, SocketKind};
use network::{Event, Observer, PortId};
use record::summary::{DatagramSummary, FlowSummary};
use simulate::{Engine, World};

use crate::driver;

/// When the flow's packets left their host.
#[derive(Default)]
struct Departures(Vec<Instant>);

impl Observer for Departures {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Transmitted { port: PortId(0), start, .. } = event {
            self.0.push(start);
        }
    }
}

/// A source on a link of 1 Gbit/s and 5 ms, with a narrower one behind it, for ten seconds.
fn scenario(flow: &str, narrow: &str) -> String {
    format!(
        "duration = \"10 s\"\n[host.a]\n[router.r]\n[host.b]\n\
         [link.in]\nbetween = [\"a\", \"r\"]\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
         [link.out]\nbetween = [\"r\", \"b\"]\nrate = \"{narrow}\"\n\
         [flow.u]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    )
}

fn departures(flow: &str) -> Vec<Instant> {
    let plan = driver::plan(&scenario(flow, "1 Gbit/s"));
    let mut departures = Departures::default();
    driver::totals_observed(&plan, &mut departures);
    departures.0
}

fn result(flow: &str, narrow: &str) -> (FlowSummary, DatagramSummary) {
    let summary = driver::summary(&driver::plan(&scenario(flow, narrow)));
    let flow = summary.flow.get("u").expect("the flow").clone();
    let datagrams = flow.datagrams.clone().expect("it sends datagrams");
    (flow, datagrams)
}

fn seconds(second: usize) -> Instant {
    Instant::ZERO + Duration::from_secs(second as u64)
}

#[test]
fn even_spacing_is_exact_to_a_packet() {
    // 1234567 bit/s in datagrams of 1000 bytes: 154.32 per second, 1543.2 in ten seconds.
    let left = departures("datagrams = { rate = \"1234567 bit/s\", size = \"1000 B\" }");
    for second in 1..=10 {
        let by_then = left.iter().filter(|&&at| at < seconds(second)).count() as f64;
        let fluid = 1_234_567.0 / 8_000.0 * second as f64;
        assert!((by_then - fluid).abs() <= 1.0, "{by_then} of {fluid} in {second} s");
    }
    let gap = |pair: &[Instant]| (pair[1] - pair[0]).as_ps();
    let gaps: Vec<u64> = left.windows(2).map(gap).collect();
    let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
    assert!(most - least <= 1, "{least} to {most} ps");
}

#[test]
fn poisson_arrivals_have_the_mean_and_the_variance() {
    let left =
        departures("datagrams = { rate = \"8 Mbit/s\", size = \"100 B\", spacing = \"poisson\" }");
    // 100 000 in ten seconds, with a standard deviation of 316.
    let count = left.len() as f64;
    assert!((count - 1e5).abs() < 4.0 * 316.0, "{count}");
    // In windows of 1 ms there are 10, and as many is the variance: its estimate over 10 000 windows
    // has a standard deviation of 10 * sqrt((2 + 1/10) / 10 000).
    let mut windows = vec![0.0_f64; 10_000];
    left.iter().for_each(|at| windows[(at.as_us() / 1_000) as usize] += 1.0);
    let variance = windows.iter().map(|n| (n - 10.0).powi(2)).sum::<f64>() / 1e4;
    assert!((variance - 10.0).abs() < 4.0 * 0.145, "{variance}");
}

#[test]
fn on_and_off_in_turn() {
    let left = departures(
        "start = \"1 s\"\nstop = \"9 s\"\n\
         datagrams = { rate = \"8 Mbit/s\", size = \"1000 B\", on = \"300 ms\", off = \"700 ms\" }",
    );
    assert!(left.iter().all(|at| (at.as_us() % 1_000_000) < 300_000), "in the on periods only");
    assert_eq!(left.len(), 8 * 300, "8 periods of 300 datagrams");
    assert_eq!((left[0], left[300]), (seconds(1), seconds(2)));
}

#[test]
fn what_fits_arrives_after_the_way_and_nothing_is_lost() {
    let (flow, datagrams) =
        result("bytes = \"1234567 B\"\ndatagrams = { rate = \"8 Mbit/s\" }", "1 Gbit/s");
    assert!(flow.completed);
    // 838 of 1472 bytes, and the rest.
    assert_eq!((flow.bytes, datagrams.sent, datagrams.lost), (1_234_567, 839, 0));
    // A full frame twice on 1 Gbit/s, 12.304 us each, and 5 ms.
    let way = 5e-3 + 2.0 * 12.304e-6;
    let short = way - datagrams.delay_mean_seconds;
    assert!((0.0..1e-7).contains(&short), "the last frame is shorter: {short}");
    assert!((datagrams.delay_max_seconds - way).abs() < 1e-12);
    assert!(datagrams.jitter_seconds < 1e-6, "{}", datagrams.jitter_seconds);
}

/// Bursts of three datagrams come faster than the link behind takes them: each waits longer than the one before by the
/// same time, and the first of a burst does not wait.
#[test]
fn jitter_is_the_mean_variation_over_the_measured_part() {
    // A frame of 1008 bytes and 20 of overhead at 10 Mbit/s, less the spacing of 962 bytes at 20 Mbit/s.
    let wait = (1_028.0 * 8.0 / 10e6) - (962.0 * 8.0 / 20e6);
    let bursts = "bytes = \"28860 B\"\ndatagrams = { rate = \"20 Mbit/s\", size = \"962 B\", \
                  on = \"1154.4 us\", off = \"98845.6 us\" }";
    let (_, datagrams) = result(bursts, "10 Mbit/s");
    assert_eq!(datagrams.received, 30);
    // Ten bursts with variations of one and one, and nine of two between them.
    let jitter = datagrams.jitter_mean_seconds.expect("more than one arrived");
    assert!((jitter / wait - 38.0 / 29.0).abs() < 1e-9, "{jitter}");

    // From the fourth burst on, each begins with the variation from the last datagram of the one before.
    let measured = format!("{bursts}\n[measure]\nfrom = \"250 ms\"");
    let (_, datagrams) = result(&measured, "10 Mbit/s");
    assert_eq!(datagrams.received, 21);
    let jitter = datagrams.jitter_mean_seconds.expect("more than one arrived");
    assert!((jitter / wait - 28.0 / 21.0).abs() < 1e-9, "{jitter}");
}

#[test]
fn jitter_can_be_expected() {
    let text = scenario("datagrams = { rate = \"1 Mbit/s\" }", "10 Mbit/s");
    let plan = driver::plan(&format!("{text}[expect.flow.u]\njitter = {{ max = \"1 ns\" }}\n"));
    let verdicts = record::judge(&plan.expectations, &driver::summary(&plan)).expect("known");
    let [verdict] = &verdicts[..] else { panic!("{verdicts:?}") };
    assert_eq!((verdict.path.as_str(), verdict.value, verdict.ok), ("flow.u.jitter", 0.0, true));
}

#[test]
fn what_does_not_fit_is_lost_and_the_rest_fills_the_link() {
    let (flow, datagrams) =
        result("datagrams = { rate = \"20 Mbit/s\", size = \"962 B\", ecn = true }", "10 Mbit/s");
    // A frame of 1008 bytes and 20 of overhead carries 962.
    let carried = 10e6 / 8.0 * 962.0 / 1_028.0;
    assert!((flow.goodput / carried - 1.0).abs() < 1e-3, "{} of {carried}", flow.goodput);
    let loss = 1.0 - carried / 2.5e6;
    // 1000 packets are queued at the end, 13 on their way of 5 ms to there, and one on the wire behind it.
    let under_way = 1_000 + 13 + 1;
    let share = under_way as f64 / datagrams.sent as f64;
    assert!((datagrams.loss + share - loss).abs() < 1e-3, "{}", datagrams.loss);
    assert_eq!(datagrams.sent, 25_988);
    assert_eq!(datagrams.lost, flow.drops);
    assert_eq!(datagrams.received + datagrams.lost + under_way, datagrams.sent);
    // The queue's 1000 packets and the one on the wire.
    let longest = 5e-3 + 1_001.0 * 1_028.0 * 8.0 / 10e6;
    assert!(
        (datagrams.delay_max_seconds - longest).abs() < 1e-3,
        "{}",
        datagrams.delay_max_seconds
    );
}

#[test]
fn a_host_s_own_queue_refuses_what_does_not_fit() {
    let (flow, datagrams) = result("datagrams = { rate = \"2 Gbit/s\" }", "10 Gbit/s");
    let carried = 1e9 / 8.0 * 1_472.0 / 1_538.0;
    // Of the ten seconds 5 ms are the way's, and the queue's 1000 packets are 12 ms.
    assert!((flow.goodput / carried - 1.0).abs() < 1e-3, "{} of {carried}", flow.goodput);
    assert!(datagrams.delay_max_seconds < 0.018, "{}", datagrams.delay_max_seconds);
    assert!(flow.drops > 0);
}

/// Two bulk flows beside twenty calls at a fixed rate, on 20 Mbit/s, with expectations of the calls.
const CALLS: &str = r#"
duration = "20 s"
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "20 Mbit/s"
delay = "10 ms"
queue.fq_codel = {}
[flow.bulk]
from = "a"
to = "b"
count = 2
[flow.call]
from = "a"
to = "b"
count = 20
datagrams = { rate = "64 kbit/s", size = "160 B" }
[expect.flow.call]
goodput = { min = "1.25 Mbit/s", max = "1.30 Mbit/s" }
delay_mean = { min = "10 ms", max = "15 ms" }
delay_max = { max = "30 ms" }
[expect.run]
fairness = { min = "95 %" }
"#;

#[test]
fn a_count_of_calls_stands_for_all_and_no_call_is_a_victim_of_bulk_flows() {
    let plan = driver::plan(CALLS);
    let summary = driver::summary(&plan);
    for verdict in record::judge(&plan.expectations, &summary).expect("known quantities") {
        assert!(verdict.ok, "{verdict:?}");
    }
    let group = summary.group.get("call").expect("a group").datagrams.clone().expect("datagrams");
    let each: Vec<_> = summary.flow.0.iter().filter_map(|(_, f)| f.datagrams.clone()).collect();
    assert_eq!(each.len(), 20);
    assert_eq!(group.sent, each.iter().map(|d| d.sent).sum::<u64>());
    assert_eq!(group.received, each.iter().map(|d| d.received).sum::<u64>());
    let longest = each.iter().map(|d| d.delay_max_seconds).fold(0.0, f64::max);
    assert_eq!(group.delay_max_seconds, longest);
    let delays = each.iter().map(|d| d.delay_mean_seconds * d.received as f64).sum::<f64>();
    assert!((group.delay_mean_seconds * group.received as f64 - delays).abs() < 1e-6);
}

/// The flows of the packets that left the first host, in order.
#[derive(Default)]
struct Left(Vec<FlowId>);

impl Observer for Left {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Transmitted { port: PortId(0), packet, .. } = event {
            self.0.push(packet.flow);
        }
    }
}

#[test]
fn of_one_instant_connections_go_before_datagrams_wherever_the_file_has_them() {
    let text = scenario("start = \"1 s\"\ndatagrams = { rate = \"8 Mbit/s\" }", "1 Gbit/s");
    let connection = "[flow.t]\nfrom = \"a\"\nto = \"b\"\nstart = \"1 s\"\nbytes = \"1 B\"\n";
    let plan = driver::plan(&format!("{text}{connection}"));
    assert_eq!(["u", "t"], [0, 1].map(|flow: usize| plan.flows[flow].name.clone()));
    let mut left = Left::default();
    driver::totals_observed(&plan, &mut left);
    assert_eq!(left.0[..2], [FlowId(1), FlowId(0)]);
}

/// Answers each datagram by one of half its size.
#[derive(Debug)]
struct Answers;

impl Application for Answers {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        if let SocketEvent::Datagram(socket, bytes) = event {
            sockets.send(socket, bytes / 2);
        }
    }

    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }
}

#[test]
fn a_program_answers_datagrams() {
    let plan = driver::plan(
        "duration = \"1 s\"\n[host.a]\n[host.b]\n[link.path]\nbetween = [\"a\", \"b\"]\n\
         rate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n",
    );
    let mut world = World::new(&plan).expect("a world");
    let config = Config {
        rate: Rate::from_bits_per_second(800_000).expect("not 0"),
        size: 1_000,
        dscp: 46,
        ecn: true,
        ..Config::default()
    };
    let span = ActivePeriod { bytes: Some(Bytes(9_500)), ..ActivePeriod::ALWAYS };
    let sender = Sender::new(config, span, Random::new(1, "u"));
    let kind = SocketKind::Datagrams { tos: config.tos(), ip_header: config.ip_header };
    let ends: [(Box<dyn Application>, _, _); 2] =
        [(Box::new(sender), HostId(0), HostId(1)), (Box::new(Answers), HostId(1), HostId(0))];
    for (application, local, peer) in ends {
        let socket = SocketConfig {
            flow: FlowId(0),
            port: 0,
            local,
            peer,
            priority: None,
            kind: kind.clone(),
        };
        let host = world.nodes[local.0 as usize].as_host_mut().expect("a host");
        host.add(0, application, [socket]);
    }
    let mut engine = Engine::new(world);
    engine.run_until(Instant::ZERO + Duration::from_secs(1), &mut ());
    let [a, b] = [0, 1].map(|node: usize| engine.world().nodes[node].as_host().expect("a host"));
    let counted = |host: &Host| {
        let info = host.info(FlowId(0)).expect("it ends here");
        [info.segments_sent, info.bytes_sent, info.segments_received, info.bytes_received]
    };
    assert_eq!(counted(a), [10, 9_500, 10, 4_750]);
    assert_eq!(counted(b), [10, 4_750, 10, 9_500]);
    // The last leaves at 90 ms. Frames of 46 bytes of headers, with 20 around them on the wire, and 5 ms each way.
    let way = |payload: u64| Duration::from_ns(5_000_000 + (payload + 66) * 80);
    let last = Instant::ZERO + Duration::from_ms(90) + way(500) + way(250);
    assert_eq!(a.progress(FlowId(0)), Some((4_750, last)));
    let delay = a.delay(FlowId(0)).expect("of datagrams");
    assert_eq!(delay.max, way(500));
}
