//! What each queue management does to a link under load: throughput, how long packets wait, how many are
//! dropped and how many marked, by TCP that backs off and by Poisson datagrams that do not. The tables in
//! `golden/` are for readers; this file checks the laws that they obey.

use std::fmt::Write;

use base::packet::ecn;
use base::{Duration, Instant, Packet};
use network::{Event, Observer, PortId, observer::Place};

use crate::driver;

/// The traffic on the link.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    /// This number of unlimited connections.
    Tcp(u32),
    /// Poisson datagrams of full frames at this percentage of the link's rate.
    Datagrams(u32),
}

/// A queue management on a link: its name in the table, its queue in a scenario.
type Queue = (&'static str, String);

/// A link, and its measurements.
struct Link {
    mbit: u32,
    /// Round-trip time of the path without queueing.
    rtt_ms: u32,
    /// The time before counting starts: slow start.
    warm: Duration,
    seconds: u32,
    /// The drop-tail limit, packets.
    buffer: u32,
    queues: Vec<Queue>,
    loads: &'static [Load],
}

/// Counts the packets that pass the bottleneck after the warm-up.
struct Watcher {
    port: PortId,
    from: Instant,
    bytes: u64,
    sojourns: Vec<Duration>,
    /// The minimum wait in each interval.
    least: Vec<Duration>,
    drops: u64,
    marks: u64,
}

const INTERVAL: Duration = Duration::from_ms(100);

impl Watcher {
    fn transmitted(&mut self, packet: &Packet, start: Instant) {
        self.bytes += u64::from(packet.length);
        let sojourn = start - packet.queued;
        self.sojourns.push(sojourn);
        let interval = ((start - self.from).as_ps() / INTERVAL.as_ps()) as usize;
        self.least.resize(self.least.len().max(interval + 1), Duration::MAX);
        self.least[interval] = self.least[interval].min(sojourn);
        self.marks += u64::from(packet.tos & ecn::MASK == ecn::CE);
    }
}

impl Observer for Watcher {
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Transmitted { port, packet, start, .. }
                if port == self.port && start >= self.from =>
            {
                self.transmitted(packet, start);
            }
            Event::Dropped { place, now, .. } => {
                self.drops += u64::from(place == Place::Port(self.port) && now >= self.from);
            }
            _ => {}
        }
    }
}

/// One line of a table.
struct Row {
    load: Load,
    queue: &'static str,
    ecn: bool,
    mbit: f64,
    mean_ms: f64,
    p99_ms: f64,
    /// The standing queue: the mean of the minimum waits in every 100 ms, CoDel's interval.
    standing_ms: f64,
    packets: usize,
    drops: u64,
    marks: u64,
}

/// The size of a full frame on the wire, and of its datagram payload.
const WIRE: f64 = 1_538.0;
const PAYLOAD: f64 = 1_472.0;

impl Link {
    fn scenario(&self, load: Load, queue: &str, ecn: bool) -> String {
        let Self { mbit, rtt_ms, seconds, .. } = self;
        let flow = match load {
            Load::Tcp(flows) => format!(
                "count = {flows}\nstagger = \"7 ms\"\n\
                 tcp = {{ segment.ecn = {ecn}, buffers.send = \"64 MiB\" }}\n\
                 receiver_tcp = {{ segment.ecn = {ecn}, buffers.receive = \"64 MiB\" }}"
            ),
            Load::Datagrams(percent) => format!(
                "datagrams = {{ rate = \"{} bit/s\", spacing = \"poisson\", ecn = {ecn} }}",
                (f64::from(mbit * percent) * 1e4 * PAYLOAD / WIRE).round()
            ),
        };
        format!(
            "duration = \"{seconds} s\"\n[host.a]\n[router.r]\n[host.b]\n\
             [link.in]\nbetween = [\"a\", \"r\"]\nrate = \"{} Mbit/s\"\n\
             [link.out]\nbetween = [\"r\", \"b\"]\nrate = \"{mbit} Mbit/s\"\ndelay = \"{} us\"\n\
             [link.out.at.r.queue]\n{queue}\n[flow.load]\nfrom = \"a\"\nto = \"b\"\n{flow}\n",
            100 * mbit,
            500 * rtt_ms,
        )
    }

