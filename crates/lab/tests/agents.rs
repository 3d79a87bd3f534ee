//! The plan's flows on the kernel's own sockets: what is written arrives, when it is to, and is counted as
//! the simulator counts it.
//!
//! Needs root and iproute2; without them each test says so and passes.

mod pair;

use std::sync::{Arc, Mutex};
use std::time;

use applications::event_builder::Events;
use applications::exchange::Exchanges;
use base::{Bytes, Distribution, Duration, Instant, Random};
use lab::Error;
use lab::agents::{Agents, Sample};
use lab::clock::Clock;
use lab::congestion::Congestion;
use pair::{Pair, lacks, plan, plan_at};
use record::totals::FlowTotals;
use scenario::plan::Flow;
use transport::{Info, Phase};

/// A processor shared with other tests may be busy for so long.
const HICCUP: f64 = 0.15;

/// Waits until host `a` has `count` connections, and returns what `ss`, with these options, prints about them.
fn established(pair: &Pair, count: usize, options: &str) -> String {
    let line = format!("ss {options} state established");
    let mut sockets = String::new();
    testbed::eventually(&format!("{count} established connections"), || {
        sockets = pair::run(pair.host(0), &line);
        // Details of a connection follow on an indented line.
        sockets.lines().filter(|line| !line.starts_with(char::is_whitespace)).count() >= count
    });
    sockets
}

/// The counters of both ends of a flow, the sender's first.
fn ends(flow: &FlowTotals) -> [Info; 2] {
    [flow.sender.get(), flow.receiver.get()]
}

#[test]
fn a_transfer_of_n_bytes_completes_and_both_ends_agree() {
    if lacks("a transfer") {
        return;
    }
    let flow = "[flow.one]\nfrom = \"a\"\nto = \"b\"\nstart = \"100 ms\"\nbytes = \"12345678 B\"\n\
                [probe]\nflows = { every = \"50 ms\" }";
    let plan = plan("2 s", flow);
    let (totals, samples) = Pair::new("200mbit").flows(&plan);
    let FlowTotals { start, end, completed, received, .. } = totals[0];
    let [sender, receiver] = ends(&totals[0]);
    assert!(completed);
    assert_eq!(received, Bytes(12_345_678));
    assert_eq!(sender.bytes_written, 12_345_678);
    assert_eq!(sender.bytes_acked, 12_345_678);
    assert_eq!(sender.bytes_sent - sender.bytes_retransmitted, 12_345_678);
    assert_eq!([receiver.bytes_received, receiver.bytes_read], [12_345_678; 2]);
    assert_eq!([sender.phase, receiver.phase], [Phase::Closed; 2]);
    assert_eq!(sender.mss, 1448);
    // 200 Mbit/s less Ethernet's, IP's and TCP's headers.
    let seconds = end.since(start).as_secs_f64();
    let least = 12_345_678.0 * 8.0 / 200e6;
    assert!(seconds > least && seconds < 1.1 * least + HICCUP, "{seconds} s of {least} s");
    assert_eq!(start, Instant::ZERO + Duration::from_ms(100));

    let started: Vec<_> = samples.iter().map(|sample| sample.now).collect();
    assert!(started.len() >= 30, "{} samples of 39", started.len());
    assert!(started[0] >= start && started[0] < start + Duration::from_ms(50));
    let middle = samples[samples.len() / 8].ends[0];
    assert!(middle.cwnd >= 10 && middle.srtt > Duration::ZERO && middle.min_rtt > Duration::ZERO);
    assert!(middle.in_flight > 0 && middle.rto >= Duration::from_ms(200), "{middle:?}");
    assert!(samples.windows(2).all(|s| s[0].ends[1].bytes_read <= s[1].ends[1].bytes_read));
}

#[test]
fn a_train_sends_its_messages_and_no_more() {
    if lacks("a train") {
        return;
    }
    let flow = "[flow.one]\nfrom = \"a\"\nto = \"b\"\n\
                train = { message = \"100 KB\", every = \"200 ms\" }";
    let (totals, _) = Pair::new("200mbit").flows(&plan("1.1 s", flow));
    // At 0, 0.2, … 1.0 s.
    assert_eq!(totals[0].received, Bytes(600_000));
    assert_eq!(totals[0].received_by_half, Some(Bytes(300_000)));
    assert!(!totals[0].completed);
}

