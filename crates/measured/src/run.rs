//! Results of the run as a whole.

use base::Instant;

use crate::declare::measured;
use crate::fairness::fairness;
use crate::goodput::goodput;
use crate::mean::per;
use crate::member::Member;
use crate::totals::{Drops, Ending};

/// What the results of the run as a whole need.
#[derive(Clone, Copy, Debug)]
pub struct RunTotals<'t> {
    /// The scenario's title.
    pub title: &'t str,
    /// The seed.
    pub seed: u64,
    /// How it ended.
    pub ending: Ending,
    /// The start and the end of the part that is measured, if not all is.
    pub measured: Option<[Instant; 2]>,
    /// Packets dropped anywhere.
    pub drops: Drops,
    /// Its flows that have results.
    pub flows: &'t [Member<'t>],
}

measured! {
    /// The run as a whole.
    pub struct Run at "";
    /// Sums up a run.
    of(run: &RunTotals<'_>)
    let flows = || run.flows.iter();
    let ends = |flow: &Member<'_>| [&flow.totals.sender, &flow.totals.receiver].map(|end| end.get());
    let sent = |flow: &Member<'_>| ends(flow).iter().map(|end| end.segments_sent).sum::<u64>();
    // A program that sent nothing ran for itself. How much a program could send is not known.
    let moved = run.flows.iter().filter(|f| !f.program || f.totals.received.0 > 0);
    {
        /// What the scenario calls itself.
        title: String = run.title.to_owned();
        /// The seed.
        seed: u64 = run.seed, Number None Neither "seed" what "The seed.".row(4);
        /// Simulated seconds.
        seconds: f64 = run.ending.at.as_secs_f64(), Duration None Neither "duration"
            what "Duration of the run.".row(3);
        /// The time from which everything is counted, where only a part of the run is measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        measured_from_seconds: Option<f64> = run.measured.map(|[from, _]| from.as_secs_f64()),
            Duration None Neither "measured from"
            what "Start of the measurement interval, where only a part of the run is measured."
            .name("measured_from").row(3);
        /// The time until which everything is counted, where only a part of the run is measured.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        measured_until_seconds: Option<f64> = run.measured.map(|[_, until]| until.as_secs_f64()),
            Duration None Neither "measured until"
            what "End of the measurement interval, where only a part of the run is measured."
            .name("measured_until").row(3);
        /// Whether the plan's duration was reached; in the lab also where all flows were programs that had ended.
        complete: bool = run.ending.complete, Number None Higher "complete"
            what "1 if the run reached its planned duration.".row(3);
        /// How many flows there were.
        flows: u64 = run.flows.len() as u64, Number None Neither "flows" what "Number of flows.".row(2);
        /// Bytes that all receiving programs read, per second of the time in which any flow ran. Of flows that are
        /// programs of their own it is the payload that the network carried, both ways; one that sent none does not count.
        goodput: f64 = goodput(moved.map(|member| member.totals)), Rate None Higher "goodput"
            what "Bytes that all receiving programs read, and the payload of programs in both directions, per second of the time during which any flow ran."
            .compared();
        /// Bytes that all receiving programs read, and the payload of programs, both ways.
        bytes: u64 = flows().map(|flow| flow.totals.received.0).sum(), Size None Higher "received"
            what "Bytes that all receiving programs read, and the payload of programs in both directions."
            .row(1);
        /// Jain's index (Jain, Chiu, Hawe 1984) over the own goodputs of the flows that compete: bulk TCP flows,
        /// which send what they can, and all flows where there is no such one. 1 when all are equal, 1/n when one
        /// has all; 0 when nothing arrived. Programs do not count.
        fairness: f64 = fairness(run.flows), Ratio None Higher "fairness"
            what "Jain's index over the goodputs of bulk TCP flows, or of all flows if there are none; 1 means equal shares."
            .compared();
        /// Packets dropped anywhere.
        drops: u64 = run.drops.total(), Number None Lower "drops".compared();
        /// Drops as a share of all packets that both ends of all flows sent; 0 when none were.
        loss: f64 = per(run.drops.total() as f64, run.flows.iter().map(sent).sum::<u64>() as f64),
            Share None Lower "loss"
            what "Packets dropped anywhere, as a share of the packets sent by flows.".compared();
        /// Retransmissions.
        retransmissions: u64 = flows().map(|flow| flow.retransmissions).sum(),
            Number None Lower "retransmissions" what "Retransmitted segments.".compared();
        /// Retransmission timeouts.
        timeouts: u64 = flows().map(|flow| flow.timeouts).sum(), Number None Lower "timeouts"
            .compared();
    }
}