    fn measure(&self, load: Load, (name, queue): &Queue, ecn: bool) -> Row {
        let with_ecn = queue.replace("ECN", &ecn.to_string());
        let plan = driver::plan(&self.scenario(load, &with_ecn, ecn));
        let mut watcher = Watcher {
            port: PortId(2),
            from: Instant::ZERO + self.warm,
            bytes: 0,
            sojourns: Vec::new(),
            least: Vec::new(),
            drops: 0,
            marks: 0,
        };
        driver::totals_observed(&plan, &mut watcher);
        let Watcher { mut sojourns, mut least, bytes, drops, marks, .. } = watcher;
        least.retain(|&wait| wait < Duration::MAX);
        sojourns.sort_unstable();
        let packets = sojourns.len();
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let mean = |times: &[Duration]| {
            times.iter().map(|&time| ms(time)).sum::<f64>() / times.len() as f64
        };
        let measured = f64::from(self.seconds) - self.warm.as_secs_f64();
        Row {
            load,
            queue: name,
            ecn,
            mbit: bytes as f64 * 8e-6 / measured,
            mean_ms: mean(&sojourns),
            standing_ms: mean(&least),
            p99_ms: ms(sojourns[(packets * 99).div_ceil(100) - 1]),
            packets,
            drops,
            marks,
        }
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for &load in self.loads {
            for queue in &self.queues {
                rows.push(self.measure(load, queue, false));
                if queue.1.contains("ECN") {
                    rows.push(self.measure(load, queue, true));
                }
            }
        }
        rows
    }

    fn table(&self, rows: &[Row]) -> String {
        let mut table = format!(
            "{} Mbit/s, RTT {} ms: CUBIC without end, or Poisson unresponsive datagrams, in full\n\
             frames. Frame bits; the wait from arrival at the queue to the wire; of {} s after {}.\n\n\
             load       queue          Mbit/s   mean ms    p99 ms    drops    marks\n\
             ---------  -------------  ------  --------  --------  -------  -------\n",
            self.mbit,
            self.rtt_ms,
            f64::from(self.seconds) - self.warm.as_secs_f64(),
            self.warm.as_secs_f64(),
        );
        let mut last = None;
        for row in rows {
            let load = match row.load {
                load if last.replace(load) == Some(load) => String::new(),
                Load::Tcp(flows) => format!("{flows} TCP"),
                Load::Datagrams(percent) => format!("{percent} % UDP"),
            };
            let queue = format!("{}{}", row.queue, if row.ecn { " + ECN" } else { "" });
            let Row { mbit, mean_ms, p99_ms, drops, marks, .. } = row;
            writeln!(
                table,
                "{load:<9}  {queue:<13}  {mbit:>6.2}  {mean_ms:>8.3}  {p99_ms:>8.3}  {drops:>7}  \
                 {marks:>7}"
            )
            .unwrap();
        }
        table
    }
}

/// The laws, and the rows of a link that violate them.
struct Laws<'a> {
    link: &'a Link,
    faults: Vec<String>,
}

impl Laws<'_> {
    fn hold(&mut self, row: &Row, what: &str, value: f64, low: f64, high: f64) {
        if !(low..=high).contains(&value) {
            let Row { load, queue, ecn, .. } = row;
            let name = format!("{queue}{} under {load:?}", if *ecn { " + ECN" } else { "" });
            self.faults.push(format!("{name}: {what} is {value:.4}, not in {low:.4} .. {high:.4}"));
        }
    }

    /// The time that a full frame takes of the wire.
    fn frame_ms(&self) -> f64 {
        WIRE * 8.0 / f64::from(self.link.mbit) / 1e3
    }

    fn check(&mut self, row: &Row) {
        // Of what the link carries, in full frames.
        let used = row.mbit / (f64::from(self.link.mbit) * 1_518.0 / WIRE);
        match row.load {
            // Where the queue is kept far below a bandwidth-delay product by packets, or by a probability
            // that learns slowly, the link idles after a flow's reduction.
            Load::Tcp(_) => {
                let by_packets = matches!(row.queue, "red" | "rio" | "blue");
                self.hold(row, "the link's use", used, if by_packets { 0.8 } else { 0.92 }, 1.001);
            }
            Load::Datagrams(percent) if percent < 100 => {
                self.hold(row, "the link's use", used * 100.0 / f64::from(percent), 0.97, 1.03);
            }
            Load::Datagrams(percent) => {
                self.hold(row, "the link's use", used, 0.97, 1.001);
                // All that does not fit is lost, one way or the other.
                let lost = row.drops as f64 / (row.drops as f64 + row.packets as f64);
                let excess = 1.0 - 100.0 / f64::from(percent);
                self.hold(row, "the loss", lost, 0.0, excess + 0.04);
            }
        }
        self.check_queue(row);
        self.check_ecn(row);
    }

    fn check_queue(&mut self, row: &Row) {
        let saturated = matches!(row.load, Load::Tcp(10..) | Load::Datagrams(100..));
        match (row.queue, row.load) {
            // Drop-tail stays full: the last packet in the buffer waits for all others.
            ("fifo", Load::Tcp(100) | Load::Datagrams(100..)) => {
                let full = f64::from(self.link.buffer) * self.frame_ms();
                self.hold(row, "the wait", row.mean_ms / full, 0.93, 1.01);
            }
            // M/D/1 (Pollaczek and Khinchin): rho / (2 (1 - rho)) frames. The waits of a busy queue are
            // correlated over some 2 / (1 - rho)^2 frames, so only a small part of them is independent.
            ("fifo", Load::Datagrams(percent @ ..100)) => {
                let rho = f64::from(percent) / 100.0;
                let law = rho / (2.0 * (1.0 - rho)) * self.frame_ms();
                let independent = row.packets as f64 * (1.0 - rho).powi(2) / 2.0;
                let deviation = 1.3 / independent.sqrt();
                let band = (1.0 - 3.0 * deviation, 1.0 + 3.0 * deviation);
                self.hold(row, "the wait to M/D/1", row.mean_ms / law, band.0, band.1);
            }
            // The target is for the standing queue (RFC 8289, section 3.2).
            ("codel" | "fq_codel", Load::Tcp(1..=10)) => {
                self.hold(row, "the standing queue", row.standing_ms, 0.0, 10.0);
            }
            ("pie", _) if saturated => self.hold(row, "the wait", row.mean_ms, 12.0, 18.0),
            _ => {}
        }
    }

    /// With few TCP flows, marks replace all drops.
    fn check_ecn(&mut self, row: &Row) {
        if !row.ecn {
            return self.hold(row, "marks without ECN", row.marks as f64, 0.0, 0.0);
        }
        if let (Load::Tcp(1..=10), "red" | "codel" | "fq_codel" | "pie") = (row.load, row.queue) {
            self.hold(row, "marks", row.marks as f64, 1.0, f64::INFINITY);
            self.hold(row, "drops", row.drops as f64, 0.0, 0.0);
        }
    }
}