#[test]
fn a_slow_reader_sets_the_rate() {
    if lacks("a slow reader") {
        return;
    }
    let flow = "[flow.one]\nfrom = \"a\"\nto = \"b\"\nread.rate = \"8 Mbit/s\"\n\
                receiver_tcp.buffers = { receive = \"64 KB\" }";
    let pair = Pair::new("200mbit");
    let (totals, _) = pair.flows(&plan("2 s", flow));
    let (read, half) = (totals[0].received.0, totals[0].received_by_half.expect("seen").0);
    let rate = (read - half) as f64;
    assert!((rate - 1e6).abs() < 0.02 * 1e6, "{rate} bytes/s");
    // What the sender got rid of is read or waits in the receive buffer.
    let waiting = totals[0].receiver.get().bytes_received - read;
    assert!(waiting > 0 && waiting <= 128_000, "{waiting} bytes wait");
}

#[test]
fn a_writer_stops_in_time() {
    if lacks("a stop") {
        return;
    }
    let flow = "[flow.one]\nfrom = \"a\"\nto = \"b\"\nstop = \"500 ms\"\n\
                tcp.buffers = { send = \"100 KB\" }";
    let (totals, _) = Pair::new("80mbit").flows(&plan("1.5 s", flow));
    let FlowTotals { end, received, .. } = totals[0];
    let [sender, receiver] = ends(&totals[0]);
    assert_eq!(end, Instant::ZERO + Duration::from_ms(500));
    // 80 Mbit/s for half a second, less headers.
    assert!(received.0 > 4_000_000 && received.0 < 5_000_000, "{received:?}");
    // Then only the contents of the send buffer, which also counts the memory of the packets.
    assert_eq!(receiver.bytes_read, sender.bytes_written);
    let after = sender.bytes_written - received.0;
    assert!(after < 300_000, "{after} bytes after it stopped");
    assert_eq!(sender.phase, Phase::Closed);
}

#[test]
fn two_hundred_connections_share_the_wire() {
    if lacks("two hundred connections") {
        return;
    }
    let flow = "[flow.many]\nfrom = \"a\"\nto = \"b\"\ncount = 200\nbytes = \"100 KB\"\n\
                stagger = \"2 ms\"\n[flow.back]\nfrom = \"b\"\nto = \"a\"\nbytes = \"1 MB\"";
    let (totals, _) = Pair::new("400mbit").flows(&plan("3 s", flow));
    assert_eq!(totals.len(), 201);
    for (number, flow) in totals.iter().enumerate() {
        assert!(flow.completed, "{number}: {flow:?}");
    }
    assert_eq!(totals[200].received, Bytes(1_000_000));
    assert!(totals[..200].iter().all(|flow| flow.received == Bytes(100_000)));
}

#[test]
fn each_connection_has_the_congestion_control_that_the_plan_says() {
    if lacks("congestion control") {
        return;
    }
    let flow = |name: &str, congestion: &str| {
        format!("[flow.{name}]\nfrom = \"a\"\nto = \"b\"\ncongestion = \"{congestion}\"\n")
    };
    let (pair, kernels) = (Pair::new("200mbit"), flow("kernels", "kernel:reno"));
    let ours = if cfg!(feature = "bpf") { flow("ours", "scalable") } else { String::new() };
    let probe = "[probe]\nflows = { every = \"10 ms\" }";
    let plan = plan("60 s", &(kernels + &ours + probe));
    let modules = Congestion::load(&plan).expect("this kernel takes ours");
    assert_eq!(modules.notes(), Vec::<String>::new());
    let read = Arc::new(Mutex::new(vec![0; plan.flows.len()]));
    let noted = Arc::clone(&read);
    let note = move |sample: Sample| {
        noted.lock().expect("nobody panicked")[sample.flow.0 as usize] = sample.ends[1].bytes_read;
    };
    let agents = pair.start(&plan, &modules, Clock::starting_in(time::Duration::ZERO), note);
    let sockets = established(&pair, plan.flows.len(), "-Htin");
    assert!(sockets.contains(" reno "), "{sockets}");
    for flow in
        plan.flows.iter().filter_map(Flow::tcp).filter(|tcp| tcp.kernel_congestion.is_none())
    {
        let name = modules.name_for(flow, &flow.sender);
        assert!(name.starts_with("scalable.") && pair::known_to_kernel(name), "{name}");
        assert!(sockets.contains(name), "{sockets}");
    }
    testbed::eventually("100 kB of each flow are read", || {
        read.lock().expect("nobody panicked").iter().all(|bytes| *bytes > 100_000)
    });
    agents.finish().expect("they ran");
    let names: Vec<_> = plan.flows.iter().filter_map(Flow::tcp).collect();
    let ours = names.last().map(|tcp| modules.name_for(tcp, &tcp.sender).to_owned());
    drop(modules);
    let left = ours.filter(|name| name != "reno" && !pair::gone_from_kernel(name));
    assert_eq!(left, None);
}

