//! Ports that send ahead of time have the results of those that wait: everything counted is the same, except for the number
//! of events.

use network::{Event, Observer};
use proptest::prelude::*;
use record::totals::EngineTotals;

use crate::driver;

/// Needs the packets of all ports in the order of time, so that none is sent ahead.
struct Watches;

impl Observer for Watches {
    fn on(&mut self, _: Event<'_>) {}
}

/// All that a run counts, apart from its events, which come second.
fn counted(text: &str, ahead: bool) -> (String, u64) {
    let plan = driver::plan(text);
    let mut totals =
        if ahead { driver::totals(&plan) } else { driver::totals_observed(&plan, &mut Watches) };
    let EngineTotals { events, .. } = totals.engine;
    totals.engine.events = 0;
    (format!("{totals:?}"), events)
}

/// Rates that divide each other, so that packets often arrive exactly when others leave, and one that does not.
const RATES: [&str; 4] = ["10 Mbit/s", "20 Mbit/s", "100 Mbit/s", "17 Mbit/s"];
const QUEUES: [&str; 4] = ["packets = 2", "packets = 7", "bytes = '9 kB'", "packets = 1000"];

/// Senders of each kind over a dumbbell: greedy ones, some that start and stop, datagrams.
fn text(rates: [usize; 3], queues: [usize; 2], delay: u32, control: usize, stop: bool) -> String {
    let [access, core, egress] = rates.map(|rate| RATES[rate]);
    let [first, second] = queues.map(|queue| QUEUES[queue]);
    let congestion = ["cubic", "bbr", "newreno", "dctcp"][control];
    let bytes = if stop { "bytes = '40 kB'" } else { "" };
    format!(
        "duration = '900 ms'
        [host.s]
        count = 3
        [router.r1]
        [router.r2]
        [host.d]
        count = 3
        [link.in]
        between = ['s', 'r1']
        rate = '{access}'
        delay = '{delay} us'
        at.s.queue.fifo = {{ {second} }}
        [link.core]
        between = ['r1', 'r2']
        rate = '{core}'
        delay = '3 ms'
        queue.fifo = {{ {first} }}
        [link.out]
        between = ['r2', 'd']
        rate = '{egress}'
        delay = '{delay} us'
        queue.fifo = {{ {second} }}
        [flow.greedy]
        from = 's'
        to = 'd'
        congestion = '{congestion}'
        [flow.back]
        from = 'd'
        to = 's'
        {bytes}
        start = '100 ms'
        [flow.call]
        from = 's.1'
        to = 'd.2'
        datagrams = {{ rate = '3 Mbit/s', size = '1000 B' }}
        [measure]
        from = '200 ms'
        [probe]
        queues.every = '70 ms'"
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn ports_that_look_ahead_change_no_result(
        rates in [0..4_usize, 0..4, 0..4],
        queues in [0..4_usize, 0..4],
        delay in prop::sample::select(vec![1_u32, 400, 1_216]),
        control in 0..4_usize,
        stop: bool,
    ) {
        let text = text(rates, queues, delay, control, stop);
        let ((ahead, fewer), (waiting, events)) = (counted(&text, true), counted(&text, false));
        prop_assert!(fewer < events, "{} of {} events", fewer, events);
        prop_assert_eq!(ahead, waiting);
    }
}