fn check(link: &Link, golden: &str) {
    let rows = link.rows();
    let table = link.table(&rows);
    let mut laws = Laws { link, faults: Vec::new() };
    rows.iter().for_each(|row| laws.check(row));
    assert!(laws.faults.is_empty(), "{:#?}\n{table}", laws.faults);
    driver::assert_golden(golden, &table);
}

fn queue(name: &'static str, settings: &str) -> Queue {
    (name, settings.to_owned())
}

/// Every setting is the default, except drop-tail's buffer: 123 ms.
#[test]
fn ten_megabit() {
    let managed = ["red", "rio", "blue", "codel", "fq_codel", "pie"];
    let managed = managed.map(|name| queue(name, &format!("{name}.ecn = ECN")));
    let link = Link {
        mbit: 10,
        rtt_ms: 50,
        warm: Duration::from_secs(10),
        seconds: 60,
        buffer: 100,
        queues: [vec![queue("fifo", "fifo.packets = 100")], managed.into()].concat(),
        loads: &[
            Load::Tcp(1),
            Load::Tcp(10),
            Load::Tcp(100),
            Load::Datagrams(50),
            Load::Datagrams(90),
            Load::Datagrams(110),
            Load::Datagrams(150),
        ],
    };
    check(&link, "aqm-10-mbit");
}

/// Limits in packets are twenty times those at 10 Mbit/s, like the BDP of the path; limits in time only need
/// enough room.
#[test]
fn a_gigabit() {
    let link = Link {
        mbit: 1_000,
        rtt_ms: 10,
        warm: Duration::from_secs(4),
        seconds: 10,
        buffer: 2_000,
        queues: vec![
            queue("fifo", "fifo.packets = 2000"),
            queue(
                "red",
                "red = { packets = 1200, threshold_min = 100, threshold_max = 300, weight = 0.0001, \
                 ecn = ECN }",
            ),
            queue(
                "rio",
                "rio = { packets = 1200, threshold_min_low = 700, threshold_max_low = 900, \
                 threshold_min_medium = 400, threshold_max_medium = 600, \
                 threshold_min_high = 100, threshold_max_high = 300, weight = 0.0001, ecn = ECN }",
            ),
            queue("blue", "blue = { packets = 1200, ecn = ECN }"),
            queue("codel", "codel = { packets = 10000, ecn = ECN }"),
            queue("fq_codel", "fq_codel.ecn = ECN"),
            queue("pie", "pie = { packets = 10000, ecn = ECN }"),
        ],
        loads: &[Load::Tcp(10), Load::Tcp(100), Load::Datagrams(90), Load::Datagrams(110)],
    };
    check(&link, "aqm-1-gbit");
}