#[test]
fn a_hosts_connections_have_the_options_that_the_plan_says() {
    if lacks("TCP options") {
        return;
    }
    let flow = |segment: &str| {
        format!(
            "[flow.one]\nfrom = \"a\"\nto = \"b\"\n\
             tcp.segment = {{ {segment} }}\nreceiver_tcp.segment = {{ {segment} }}\n"
        )
    };
    let options = |segment: &str| {
        let pair = Pair::new("200mbit");
        let plan = plan("60 s", &flow(segment));
        let modules = Congestion::load(&plan).expect("this kernel has one");
        let agents = pair.start(&plan, &modules, Clock::starting_in(time::Duration::ZERO), |_| {});
        let sockets = established(&pair, 1, "-Htine");
        agents.finish().expect("they ran");
        ["ts", "sack", "ecn", "wscale:"].map(|option| sockets.contains(&format!(" {option}")))
    };
    assert_eq!(options("ecn = false"), [true, true, false, true]);
    assert_eq!(options("ecn = true, timestamps = false"), [false, true, true, true]);
    assert_eq!(options("sack = false, window_scaling = false"), [true, false, false, false]);
    // One kernel cannot have both.
    let mixed = flow("ecn = true") + &flow("ecn = false").replace("flow.one", "flow.two");
    let (pair, plan) = (Pair::new("200mbit"), plan("1 s", &mixed));
    let modules = Congestion::load(&plan).expect("this kernel has one");
    let clock = Clock::starting_in(time::Duration::ZERO);
    let refused = Agents::start(&plan, &pair.hosts, clock, &modules, |_| {});
    let Err(error @ Error::Unfit { .. }) = refused else { panic!("{refused:?}") };
    assert!(error.to_string().contains("`two`"), "{error}");
}

#[test]
fn a_congestion_control_that_the_kernel_has_not_is_named() {
    if lacks("a missing congestion control") {
        return;
    }
    let flow = "[flow.one]\nfrom = \"a\"\nto = \"b\"\ncongestion = \"kernel:nonesuch\"";
    let missing = Congestion::load(&plan("1 s", flow));
    let Err(Error::Lacking { what, help, .. }) = missing else { panic!("{missing:?}") };
    assert!(what.contains("nonesuch") && help.contains("cubic"), "{what}: {help}");
}

#[test]
fn requests_are_answered_in_turn() {
    if lacks("an exchange") {
        return;
    }
    let flow = "[flow.one]\nfrom = \"a\"\nto = \"b\"\nstart = \"100 ms\"\nstop = \"1 s\"\n\
                exchange = { request = \"2 KB\", response = \"50 KB\", every = \"20 ms\" }";
    let (totals, _) = Pair::new("200mbit").flows(&plan("1.5 s", flow));
    let [sender, receiver] = ends(&totals[0]);
    let exchanges = totals[0].counts::<Exchanges>().expect("it asks");
    // One every 20 ms for 0.9 s; fewer where the machine is late, as the next counts from the last.
    assert!((20..=45).contains(&exchanges.completed), "{exchanges:?}");
    // What was asked last was answered still.
    let [asked, answered] = [2_000, 50_000].map(|size| size * exchanges.completed);
    assert_eq!([sender.bytes_written, receiver.bytes_read], [asked; 2]);
    assert_eq!([receiver.bytes_written, sender.bytes_read], [answered; 2]);
    let mean = exchanges.sum as f64 / exchanges.completed as f64 / 1e12;
    // 52 KB at 200 Mbit/s, except for the bucket's 20 KB and what comes in while the last turn reads: its
    // stamp is the turn's.
    const TURN: f64 = 0.000_2;
    assert!(mean > 32_000.0 * 8.0 / 200e6 - TURN && mean < 0.01 + HICCUP, "{mean} s");
}

