//! The queue of congestion control in a switch, against closed forms: DCTCP's sawtooth, the few packets of each
//! Vegas flow, and the round-trip time of full windows.

use base::{Duration, Instant};
use network::observer::PortId;
use network::{Event, Observer};
use record::Totals;

use crate::driver;

/// The size of a full frame on the wire at an MTU of 1500 bytes, in bits.
const PACKET_BITS: f64 = 1_538.0 * 8.0;
/// Its payload, in bits.
const PAYLOAD_BITS: f64 = 1_448.0 * 8.0;
/// The rate of all links, bit/s.
const RATE: f64 = 10e9;
/// Propagation of two links, there and back, and a data packet's serialisation on both, in microseconds.
const BASE_RTT_US: f64 = 100.0 + 2.0 * PACKET_BITS / RATE * 1e6;

/// Flows from as many hosts into one port of a lossless switch; queues and flows are sampled so often.
///
/// Segments go one by one and each is acknowledged (no TSO, no delayed ACKs): the closed forms are of a fluid, to which a
/// burst adds its length. Windows count, so nothing else holds a sender back: no small socket buffers, no small queues.
fn scenario(flows: u32, milliseconds: u32, every: &str, xoff: &str, more: &str) -> String {
    format!(
        r#"
        duration = "{milliseconds} ms"
        [host.a]
        count = {flows}
        [host.b]
        [switch.s]
        lossless = 0
        {xoff}
        [link.in]
        between = ["a", "s"]
        rate = "10 Gbit/s"
        delay = "25 us"
        [link.out]
        between = ["s", "b"]
        rate = "10 Gbit/s"
        delay = "25 us"
        [probe]
        automatic = false
        flows.every = "{every}"
        queues.every = "{every}"
        [measure]
        from = "{} ms"
        [flow.f]
        from = "a"
        to = "b"
        tcp.buffers.send = "16 MB"
        tcp.emission = {{ tso = false, small_queues = false }}
        receiver_tcp.ack.every = 1
        receiver_tcp.buffers = {{ receive = "16 MB", window_share = "1/1" }}
        {more}
        "#,
        milliseconds / 2
    )
}

/// Samples of the second half of a run.
struct Samples {
    /// The port in front of the last link.
    bottleneck: PortId,
    from: Instant,
    /// Packets queued there.
    queue: Vec<u64>,
    /// Smoothed round trip times of all flows, in microseconds.
    round_trips: Vec<f64>,
}

impl Observer for Samples {
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::QueueSample { port, now, statistics }
                if port == self.bottleneck && now >= self.from =>
            {
                self.queue.push(statistics.backlog_packets);
            }
            Event::FlowSample { now, ends: [sender, _], .. } if now >= self.from => {
                self.round_trips.push(sender.srtt.as_secs_f64() * 1e6);
            }
            _ => {}
        }
    }
}

impl Samples {
    /// Runs a scenario without losses; returns its samples and totals.
    fn of(flows: u32, milliseconds: u32, every: &str, xoff: &str, more: &str) -> (Self, Totals) {
        let plan = driver::plan(&scenario(flows, milliseconds, every, xoff, more));
        let from = Instant::ZERO + Duration::from_ms(u64::from(milliseconds / 2));
        let bottleneck = PortId(2 * flows);
        let mut samples = Self { bottleneck, from, queue: Vec::new(), round_trips: Vec::new() };
        let totals = driver::totals_observed(&plan, &mut samples);
        let ports = totals.ports.iter().map(|port| port.drops.total());
        let nodes = totals.nodes.iter().map(|node| node.drops.total());
        let drops: u64 = ports.chain(nodes).sum();
        assert_eq!(drops, 0, "{flows} {more}");
        (samples, totals)
    }

    fn mean_queue(&self) -> f64 {
        mean(self.queue.iter().map(|&packets| packets as f64))
    }

