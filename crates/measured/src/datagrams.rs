//! Results of datagrams.

use network::datagram::Delay;

use crate::declare::measured;
use crate::mean::{mean_seconds, per};
use crate::totals::FlowTotals;

measured! {
    /// What became of a flow's datagrams, from the sending program to the receiving one.
    pub struct DatagramSummary at "datagrams.": Datagrams and;
    /// Sums up the datagrams of a flow.
    of(flow: &FlowTotals, delay: &Delay)
    let (sender, receiver) = (flow.sender.get(), flow.receiver.get());
    {
        /// Datagrams sent.
        sent: u64 = sender.segments_sent, Number Sum Neither "sent".row(4);
        /// Datagrams received.
        received: u64 = receiver.segments_received, Number Sum Higher "received".row(4);
        /// Sent and lost: neither received nor still under way at the end of the run.
        lost: u64 = flow.datagrams_lost(), Number Sum Lower "lost"
            what "Datagrams neither received nor in flight at the end.".row(4);
        /// Their share of those sent.
        loss: f64 => |all| per(all.lost as f64, all.sent as f64), Share None Lower "loss"
            what "Datagrams lost, as a share of those sent.".row(5);
        /// Received with a congestion mark.
        marked: u64 = receiver.ecn_marks, Number Sum Lower "marked"
            what "Datagrams received with a congestion mark.".row(4).detail();
        /// Mean one-way delay, seconds.
        delay_mean_seconds: f64 =
            mean_seconds(delay.sum, receiver.segments_received).unwrap_or_default(),
            Time Mean(received) Lower "mean delay" what "Mean one-way delay of its datagrams."
            .name("delay_mean").samples("datagrams.received").compared().row(1);
        /// The longest one-way delay, seconds.
        delay_max_seconds: f64 = delay.max.as_secs_f64(),
            Time Max Lower "max delay" what "Max one-way delay of its datagrams."
            .name("delay_max").samples("datagrams.received").compared().row(1);
        /// Interarrival jitter at the end (RFC 3550, section 6.4.1), seconds.
        jitter_seconds: f64 = delay.jitter().as_secs_f64(), Time Max Lower "interarrival jitter (RFC 3550)"
            what "Interarrival jitter at the end (RFC 3550, section 6.4.1).".row(5).detail();
        /// Mean magnitude of the delay variation from one datagram to the next received (IPDV, RFC 3393).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        jitter_mean_seconds: Option<f64> = mean_seconds(delay.variation.sum, delay.variation.samples),
            Time Mean(received) Lower "jitter"
            .name("jitter").samples("datagrams.received").compared().row(1);
    }
}

#[cfg(test)]
mod tests {
    use base::Duration;
    use transport::{Info, PackedInfo};

    use super::*;

    /// Datagrams with these delays, in milliseconds.
    fn received(delays: &[u64]) -> DatagramSummary {
        let mut counted = Delay::default();
        for delay in delays {
            counted.add(Duration::from_ms(*delay));
        }
        let datagrams = delays.len() as u64;
        let sender = Info { segments_sent: datagrams, ..Info::default() };
        let receiver = Info { segments_received: datagrams, ..Info::default() };
        let [sender, receiver] = [sender, receiver].map(PackedInfo::from);
        let flow = FlowTotals { sender, receiver, ..FlowTotals::default() };
        DatagramSummary::of(&flow, &counted)
    }

    #[test]
    fn jitter_is_the_mean_change_of_the_delay() {
        let jitter = |delays: &[u64]| received(delays).jitter_mean_seconds;
        assert_eq!(jitter(&[10, 30, 20]), Some(0.015));
        assert_eq!(jitter(&[10, 10, 10]), Some(0.0));
        assert_eq!([jitter(&[10]), jitter(&[])], [None, None]);
    }

    #[test]
    fn a_merge_weights_means_by_the_datagrams_received() {
        // The delay changes by 20 ms between the 3 datagrams, and by 4 ms between the 5.
        let [a, b] = [received(&[10, 30, 10]), received(&[2, 6, 2, 6, 2])];
        let all = a.clone().and(b);
        assert_eq!(all.jitter_mean_seconds, Some((3.0 * 0.02 + 5.0 * 0.004) / 8.0));
        assert_eq!((all.received, all.delay_max_seconds), (8, 0.03));
        assert_eq!(a.and(received(&[])).jitter_mean_seconds, Some(0.02), "none has no weight");
    }
}
