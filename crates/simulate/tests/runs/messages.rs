//! Small messages over modelled TCP, of any size, buffer and MTU: all of them arrive, at the pace that the path
//! permits. In debug builds the simulator asserts at the end of each run that no flow stalled.

use applications::event_builder::Events;
use applications::exchange::Exchanges;
use applications::mpi::rank::RankTotals;
use base::Duration;
use proptest::prelude::*;
use record::FlowTotals;

use crate::driver;

/// One flow over 1 Gbit/s and 1 ms, with the settings `flow`.
fn text(duration: &str, mtu: u32, flow: &str) -> String {
    format!(
        r#"
        duration = "{duration}"
        [host.a]
        [host.b]
        [link.l]
        between = ["a", "b"]
        rate = "1 Gbit/s"
        delay = "1 ms"
        mtu = "{mtu} B"
        [flow.f]
        from = "a"
        to = "b"
        {flow}
        "#
    )
}

/// Two ranks over the same path, with the job `mpi` and the settings `flow`.
fn ranks(mtu: u32, mpi: &str, flow: &str) -> String {
    format!(
        r#"
        duration = "9 s"
        [host.n]
        count = 2
        [link.l]
        between = ["n.1", "n.2"]
        rate = "1 Gbit/s"
        delay = "1 ms"
        mtu = "{mtu} B"
        [flow.f]
        from = "n"
        to = "n"
        mpi = {{ {mpi} }}
        {flow}
        "#
    )
}

fn flow(text: &str) -> FlowTotals {
    driver::totals(&driver::plan(text)).flows.swap_remove(0)
}

#[test]
fn exchanges_of_one_byte_go_on() {
    let flow = flow(&text("5 s", 1_500, "exchange = { request = \"1 B\", response = \"1 B\" }"));
    let completed = flow.counts::<Exchanges>().expect("it asks").completed;
    // Linux 6.12 completes 2 487; a round trip of 2 ms lets 2 499 go.
    assert!((2_487..=2_499).contains(&completed), "{completed}");
}

/// Cases drawn: more by `MESSAGE_CASES`.
fn cases() -> u32 {
    std::env::var("MESSAGE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(32)
}

const MTUS: [u32; 4] = [576, 1_280, 1_500, 9_000];

/// Send buffers of `bytes` bytes at both ends.
fn fixed(bytes: u32) -> String {
    format!("tcp.buffers.send = \"{bytes} B\"\nreceiver_tcp.buffers.send = \"{bytes} B\"\n")
}

/// The send buffers of both ends, tuned or fixed; every message fits into them.
fn buffers() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), (65_536..1_000_000_u32).prop_map(fixed)]
}

/// An MTU, and a size of up to three of its segments.
fn sizes() -> impl Strategy<Value = (u32, u32)> {
    let mtu = prop::sample::select(&MTUS[..]);
    mtu.prop_flat_map(|mtu| (Just(mtu), prop_oneof![1..20_u32, 1..3 * (mtu - 40)]))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    /// Requests and responses of any size complete: neither faster than round trips, nor slower than a few of
    /// them.
    #[test]
    fn exchanges_go_on_to_the_end(
        (mtu, request) in sizes(),
        response in 1..4_000_u32,
        buffers in buffers(),
    ) {
        let load = format!("exchange = {{ request = \"{request} B\", response = \"{response} B\" }}");
        let flow = flow(&text("1 s", mtu, &(buffers + &load)));
        let completed = flow.counts::<Exchanges>().expect("it asks").completed;
        prop_assert_eq!(flow.received.0 / u64::from(response), completed);
        prop_assert!((300..500).contains(&completed), "{}", completed);
    }

    /// With a buffer of a few segments, less than a message, each message waits for ACKs, even delayed ones.
    #[test]
    fn exchanges_go_on_in_little_buffers(
        (mtu, request) in sizes(),
        response in 1..4_000_u32,
        segments in 2..8_u32,
    ) {
        let load = format!("exchange = {{ request = \"{request} B\", response = \"{response} B\" }}");
        let flow = flow(&text("1 s", mtu, &(fixed(segments * mtu) + &load)));
        let completed = flow.counts::<Exchanges>().expect("it asks").completed;
        prop_assert_eq!(flow.received.0 / u64::from(response), completed);
        prop_assert!((3..500).contains(&completed), "{}", completed);
    }

    /// Every fragment of every event arrives, pushed or pulled.
    #[test]
    fn events_of_any_size_are_completed(
        (mtu, fragment) in sizes(),
        pull in any::<bool>(),
        buffers in buffers(),
    ) {
        let mode = if pull { "pull" } else { "push" };
        let load = format!(
            "events = {{ fragment = \"{fragment} B\", every = \"3 ms\", count = 250, mode = \"{mode}\" }}"
        );
        let flow = flow(&text("2 s", mtu, &(buffers + &load)));
        let events = flow.counts::<Events>().expect("a builder's source");
        prop_assert_eq!((events.completed, events.fragments), (250, 250));
        prop_assert_eq!(flow.received.0, 250 * u64::from(fragment));
    }

    /// A train's messages arrive whole, and so do the requests and answers of a ping.
    #[test]
    fn trains_and_pings_go_on_to_the_end(
        (mtu, message) in sizes(),
        train in any::<bool>(),
        buffers in buffers(),
    ) {
        if train {
            let load = format!("train = {{ message = \"{message} B\", every = \"4 ms\" }}");
            let received = flow(&text("999 ms", mtu, &(buffers + &load))).received.0;
            let messages = received / u64::from(message);
            prop_assert!((248..=250).contains(&messages), "{}", messages);
        } else {
            let load = "ping = { every = \"4 ms\" }";
            let flow = flow(&text("999 ms", mtu, &(buffers + load)));
            let completed = flow.counts::<Exchanges>().expect("it asks").completed;
            prop_assert!((248..=250).contains(&completed), "{}", completed);
        }
    }

    /// Ranks exchange messages of any size to the last iteration: eagerly in one way each, or by a request and an
    /// answer to it in three. Each message has a header, and so do requests and answers.
    #[test]
    fn ranks_go_on_to_their_end(
        (mtu, message) in sizes(),
        is_eager in any::<bool>(),
        progress in prop::sample::select(&["calls", "always"][..]),
        buffers in buffers(),
    ) {
        const ITERATIONS: u64 = 100;
        let eager_max = if is_eager { message } else { message - 1 };
        let job = format!(
            "steps = \"alltoall {message} B\", iterations = {ITERATIONS}, eager_max = \"{eager_max} B\", \
             header = \"40 B\", progress = \"{progress}\""
        );
        let flow = flow(&ranks(mtu, &job, &buffers));
        let (headers, ways) = if is_eager { (1, 1) } else { (3, 3) };
        let carried = ITERATIONS * (u64::from(message) + headers * 40);
        prop_assert_eq!([flow.sender.get().bytes_read, flow.receiver.get().bytes_read], [carried; 2]);
        for results in &flow.results {
            let rank = results.as_ref().and_then(|results| results.get::<RankTotals>()).expect("a rank at each end");
            prop_assert_eq!((rank.messages, rank.bytes), (ITERATIONS, ITERATIONS * u64::from(message)));
            let time = rank.finished.expect("it ends").since(rank.started.expect("it begins"));
            let least = Duration::from_ms(ways * ITERATIONS);
            prop_assert!(least <= time && time < least.times(3), "{:?}: {:?}", least, time);
        }
    }
}