    /// The cycles of the queue: each begins when the queue rises above `threshold` after it was at least
    /// `below` lower. Returns the number of samples of each, and the difference of its highest and lowest
    /// queue.
    fn cycles(&self, threshold: u64, below: u64) -> Vec<(usize, u64)> {
        let (mut starts, mut was_low) = (Vec::new(), false);
        for (place, &packets) in self.queue.iter().enumerate() {
            if was_low && packets > threshold {
                starts.push(place);
            }
            was_low = packets <= threshold && (was_low || packets + below <= threshold);
        }
        let cycle = |pair: &[usize]| {
            let within = &self.queue[pair[0]..pair[1]];
            let [low, high] = [within.iter().min(), within.iter().max()].map(Option::unwrap);
            (within.len(), high - low)
        };
        starts.windows(2).map(cycle).collect()
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// Alizadeh et al., SIGCOMM 2010, section 3.3, for N flows in step and marks above K packets: the queue's maximum K + N, its
/// amplitude A = 1/2 sqrt(2N (C RTT + K)), and its period 1/2 sqrt(2 (C RTT + K) / N) round trips.
///
/// Windows are whole packets, so the amplitude is held to one packet a flow. The model cuts the window at once, hence
/// `inflate`. In the model the window also grows again at once; here it stays for the round trip of the cut, to 0.6 round
/// trips, which the period has in addition. With PRR, as Linux has it, the cut takes a round trip and marks go on
/// meanwhile: two flows then swing by 17 packets in 10.6 round trips, and the queue's maximum is a packet higher.
#[test]
fn dctcp_swings_as_its_sawtooth() {
    const K: u64 = 65;
    let more = format!(
        "congestion = \"dctcp\"\ntcp.recovery.reduction = \"inflate\"\n\
         [link.out.at.s.queue.mark]\nthreshold = \"{} B\"",
        K * 1_518
    );
    for flows in [2, 8] {
        let (samples, _) = Samples::of(flows, 100, "1 us", "", &more);
        let n = f64::from(flows);
        let path = RATE * BASE_RTT_US * 1e-6 / PACKET_BITS;
        let (amplitude, period) = (
            0.5 * (2.0 * n * (path + K as f64)).sqrt(),
            0.5 * (2.0 * (path + K as f64) / n).sqrt(),
        );
        let max = samples.queue.iter().copied().max().expect("samples");
        assert_eq!(max, K + u64::from(flows), "{flows} flows");
        let cycles = samples.cycles(K, 3);
        let measured = mean(cycles.iter().map(|&(_, packets)| packets as f64));
        assert!((measured - amplitude).abs() <= n, "{flows}: {measured} of {amplitude} packets");
        let round_trip = BASE_RTT_US + samples.mean_queue() * PACKET_BITS / RATE * 1e6;
        let measured = mean(cycles.iter().map(|&(us, _)| us as f64)) / round_trip;
        assert!((measured - 1.0 - period).abs() <= 0.6, "{flows}: {measured} of {period} + 1");
    }
}

/// Two to four packets of each flow (alpha and beta), if it knows the base RTT: all begin at once, with the first packets
/// on an empty path.
#[test]
fn vegas_keeps_two_to_four_packets_a_flow() {
    for flows in [2, 4, 8, 16, 32] {
        let (samples, _) = Samples::of(flows, 80, "20 us", "", "congestion = \"vegas\"");
        let each = samples.mean_queue() / f64::from(flows);
        assert!((2.0..=4.0).contains(&each), "{flows} flows: {each} packets each");
    }
}

/// Windows that are always full: their sum is the data in flight, so divided by the rate it is the round-trip
/// time (Little's law), to the microsecond that TCP measures in.
#[test]
fn full_windows_divided_by_the_rate_are_the_round_trip_time() {
    for (flows, window) in [(2, 200), (8, 64), (32, 64)] {
        let (samples, totals) = Samples::of(flows, 20, "20 us", "", &full(window));
        let expected = f64::from(flows * window) * PACKET_BITS / RATE * 1e6;
        let measured = mean(samples.round_trips.iter().copied());
        assert!((measured - expected).abs() <= 1.0, "{flows}: {measured} of {expected} us");
        assert_eq!(pauses(&totals), 0, "{flows}");
    }
}

/// The line is full to a packet or two, whether they wait in the switch or, stopped by pauses, in their hosts. What the
/// switch holds of two hosts when it lets them go on lasts for the 50 us until their packets come, 62.5 kB.
#[test]
fn n_to_one_is_the_line_rate() {
    for xoff in ["", "xoff = \"40 kB\""] {
        for (flows, window) in [(2, 200), (8, 64), (32, 64)] {
            let (_, totals) = Samples::of(flows, 20, "1 ms", xoff, &full(window));
            let bytes: u64 = totals.flows.iter().map(|flow| flow.received.0).sum();
            let goodput = bytes as f64 * 8.0 / totals.seconds();
            let line = RATE * PAYLOAD_BITS / PACKET_BITS;
            assert!((goodput / line - 1.0).abs() < 0.0005, "{flows} {xoff}: {goodput} of {line}");
            assert_eq!(pauses(&totals) > 0, !xoff.is_empty(), "{flows} {xoff}");
        }
    }
}

/// A window of `window` packets from the first round trip on.
fn full(window: u32) -> String {
    format!("tcp.window = {{ clamp = {window}, initial = {window} }}")
}

fn pauses(totals: &Totals) -> u64 {
    totals.ports.iter().filter_map(|port| port.flow_control).map(|port| port.pauses_sent).sum()
}
