//! A host's own queue, with any discipline: TCP keeps the link as busy as with a FIFO, or at the rate that the
//! discipline is set to, and no flow is starved, even if the queue drops accepted packets, or is changed.

use proptest::prelude::*;
use traffic::qdisc::REGISTRY;

use crate::driver;

/// The relative tolerance of the goodput.
const NEAR: f64 = 0.02;
/// The least share of each flow, relative to an equal part of its group's goodput.
const LEAST_PART: f64 = 0.1;
/// The host's link, Mbit/s.
const LINK: f64 = 10.0;
/// Frame bits of the link's bits: 1518 of 1538 bytes.
const FRAME_SHARE: f64 = 1_518.0 / 1_538.0;

/// Numbers from 0 to 1000 that determine a discipline's parameters.
#[derive(Clone, Debug)]
struct Drawn([u32; 5]);

impl Drawn {
    /// A number of `low..=high` by the draw at `index`.
    fn number(&self, index: usize, low: u32, high: u32) -> u32 {
        low + (high - low) * self.0[index] / 1_000
    }

    /// A rate of 2 to 10 Mbit/s, as a number of Mbit/s.
    fn rate(&self, index: usize) -> f64 {
        f64::from(self.number(index, 20, 100)) / 10.0
    }

    fn flag(&self, index: usize) -> bool {
        self.0[index] > 500
    }
}

/// The widest limits: every number at its maximum.
const WIDE: Drawn = Drawn([1_000; 5]);

fn drawn() -> impl Strategy<Value = Drawn> {
    prop::array::uniform5(0..=1_000_u32).prop_map(Drawn)
}

/// Settings of a discipline of one queue. It has room for the three packets of each of 12 flows that small queues
/// leave there: in a shorter one a flow that is refused stays so, since those that send fill the room at once.
/// A delay target is 15 ms or more: below, the windows of 12 flows come down to their minimum.
fn one_queue(name: &str, drawn: &Drawn) -> Option<String> {
    let number = |index, low, high| drawn.number(index, low, high);
    let ecn = drawn.flag(4);
    let settings = match name {
        "fifo" => format!("packets = {}", number(0, 60, 2_000)),
        "red" => {
            let (low, high) = (number(0, 10, 50), number(1, 60, 200));
            format!(
                "packets = {}, threshold_min = {low}, threshold_max = {high}, probability_max = '{} %', \
                 gentle = {}, in_bytes = {ecn}, mean_packet = '1500 B', ecn = {ecn}",
                2 * high,
                number(2, 1, 10),
                drawn.flag(3),
            )
        }
        "rio" => {
            let (low, high) = (number(0, 20, 50), number(1, 60, 200));
            format!(
                "packets = {}, threshold_min_low = {low}, threshold_max_low = {high}, \
                 probability_max_low = '{} %', gentle = {}, ecn = {ecn}",
                2 * high,
                number(2, 1, 10),
                drawn.flag(3),
            )
        }
        "mark" => {
            let (threshold, more) = (number(0, 90, 400), number(1, 0, 200));
            let max = threshold + more;
            format!("threshold = '{threshold} kB', threshold_max = '{max} kB', packets = 1000")
        }
        "blue" => {
            let (packets, freeze) = (number(0, 60, 500), number(1, 50, 500));
            format!("packets = {packets}, freeze_time = '{freeze} ms', ecn = {ecn}")
        }
        "codel" => {
            let (target, interval) = (number(0, 15, 60), number(1, 100, 400));
            format!("target = '{target} ms', interval = '{interval} ms', ecn = {ecn}")
        }
        "pie" => {
            let (target, burst) = (number(0, 15, 60), number(1, 50, 300));
            let derandomize = drawn.flag(2);
            format!(
                "target = '{target} ms', burst = '{burst} ms', derandomize = {derandomize}, ecn = {ecn}"
            )
        }
        "fq_codel" => format!(
            "flows = {}, quantum = '{} B', target = '{} ms', interval = '{} ms', ecn = {ecn}",
            number(0, 1, 2_048),
            number(1, 256, 9_000),
            number(2, 15, 60),
            number(3, 100, 400)
        ),
        _ => return None,
    };
    Some(settings)
}

