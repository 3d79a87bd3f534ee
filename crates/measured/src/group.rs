//! Results of the flows that one entry of the scenario made.

use crate::Named;
use crate::completion::{Completion, of_sizes};
use crate::datagrams::DatagramSummary;
use crate::declare::measured;
use crate::fairness::jain;
use crate::goodput::{busy, goodput};
use crate::member::Member;
use crate::results::GroupResults;
use crate::totals::FlowTotals;

measured! {
    /// Flows that one entry of the scenario made.
    pub struct Group at "";
    /// Sums up the flows of a group.
    of(members: &[Member<'_>])
    let totals = members.iter().map(|member| member.totals);
    let goodputs = members.iter().map(|member| member.goodput);
    let datagrams = totals.clone();
    let datagrams =
        datagrams.filter_map(|flow| Some(DatagramSummary::of(flow, flow.delay.as_deref()?)));
    let seconds = busy(totals.clone()).as_secs_f64();
    // Flows that are cut off at the start would look short.
    let sized = members.iter().map(|member| {
        (member, member.ideal.filter(|_| member.totals.began_measured()))
    });
    let (completion, size) = of_sizes(sized).unzip();
    {
        /// How many.
        flows: u64 = members.len() as u64, Number None Neither "flows"
            what "Number of flows of a `count` or a `matrix`.".row(1);
        /// Bytes that their receivers read, per second of the time in which any of them ran.
        goodput: f64 = goodput(totals.clone()), Rate None Higher "goodput"
            what "Bytes that their receivers read, per second of the time during which any of them ran.";
        /// The least of their own goodputs, bytes per second.
        goodput_min: f64 = goodputs.clone().reduce(f64::min).unwrap_or(0.0),
            Rate None Higher "min goodput"
            what "Min of the goodputs of the flows of a `count` or a `matrix`.";
        /// The greatest of their own goodputs, bytes per second.
        goodput_max: f64 = goodputs.clone().reduce(f64::max).unwrap_or(0.0),
            Rate None Higher "max goodput"
            what "Max of the goodputs of the flows of a `count` or a `matrix`.";
        /// Bytes that their receivers read.
        bytes: u64 = totals.clone().map(|flow| flow.received.0).sum(),
            Size None Higher "received".row(1);
        /// Jain's index over their own goodputs.
        fairness: f64 = jain(goodputs), Ratio None Higher "fairness"
            what "Jain's index over the goodputs of the flows of a `count` or a `matrix`.";
        /// Packets dropped anywhere on the way.
        drops: u64 = totals.clone().map(|flow| flow.drops).sum(), Number None Lower "drops"
            what "Packets dropped anywhere on the path.".row(1);
        /// Packets that arrived with a congestion mark (CE), of either direction.
        #[serde(default)]
        marks: u64 = totals.clone().map(|flow| flow.marks).sum(), Number None Lower "marks"
            what "Packets received with a congestion mark (CE), both directions.".row(1);
        /// Retransmissions.
        retransmissions: u64 = members.iter().map(|flow| flow.retransmissions).sum(),
            Number None Lower "retransmissions" what "Retransmitted segments.".row(1);
        /// Retransmission timeouts.
        timeouts: u64 = members.iter().map(|flow| flow.timeouts).sum(),
            Number None Lower "timeouts".row(1);
        /// What became of their datagrams, if they send such: the mean delay of all, the longest, and the
        /// greatest jitter of any.
        #[serde(skip_serializing_if = "Option::is_none")]
        datagrams: Option<DatagramSummary> = datagrams.reduce(DatagramSummary::and);
        /// The results of their workload.
        #[serde(flatten)]
        results: GroupResults = GroupResults::of(totals.flat_map(FlowTotals::results), seconds);
        /// Completion times, if they are of a set size.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        completion: Option<Completion> = completion;
        /// Completion of flows of about one size: `to_10_kB`, `to_100_kB` and so on.
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        size: Named<Completion> = size.unwrap_or_default();
    }
}