#[test]
fn both_ends_of_an_exchange_draw_the_same_sizes() {
    if lacks("an exchange of drawn sizes") {
        return;
    }
    let flow = "[flow.one]\nfrom = \"a\"\nto = \"b\"\nexchange = { request = \"1 B..20 kB\", \
                response = \"pareto 20 kB 1.5\", think = \"exponential 1 ms\", count = 100 }";
    let (totals, _) = Pair::new("200mbit").flows(&plan("4 s", flow));
    let [sender, receiver] = ends(&totals[0]);
    assert_eq!(totals[0].counts::<Exchanges>().expect("it asks").completed, 100);
    let draws = |key: &str, of: Distribution<Bytes>| {
        let mut random = Random::new(1, &format!("one {key}"));
        (0..100).map(|_| of.draw(&mut random).0.max(1)).sum::<u64>()
    };
    let (min, max, mean) = (Bytes(1), Bytes(20_000), Bytes(20_000));
    assert_eq!(receiver.bytes_read, draws("request", Distribution::Uniform { min, max }));
    let responses = draws("response", Distribution::Pareto { mean, shape: 1_500 });
    assert_eq!(sender.bytes_read, responses);
}

/// One program has the receiving ends of all connections of a table.
#[test]
fn sources_share_an_event_builder() {
    if lacks("an event builder") {
        return;
    }
    for mode in
        ["mode = \"push\", spread = \"1 ms\"", "mode = \"pull\", credits = 2, requests_max = 5"]
    {
        let flow = format!(
            "[flow.data]\nfrom = \"a\"\nto = \"b\"\ncount = 4\nstart = \"100 ms\"\n\
             events = {{ fragment = \"1 B..20 kB\", every = \"5 ms\", count = 100, deadline = \"1 s\", {mode} }}"
        );
        let (totals, _) = Pair::new("200mbit").flows(&plan("3 s", &flow));
        assert_eq!(totals.len(), 4);
        for (number, flow) in (1..).zip(&totals) {
            let events = flow.counts::<Events>().expect("a source of events");
            assert_eq!((events.completed, events.fragments), (100, 100), "{mode}");
            assert_eq!(events.late, Some(0), "{mode}");
            let mut random = Random::new(1, &format!("data.{number} fragment"));
            let size = Distribution::Uniform { min: Bytes(1), max: Bytes(20_000) };
            let drawn = (0..100).map(|_| size.draw(&mut random).0.max(1)).sum::<u64>();
            assert_eq!(
                [flow.sender.get().bytes_written, flow.receiver.get().bytes_read],
                [drawn; 2],
                "{mode}"
            );
            let mean = events.sum as f64 / 100.0 / 1e12;
            // 40 KB at 200 Mbit/s on average.
            assert!(mean > 0.000_5 && mean < 0.01 + HICCUP, "{mode}: {mean} s");
            assert_eq!(
                [flow.sender.get().phase, flow.receiver.get().phase],
                [Phase::Closed; 2],
                "{mode}"
            );
        }
    }
}

#[test]
fn datagrams_leave_at_their_times_and_are_counted() {
    if lacks("datagrams") {
        return;
    }
    let flow = |name: &str, more: &str| {
        format!(
            "[flow.{name}]\nfrom = \"a\"\nto = \"b\"\nstop = \"2 s\"\n\
             datagrams = {{ rate = \"8 Mbit/s\", size = \"1000 B\", {more} }}\n"
        )
    };
    let text = flow("even", "spacing = \"even\"")
        + &flow("poisson", "spacing = \"poisson\"")
        + &flow("bursts", "on = \"100 ms\", off = \"300 ms\"")
        + "[flow.few]\nfrom = \"b\"\nto = \"a\"\nbytes = \"10500 B\"\n\
           datagrams = { rate = \"8 Mbit/s\", size = \"1000 B\" }\n";
    let (totals, _) = Pair::new("200mbit").flows(&plan("2.5 s", &text));
    let sent: Vec<u64> = totals.iter().map(|flow| flow.sender.get().data_segments_sent).collect();
    let received: Vec<u64> =
        totals.iter().map(|flow| flow.receiver.get().data_segments_received).collect();
    // 1000 a second for 2 s, however late the machine was.
    assert_eq!(sent[0], 2000, "{sent:?}");
    // Of a Poisson process's 2000, 5 standard deviations are 224.
    assert!(sent[1].abs_diff(2000) < 224 && sent[1] != 2000, "{sent:?}");
    // For 0.5 s of the 2 s.
    assert_eq!(sent[2], 500, "{sent:?}");
    assert_eq!(sent[3], 11);
    assert!(totals[3].completed && totals[3].received == Bytes(10_500));
    for flow in 0..4 {
        assert!(sent[flow] == received[flow], "{sent:?} sent, {received:?} received");
        assert_eq!(
            totals[flow].receiver.get().bytes_read,
            totals[flow].receiver.get().bytes_received
        );
        let delay = totals[flow].delay.as_ref().expect("datagrams have one");
        let mean = delay.sum as f64 / received[flow] as f64 / 1e12;
        // A veth and a bucket that is full: nothing but the kernel's own way.
        assert!(mean > 0.0 && mean < 1e-3, "{mean} s");
        assert!(delay.max.as_secs_f64() >= mean && delay.jitter() < Duration::from_ms(1));
    }
}

