//! The effects of programs on a flow: slow reads, writes in messages; and of a link on a packet that is too
//! long for it.

use crate::driver;

/// One flow over a path of 5 ms.
fn plan(duration: &str, flow: &str) -> scenario::Plan {
    driver::plan(&format!(
        r#"
duration = "{duration}"
[host.a]
[host.b]
[link.path]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "5 ms"
[flow.one]
from = "a"
to = "b"
{flow}
"#
    ))
}

fn path(duration: &str, flow: &str) -> record::Summary {
    driver::summary(&plan(duration, flow))
}

#[test]
fn a_slow_reader_sets_the_rate_and_nothing_is_lost() {
    let slow =
        path("10 s", "read.rate = \"8 Mbit/s\"\nreceiver_tcp.buffers = { receive = \"256 KB\" }");
    let flow = slow.flow.get("one").expect("the flow");
    let late = flow.goodput_last_half.expect("measured");
    // It reads pages of 4 KiB; one more or less within the 5 s.
    assert!((late - 1e6).abs() <= 2.0 * 4096.0 / 5.0, "{late} bytes/s");
    assert_eq!((flow.drops, flow.retransmissions, flow.timeouts), (0, 0, 0));
    let fast = path("2 s", "");
    assert!(fast.flow.get("one").expect("the flow").goodput > 8e6, "the path itself is fast");
}

#[test]
fn a_train_sends_its_messages_and_no_more() {
    // At 0, 1, 2, 3 and 4 s, each takes about 100 ms.
    let train = path("4.9 s", "train = { message = \"300 KB\", every = \"1 s\" }");
    let flow = train.flow.get("one").expect("the flow");
    assert_eq!(flow.bytes, 5 * 300_000);
    let cut = path("3.9 s", "train = { message = \"300 KB\", every = \"1 s\" }");
    assert_eq!(cut.flow.get("one").expect("the flow").bytes, 4 * 300_000);
}

#[test]
fn a_transfer_of_n_bytes_ends_with_the_last() {
    let transfer = path("5 s", "bytes = \"1234567 B\"");
    let flow = transfer.flow.get("one").expect("the flow");
    assert!(flow.completed);
    assert_eq!(flow.bytes, 1_234_567);
    assert!(flow.seconds > 1_234_567.0 / 12.5e6 && flow.seconds < 0.5, "{} s", flow.seconds);
}

#[test]
fn a_writer_that_stops_sends_only_what_its_send_buffer_holds() {
    for limit in ["", "bytes = \"100 MB\""] {
        let buffers = "tcp.buffers = { send = \"200 KB\" }";
        let summary = path("4 s", &format!("stop = \"1 s\"\n{limit}\n{buffers}"));
        let flow = summary.flow.get("one").expect("the flow");
        assert!(!flow.completed);
        let after = summary.link.get("path").expect("the link").forward.bytes - flow.bytes;
        // A buffer's payload is some 5 % more on the wire, and so is what was sent before.
        assert!(after < 200_000 + flow.bytes / 15, "{after} bytes after it stopped");
    }
}

#[test]
fn a_response_takes_a_round_trip_and_the_next_request_follows_it() {
    let exchange = r#"exchange = { request = "1000 B", response = "1000 B" }"#;
    let asked = path("2 s", exchange);
    let flow = asked.flow.get("one").expect("the flow");
    let exchanges = flow.results.exchanges.as_ref().expect("it asks");
    // 5 ms each way and 1070 bytes with headers, options and FCS at 12.5 MB/s.
    let round_trip = 2.0 * (0.005 + 1070.0 / 12.5e6);
    let overhead = 2.0 * 20.0 / 12.5e6;
    // Of the first exchange the ACK of the SYN-ACK and the quick ACK of the request go before.
    let ack = 90.0 / 12.5e6;
    let (mean, max) = (exchanges.response_mean_seconds, exchanges.response_max_seconds);
    for (time, overhead) in [(mean, overhead + ack / 10.0), (max, overhead + 2.0 * ack)] {
        assert!((round_trip..=round_trip + overhead).contains(&time), "{time} s");
    }
    // The handshake takes one more.
    let fits = ((2.0 - 0.01) / exchanges.response_mean_seconds) as u64;
    assert!((fits - 1..=fits).contains(&exchanges.completed), "{exchanges:?}");
    assert!(flow.bytes.abs_diff(exchanges.completed * 1000) < 1000, "responses are what counts");
    assert_eq!((flow.drops, flow.retransmissions), (0, 0));
}