/// Settings of a discipline with classes. Each group of flows is a class where classes share by weight; where
/// one goes before the other it would take all, as asked: there both are one class.
fn classes(name: &str, drawn: &Drawn) -> Option<String> {
    let number = |index, low, high| drawn.number(index, low, high);
    let groups = |one: &str, two: &str| {
        format!("class.one = {{ match.flow = 'one', {one} }}, class.two = {{ {two} }}")
    };
    let all = |settings: &str| format!("class.all = {{ match = {{}}, {settings} }}");
    let settings = match name {
        "wfq" => {
            let (mode, hash) = match (drawn.flag(0), drawn.flag(1)) {
                (true, _) => ("exact", "full"),
                (false, true) => ("stochastic", "source_port"),
                (false, false) => ("stochastic", "destination"),
            };
            format!(
                "mode = '{mode}', hash = '{hash}', quota = '{} B', bytes = '{} kB', class.one = {{ \
                 weight = {}, match.flow = 'one' }}",
                number(2, 64, 9_000),
                number(3, 90, 1_000),
                number(4, 50, 800)
            )
        }
        "priq" => {
            let (priority, packets) = (number(0, 0, 15), number(1, 60, 1_000));
            all(&format!("priority = {priority}, queue.fifo.packets = {packets}"))
        }
        "drr" => {
            let (one, two) = (number(0, 1, 9), number(1, 1, 9));
            let leaf = format!("queue.fq_codel.quantum = '{} B'", number(2, 256, 9_000));
            groups(&format!("weight = {one}"), &format!("weight = {two}, {leaf}"))
        }
        "ets" => {
            let percent = number(0, 10, 90);
            groups(&format!("percent = {percent}"), &format!("percent = {}", 100 - percent))
        }
        "fairq" => {
            let (buckets, packets) = (number(0, 1, 2_048), number(1, 60, 500));
            let hogs = number(2, 1, 2_000);
            all(&format!("buckets = {buckets}, packets = {packets}, hogs = '{hogs} kbit/s'"))
        }
        "cbq" => {
            let (share, burst) = (number(0, 10, 80), number(1, 2, 40));
            let rest = "borrow = true, queue.fifo.packets = 200";
            let one = format!("share = '{share} %', maxburst = {burst}, {rest}");
            let two = format!("share = '{} %', {rest}", 90 - share);
            format!("default = 'two', efficient = {}, {}", drawn.flag(2), groups(&one, &two))
        }
        "jobs" => {
            let (packets, delay) = (number(0, 200, 1_000), number(1, 150, 400));
            format!("packets = {packets}, {}", all(&format!("delay = '{delay} ms'")))
        }
        _ => return None,
    };
    Some(settings)
}

/// Settings of a discipline that keeps to a rate of frames, and that rate in Mbit/s.
fn limited(name: &str, drawn: &Drawn) -> Option<(String, f64)> {
    let rate = drawn.rate(0);
    let settings = match name {
        "hfsc" => format!(
            "default_class = 'two', class.up = {{ link_share_m2 = '10 Mbit/s', upper_limit_m2 = \
             '{rate} Mbit/s' }}, class.one = {{ parent = 'up', link_share_m2 = '{} Mbit/s', match.flow = \
             'one', queue.fifo.packets = 200 }}, class.two = {{ parent = 'up', link_share_m2 = '{} \
             Mbit/s', queue.fifo.packets = 200 }}",
            drawn.number(1, 1, 8),
            drawn.number(2, 1, 8)
        ),
        "psp" => {
            let gaps = drawn.flag(1);
            format!("gaps = {gaps}, class.all = {{ rate = '{rate} Mbit/s', match = {{}} }}")
        }
        "tbr" => {
            let (bucket, packets) = (drawn.number(1, 3_000, 30_000), drawn.number(2, 60, 500));
            format!("rate = '{rate} Mbit/s', bucket = '{bucket} B', queue.fifo.packets = {packets}")
        }
        _ => return None,
    };
    Some((settings, rate))
}

/// Settings of the discipline with that name, and the rate of frames that they keep to, Mbit/s.
fn queue(name: &str, drawn: &Drawn) -> (String, f64) {
    let free = one_queue(name, drawn).or_else(|| classes(name, drawn));
    let set = free.map(|settings| (settings, LINK)).or_else(|| limited(name, drawn));
    let (settings, rate) = set.unwrap_or_else(|| panic!("say here how {name} is set"));
    (format!("{name} = {{ {settings} }}"), rate.min(LINK * FRAME_SHARE))
}

/// The path of two groups of flows.
#[derive(Clone, Debug)]
struct Path {
    /// The link's delay, ms.
    delay: u32,
    ecn: bool,
    /// Flows of each group.
    counts: [u32; 2],
}