#[test]
fn what_the_wire_has_no_room_for_is_lost_and_late_by_its_queue() {
    if lacks("an overload") {
        return;
    }
    let flow = "[flow.flood]\nfrom = \"a\"\nto = \"b\"\n\
                datagrams = { rate = \"20 Mbit/s\", size = \"1000 B\" }";
    let pair = Pair::new("200mbit");
    let slow = "tc qdisc change dev eth0 root tbf rate 10mbit burst 20kb limit 125kb";
    pair::run(pair.host(0), slow);
    let (totals, _) = pair.flows(&plan("2 s", flow));
    let [sender, receiver] = ends(&totals[0]);
    let rate = receiver.bytes_received as f64 * 1042.0 / 1000.0 * 8.0 / 2.0;
    assert!((rate - 10e6).abs() < 0.1 * 10e6, "{rate} bit/s got through");
    assert!(sender.data_segments_sent > 4990, "{}", sender.data_segments_sent);
    // 125 KB at 10 Mbit/s.
    let longest = totals[0].delay.as_ref().expect("datagrams have one").max.as_secs_f64();
    assert!(longest > 0.09 && longest < 0.12 + HICCUP, "{longest} s");
}

#[test]
fn headers_say_what_the_plan_says() {
    if lacks("headers") {
        return;
    }
    for addresses in [["10.0.0.1", "10.0.0.2"], ["fd00::1", "fd00::2"]] {
        let label = if addresses[0].contains(':') { "flow_label = 74565\n" } else { "" };
        let flows = format!(
            "[flow.tcp]\nfrom = \"a\"\nto = \"b\"\ndscp = \"ef\"\nbytes = \"20 KB\"\n\
             source_port = 1111\ndestination_port = 2222\n{label}\
             [flow.udp]\nfrom = \"a\"\nto = \"b\"\ndscp = \"cs1\"\nbytes = \"3 KB\"\n\
             source_port = 3333\ndestination_port = 4444\n{label}\
             datagrams = {{ rate = \"8 Mbit/s\", size = \"1000 B\", ecn = true }}"
        );
        // Time enough for a machine that is busy with other tests.
        let plan = plan_at(addresses, "2 s", &flows);
        let pair = Pair::new("200mbit");
        let seen = wire::Tap::new(pair.host(1));
        let (totals, _) = pair.flows(&plan);
        assert!(totals.iter().all(|flow| flow.completed), "{totals:?}");
        let headers = seen.headers();
        for (flow, tos) in plan.flows.iter().zip([46 << 2, 8 << 2 | 2]) {
            let expected = base::header::Header { tos, ..flow.header };
            let forth = headers.iter().filter(|h| h.ports == flow.header.ports);
            assert!(forth.clone().count() >= 3, "{headers:?}");
            assert!(forth.clone().all(|h| *h == expected), "{expected:?}: {headers:?}");
        }
        let back = plan.flows[0].header.reversed();
        let replies = headers.iter().filter(|h| h.ports == back.ports);
        assert!(replies.clone().count() >= 3, "{headers:?}");
        assert!(replies.clone().all(|h| *h == back), "{back:?}: {headers:?}");
    }
}

/// The packets that pass an interface.
mod wire {
    use std::os::fd::{AsRawFd, OwnedFd};

    use base::header::Header;
    use lab::Namespace;
    use nix::sys::socket::{
        AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, socket,
    };

    pub(super) struct Tap(OwnedFd);

    impl Tap {
        pub(super) fn new(host: &Namespace) -> Self {
            let open = || {
                let flags = SockFlag::SOCK_NONBLOCK | SockFlag::SOCK_CLOEXEC;
                let protocol = SockProtocol::EthAll;
                socket(AddressFamily::Packet, SockType::Raw, flags, protocol)
            };
            Self(host.within(open).expect("a namespace").expect("root may listen to packets"))
        }

        /// The headers of every TCP and UDP packet so far.
        pub(super) fn headers(&self) -> Vec<Header> {
            let (mut frame, mut headers) = ([0; 2048], Vec::new());
            while let Ok(length) = recv(self.0.as_raw_fd(), &mut frame, MsgFlags::empty()) {
                let header = Header::parse(&frame[..length]);
                headers.extend(header.ports.is_some().then_some(header));
            }
            headers
        }
    }
}