#[test]
fn percentiles_of_a_group_are_of_all_its_responses() {
    let text = "duration = \"4 s\"\n[host.a]\n[host.b]\ncount = 2\n[router.r]\n\
                [link.a]\nbetween = [\"a\", \"r\"]\nrate = \"100 Mbit/s\"\n\
                [link.near]\nbetween = [\"r\", \"b.1\"]\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
                [link.far]\nbetween = [\"r\", \"b.2\"]\nrate = \"100 Mbit/s\"\ndelay = \"50 ms\"\n\
                [flow.get]\nfrom = \"a\"\nto = \"b\"\n\
                exchange = { request = \"100 B\", response = \"100 B\" }\n";
    let summary = driver::summary(&driver::plan(text));
    // A response takes a round trip, and 1/16 is what a percentile is known to.
    let is = |seconds: Option<f64>, ms: f64| {
        let seconds = seconds.expect("it was measured");
        assert!((ms..=ms * 1.07).contains(&(seconds * 1e3)), "{seconds} s, not {ms} ms");
    };
    for (name, ms) in [("get.1", 10.0), ("get.2", 100.0)] {
        let flow =
            summary.flow.get(name).and_then(|flow| flow.results.exchanges.clone()).expect("asks");
        is(flow.response_p50_seconds, ms);
        is(flow.response_p95_seconds, ms);
        assert!(flow.response_p99_seconds.expect("measured") <= flow.response_max_seconds);
    }
    // Ten responses of the near one to one of the far one.
    let group =
        summary.group.get("get").and_then(|group| group.results.exchanges.clone()).expect("asks");
    assert!((400..=450).contains(&group.completed), "{group:?}");
    is(group.response_p50_seconds, 10.0);
    is(group.response_p95_seconds, 100.0);
    is(group.response_p99_seconds, 100.0);
}

#[test]
fn requests_keep_their_time_unless_the_response_is_late() {
    let every = |time: &str, response: &str| {
        let flow = format!(
            r#"exchange = {{ request = "100 B", response = "{response}", every = "{time}" }}"#
        );
        let flow = path("2.05 s", &flow).flow.get("one").expect("the flow").clone();
        (flow.results.exchanges.expect("it asks").completed, flow.bytes)
    };
    // From 10 ms on, when it is connected, one each 100 ms.
    assert_eq!(every("100 ms", "50 kB"), (21, 21 * 50_000));
    let (completed, bytes) = every("10 ms", "1 MB");
    // 1 MB takes 83 ms and more at 96 Mbit/s of payload.
    assert!((15..25).contains(&completed), "{completed}");
    assert!(bytes >= completed * 1_000_000);
}

#[test]
fn a_user_thinks_between_response_and_request() {
    let think = |time: &str| {
        let exchange = r#"exchange = { request = "1000 B", response = "1000 B", think = ""#;
        let flow = path("60 s", &format!("{exchange}{time}\" }}"));
        let flow =
            flow.flow.get("one").expect("the flow").results.exchanges.clone().expect("it asks");
        (flow.completed as f64, flow.response_mean_seconds)
    };
    // The mean of n exponential times has a standard deviation of 1 / sqrt(n): 4 % here.
    for (time, mean, tolerance) in [("100 ms", 0.1, 0.002), ("exponential 100 ms", 0.1, 0.12)] {
        let (completed, response) = think(time);
        let expected = 59.99 / (mean + response);
        assert!((completed / expected - 1.0).abs() < tolerance, "{time}: {completed}");
    }
}

#[test]
fn both_ends_draw_the_same_sizes_and_close_after_the_last() {
    let asked = |count: u32| {
        let sizes = r#"request = "1 B..20 kB", response = "pareto 20 kB 1.5""#;
        let exchange = format!("exchange = {{ {sizes}, count = {count} }}");
        path("20 s", &exchange).flow.get("one").expect("the flow").clone()
    };
    let [first, second] = [asked(200), asked(201)];
    let exchanges = second.results.exchanges.expect("it asks");
    assert_eq!(exchanges.completed, 201);
    // A server that took another size for a request's would answer too early or never.
    assert!(second.bytes > first.bytes);
    // The sum of the first 200 draws; every reader of this stream draws the same.
    let draws = |key: &str, of: base::Distribution<base::Bytes>| {
        let mut random = base::Random::new(1, &format!("one {key}"));
        (0..200).map(|_| of.draw(&mut random).0.max(1)).sum::<u64>()
    };
    let pareto = base::Distribution::Pareto { mean: base::Bytes(20_000), shape: 1_500 };
    assert_eq!(first.bytes, draws("response", pareto));
}

#[test]
fn samples_of_an_exchange_are_of_the_responses() {
    let plan = plan("2 s", r#"exchange = { request = "100 B", response = "1 MB" }"#);
    let mut recorder = record::Recorder::new(&plan, None).expect("tables in memory");
    let totals = driver::totals_observed(&plan, &mut recorder);
    let recording = recorder.finish(&totals).expect("tables in memory");
    let (rows, _) = recording.flows.rows().expect("tables in memory");
    let last = rows.last().expect("it is sampled");
    assert!(totals.flows[0].received.0.abs_diff(last.received_bytes) < 100_000, "{last:?}");
    assert!(last.cwnd_packets > 50, "the window of whoever answers: {last:?}");
}

#[test]
fn an_exchange_that_stops_asks_no_more() {
    let stopped =
        path("2 s", "stop = \"1 s\"\nexchange = { request = \"1 kB\", response = \"1 kB\" }");
    let all = path("2 s", "exchange = { request = \"1 kB\", response = \"1 kB\" }");
    let completed = |summary: &record::Summary| {
        summary
            .flow
            .get("one")
            .and_then(|flow| flow.results.exchanges.as_ref())
            .expect("asks")
            .completed
    };
    assert!(completed(&stopped).abs_diff(completed(&all) / 2) <= 1);
}

#[test]
fn what_takes_a_real_kernel_is_refused() {
    let refused = |flow: &str| {
        let text = format!(
            "duration = \"1 s\"\n[host.a]\n[host.b]\n[link.l]\nbetween = [\"a\", \"b\"]\n\
             rate = \"1 Gbit/s\"\n[flow.f]\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
        );
        let quiet = std::sync::atomic::AtomicBool::new(false);
        let steering = simulate::Steering { interrupted: &quiet, progress: &|_| {} };
        let refusal = simulate::run(&driver::plan(&text), &mut (), steering);
        refusal.map(drop).expect_err("refused").to_string()
    };
    assert_eq!(
        refused("program = \"ping {to}\""),
        "flow `f` runs a program, which requires a real kernel\n  help: give its hosts a `kernel`, or run it with \
         --on lab"
    );
    let kernel = refused("congestion = \"kernel:bbr\"");
    assert!(kernel.contains("--on lab, or use one of bbr, bbr3, bic,"), "{kernel}");
}

#[test]
fn what_takes_a_real_kernel_is_left_out_and_the_rest_is_simulated() {
    let alone = r#"
duration = "3 s"
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
[flow.rest]
from = "a"
to = "b"
"#;
    let more = r#"
[flow.load]
from = "a"
to = "b"
count = 2
program = "iperf3 -c {to} -p {port}"
[flow.bbr]
from = "a"
to = "b"
congestion = "kernel:bbr"
[expect.flow.load]
goodput = { min = "1 MB/s" }
[expect.flow.rest]
goodput = { min = "1 MB/s" }
"#;
    let mut plan = driver::plan(&(alone.to_owned() + more));
    let left_out = simulate::leave_out(&mut plan);
    assert_eq!(
        left_out,
        [
            "flow `load` (2) runs a program",
            "flow `bbr` has the kernel's own congestion control `bbr`",
            "`flow.load.goodput` is not judged",
        ]
    );
    assert_eq!(plan.expectations.len(), 1, "that of what is simulated is judged");
    let summary = driver::summary(&plan);
    let names: Vec<_> = summary.flow.0.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, summary.group.is_empty()), (vec!["rest"], true));
    let undisturbed = driver::summary(&driver::plan(alone));
    assert_eq!(summary.flow.get("rest"), undisturbed.flow.get("rest"));
}

#[test]
fn a_frame_longer_than_a_links_mtu_is_dropped_there() {
    let text = r#"
duration = "5 s"
[host.a]
[router.r]
[host.b]
[link.wide]
between = ["a", "r"]
rate = "1 Gbit/s"
mtu = "9000 B"
[link.narrow]
between = ["r", "b"]
rate = "1 Gbit/s"
mtu = "MTU"
[flow.one]
from = "a"
to = "b"
tcp.segment.mtu = "9000 B"
receiver_tcp.segment.mtu = "9000 B"
bytes = "1 MB"
"#;
    let at = |mtu: &str| driver::summary(&driver::plan(&text.replace("MTU", mtu)));
    let narrow = at("8999 B");
    let forward = &narrow.link.get("narrow").expect("the link").forward;
    assert!(forward.drops > 0);
    assert_eq!(forward.drops_by_reason.get("too_long"), Some(&forward.drops));
    assert_eq!(narrow.flow.get("one").expect("the flow").bytes, 0, "only the handshake passes");
    let wide = at("9000 B");
    assert_eq!(wide.run.drops, 0);
    assert!(wide.flow.get("one").expect("the flow").completed);
}