impl Path {
    /// The goodput of each flow by group, Mbit/s, from one Linux 6 host whose link has the queue `queue`.
    fn goodputs(&self, queue: &str) -> [Vec<f64>; 2] {
        let Self { delay, ecn, counts: [one, two] } = self;
        let flow = format!(r#"from = "a", to = "b", tcp.segment.ecn = {ecn}"#);
        let text = format!(
            r#"
duration = "10 s"
[host.a]
profile = "linux-6"
[host.b]
profile = "linux-6"
[link.out]
between = ["a", "b"]
rate = "{LINK} Mbit/s"
delay = "{delay} ms"
at.a.queue.{queue}
[flow]
one = {{ {flow}, receiver_tcp.segment.ecn = {ecn}, count = {one} }}
two = {{ {flow}, receiver_tcp.segment.ecn = {ecn}, count = {two} }}
"#
        );
        let summary = driver::summary(&driver::plan(&text));
        let mut all = summary.flow.0.iter().map(|(_, flow)| flow.goodput * 8e-6);
        self.counts.map(|count| all.by_ref().take(count as usize).collect())
    }
}

fn path() -> impl Strategy<Value = Path> {
    (1..=20_u32, any::<bool>(), prop::array::uniform2(1..=6_u32))
        .prop_map(|(delay, ecn, counts)| Path { delay, ecn, counts })
}

fn total(groups: &[Vec<f64>]) -> f64 {
    groups.iter().flatten().sum()
}

/// The fault of goodputs that should sum to `expected` Mbit/s, if any.
fn fault(groups: &[Vec<f64>], expected: f64) -> Option<String> {
    let total = total(groups);
    if (total / expected - 1.0).abs() > NEAR {
        return Some(format!("{total:.3} Mbit/s instead of {expected:.3}"));
    }
    let starved = groups.iter().any(|group| {
        let mean = group.iter().sum::<f64>() / group.len() as f64;
        group.iter().any(|&goodput| goodput < LEAST_PART * mean)
    });
    starved.then(|| format!("a flow is starved: {groups:.3?} Mbit/s"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]
    #[test]
    fn goodput_is_that_of_a_fifo_with_every_discipline(
        path in path(),
        drawn in prop::collection::vec(drawn(), REGISTRY.len()),
    ) {
        let fifo = total(&path.goodputs("fifo = {}"));
        let mut faults = String::new();
        for (entry, drawn) in REGISTRY.iter().zip(&drawn) {
            let (queue, rate) = queue(entry.name, drawn);
            let expected = fifo * rate / (LINK * FRAME_SHARE);
            if let Some(fault) = fault(&path.goodputs(&queue), expected) {
                faults += &format!("\n{queue}: {fault}");
            }
        }
        prop_assert!(faults.is_empty(), "{path:?}:{faults}");
    }
}

/// Twenty bulk flows from one Linux 6 host at 10 Mbit/s, through the host's own queue.
fn crowd(seconds: u32, queue: &str, more: &str) -> String {
    format!(
        r#"
duration = "{seconds} s"
[host.a]
profile = "linux-6"
[host.b]
[link.out]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
at.a.queue.{queue}
[flow]
one = {{ from = "a", to = "b", count = 10 }}
two = {{ from = "a", to = "b", count = 10 }}
{more}"#
    )
}

/// The goodput of all flows in their last half, in Mbit/s, and the number of stalled flows.
fn outcome(text: &str) -> (f64, usize) {
    let summary = driver::summary(&driver::plan(text));
    let late = summary.flow.0.iter().map(|(_, flow)| flow.goodput_last_half.unwrap_or(0.0));
    let dead = late.clone().filter(|&goodput| goodput < 1_250.0).count();
    (late.sum::<f64>() * 8e-6, dead)
}

/// A minute, because a flow whose retransmission is lost five times in a row waits for 15 s.
#[test]
fn the_flows_of_a_host_live_with_a_queue_that_drops_what_it_has_taken() {
    let (fifo, dead) = outcome(&crowd(60, "fifo = {}", ""));
    assert_eq!(dead, 0);
    let mut failed = Vec::new();
    for queue in
        ["fq_codel = { packets = 20 }", "wfq = { bytes = '60 kB' }", "codel = { packets = 20 }"]
    {
        let (goodput, dead) = outcome(&crowd(60, queue, ""));
        if dead > 0 || goodput < 0.95 * fifo {
            failed.push(format!("{queue}: {goodput:.3} of {fifo:.3} Mbit/s, {dead} dead"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]
    /// Debug builds assert after every event that the credits equal the queue.
    #[test]
    fn the_flows_of_a_host_live_through_changes_of_its_queue(
        changes in prop::collection::vec((0..REGISTRY.len(), 1..9_000_u32, any::<bool>()), 1..12),
        packets in 10..40_u32,
    ) {
        let mut more = String::new();
        for (number, &(discipline, at, off)) in changes.iter().enumerate() {
            let name = REGISTRY[discipline].name;
            let what = match off {
                true => "enabled = false".into(),
                false => format!("queue.{}", queue(name, &WIDE).0),
            };
            more += &format!("[change.c{number}]\nwhen = \"{at} ms\"\nat = \"a:out\"\n{what}\n");
        }
        more += "[change.last]\nwhen = \"9500 ms\"\nat = \"a:out\"\nqueue.fifo = {}\n";
        let first = format!("fq_codel = {{ packets = {packets} }}");
        let (goodput, dead) = outcome(&crowd(20, &first, &more));
        prop_assert_eq!(dead, 0);
        prop_assert!(goodput > 8.9, "{} Mbit/s", goodput);
    }
}
