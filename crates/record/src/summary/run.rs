//! The run as a whole, and the flows of a `count` together.

use base::{Duration, Instant};
use measured::{Completion, GroupResults, per};
use scenario::plan::{Flow, Plan, Transport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::completion::{Ideal, ideal, sum_completion};
use super::{DatagramSummary, FlowSummary, Named};
use crate::totals::{Drops, FlowTotals, Totals};

/// The run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// What the scenario calls itself.
    pub title: String,
    /// The seed.
    pub seed: u64,
    /// Simulated seconds.
    pub seconds: f64,
    /// The time from which everything is counted, where only a part of the run is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_from_seconds: Option<f64>,
    /// The time until which everything is counted, where only a part of the run is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_until_seconds: Option<f64>,
    /// Whether the plan's duration was reached; in the lab also where all flows were programs that had ended.
    pub complete: bool,
    /// How many flows there were.
    pub flows: u64,
    /// Bytes that all receiving programs read, per second of the time in which any flow ran. Of flows that are
    /// programs of their own it is the payload that the network carried, both ways; one that sent none does not count.
    pub goodput: f64,
    /// Bytes that all receiving programs read, and the payload of programs, both ways.
    pub bytes: u64,
    /// Jain's index (Jain, Chiu, Hawe 1984) over the own goodputs of the flows that compete: bulk TCP flows,
    /// which send what they can, and all flows where there is no such one. 1 when all are equal, 1/n when one
    /// has all; 0 when nothing arrived. Programs do not count.
    pub fairness: f64,
    /// Packets dropped anywhere.
    pub drops: u64,
    /// Drops as a share of all packets that both ends of all flows sent; 0 when none were.
    pub loss: f64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

/// Flows that one entry of the scenario made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Group {
    /// How many.
    pub flows: u64,
    /// Bytes that their receivers read, per second of the time in which any of them ran.
    pub goodput: f64,
    /// The least of their own goodputs, bytes per second.
    pub goodput_min: f64,
    /// The greatest of their own goodputs, bytes per second.
    pub goodput_max: f64,
    /// Bytes that their receivers read.
    pub bytes: u64,
    /// Jain's index over their own goodputs.
    pub fairness: f64,
    /// Packets dropped anywhere on the way.
    pub drops: u64,
    /// Packets that arrived with a congestion mark (CE), of either direction.
    #[serde(default)]
    pub marks: u64,
    /// Retransmissions.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// What became of their datagrams, if they send such: the mean delay of all, the longest, and the
    /// greatest jitter of any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramSummary>,
    /// The results of their workload.
    #[serde(flatten)]
    pub results: GroupResults,
    /// Completion times, if they are of a set size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
    /// Completion of flows of about one size: `to_10_kB`, `to_100_kB` and so on.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub size: Named<Completion>,
}

/// A flow with its totals.
type FlowWithTotals<'a> = (&'a Flow, &'a FlowTotals);

pub(super) fn sum_run(
    plan: &Plan,
    totals: &Totals,
    known: &[FlowWithTotals<'_>],
    flows: &[(String, FlowSummary)],
) -> Run {
    let mut drops = Drops::default();
    totals.ports.iter().for_each(|p| drops.add(&p.drops));
    totals.nodes.iter().for_each(|n| drops.add(&n.drops));
    let sent = known.iter().map(|(_, f)| f.sender.segments_sent + f.receiver.segments_sent);
    // A program that sent nothing ran for itself. How much a program could send is not known.
    let is_program = |flow: &Flow| matches!(flow.transport, Transport::Program(_));
    let moved = known.iter().filter(|(f, t)| !is_program(f) || t.received.0 > 0);
    let own = known.iter().zip(flows).filter(|((f, _), _)| !is_program(f));
    Run {
        title: plan.title.clone(),
        seed: plan.seed,
        seconds: totals.ending.at.as_secs_f64(),
        measured_from_seconds: totals.measured.map(|window| window.from.as_secs_f64()),
        measured_until_seconds: totals.measured.map(|window| window.until.as_secs_f64()),
        complete: totals.ending.complete,
        flows: flows.len() as u64,
        goodput: goodput(moved.map(|(_, t)| *t)),
        bytes: flows.iter().map(|(_, f)| f.bytes).sum(),
        fairness: fairness(own.map(|((plan, _), (_, f))| (*plan, f.goodput))),
        drops: drops.total(),
        loss: per(drops.total() as f64, sent.sum::<u64>() as f64),
        retransmissions: flows.iter().map(|(_, f)| f.retransmissions).sum(),
        timeouts: flows.iter().map(|(_, f)| f.timeouts).sum(),
    }
}

/// Returns Jain's index over the flows that send as much as they can, as a flow of a set rate does not compete with
/// the others. If every flow has a rate of its own, or waits for responses, the index is over all.
fn fairness<'p>(flows: impl Iterator<Item = (&'p Flow, f64)> + Clone) -> f64 {
    let greedy = |flow: &Flow| flow.tcp().is_some_and(|tcp| tcp.workload.is_greedy());
    let some_greedy = flows.clone().any(|(flow, _)| greedy(flow));
    let competing = flows.filter(|(flow, _)| !some_greedy || greedy(flow));
    jain(competing.map(|(_, goodput)| goodput))
}

/// The name that a flow shares with the others of its `count`: `bulk` of `bulk.7`.
pub fn group_of(name: &str) -> Option<&str> {
    let (group, number) = name.rsplit_once('.')?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(group)
}

/// The groups of flows, each with its number in the plan.
pub(super) fn sum_groups(
    plan: &Plan,
    numbers: &[usize],
    known: &[FlowWithTotals<'_>],
    flows: &[(String, FlowSummary)],
) -> Vec<(String, Group)> {
    let known = known.iter().zip(numbers);
    let known = known.map(|(&(flow, t), &number)| (t, ideal(plan, flow, number)));
    let all: Vec<_> = flows.iter().zip(known).collect();
    // The flows of one count form a group.
    let groups = all.chunk_by(|((a, _), _), ((b, _), _)| group_of(a) == group_of(b));
    let named = groups.filter_map(|members| Some((group_of(&members.first()?.0.0)?, members)));
    named.map(|(name, members)| (name.to_owned(), sum_group(members))).collect()
}

/// A flow's summary with its name, and its totals with its ideal time.
type Member<'a> = (&'a (String, FlowSummary), (&'a FlowTotals, Option<Ideal>));

fn sum_group(group: &[Member<'_>]) -> Group {
    let members = group.iter().map(|((_, flow), _)| flow);
    let goodputs = members.clone().map(|f| f.goodput);
    let completion = sum_completion(group.iter().map(|&((_, flow), (t, ideal))| {
        // Flows that are cut off at the start would look short.
        (flow, ideal.filter(|_| t.began_measured()))
    }));
    let (completion, size) = completion.unzip();
    let totals = group.iter().map(|&(_, (t, _))| t);
    let seconds = busy(totals.clone()).as_secs_f64();
    Group {
        flows: group.len() as u64,
        goodput: goodput(totals.clone()),
        goodput_min: goodputs.clone().reduce(f64::min).unwrap_or(0.0),
        goodput_max: goodputs.clone().reduce(f64::max).unwrap_or(0.0),
        bytes: members.clone().map(|f| f.bytes).sum(),
        fairness: jain(goodputs),
        drops: members.clone().map(|f| f.drops).sum(),
        marks: members.clone().map(|f| f.marks).sum(),
        retransmissions: members.clone().map(|f| f.retransmissions).sum(),
        timeouts: members.clone().map(|f| f.timeouts).sum(),
        datagrams: members.filter_map(|f| f.datagrams.clone()).reduce(DatagramSummary::and),
        results: GroupResults::of(totals.flat_map(FlowTotals::results), seconds),
        completion,
        size: size.unwrap_or_default(),
    }
}

/// Returns the bytes that the flows received, per second of the time in which any of them ran: no more than the links
/// carry, regardless of when each of them began and ended.
fn goodput<'t>(flows: impl Iterator<Item = &'t FlowTotals> + Clone) -> f64 {
    let bytes: u64 = flows.clone().map(|flow| flow.received.0).sum();
    per(bytes as f64, busy(flows).as_secs_f64())
}

/// How long at least one of the flows ran.
fn busy<'t>(flows: impl Iterator<Item = &'t FlowTotals>) -> Duration {
    let mut spans: Vec<_> = flows.map(FlowTotals::measured).collect();
    spans.sort_unstable();
    let mut busy = Duration::ZERO;
    let mut until = Instant::ZERO;
    for [start, end] in spans {
        busy += end.since(start.max(until).min(end));
        until = until.max(end);
    }
    busy
}

/// Jain's index: the square of the sum over n times the sum of squares.
pub fn jain(shares: impl Iterator<Item = f64> + Clone) -> f64 {
    let sum: f64 = shares.clone().sum();
    let squares: f64 = shares.clone().map(|x| x * x).sum();
    if squares > 0.0 { sum * sum / (shares.count() as f64 * squares) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use base::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn flow((start, seconds, rate): (u64, u64, u64)) -> FlowTotals {
        let start = Instant::ZERO + Duration::from_secs(start);
        let received = Bytes(seconds * rate);
        FlowTotals {
            start,
            end: start + Duration::from_secs(seconds),
            received,
            ..Default::default()
        }
    }

    fn together(flows: &[(u64, u64, u64)]) -> f64 {
        let flows: Vec<_> = flows.iter().copied().map(flow).collect();
        goodput(flows.iter())
    }

    #[test]
    fn the_time_is_that_in_which_any_flow_ran() {
        assert_eq!(together(&[(0, 2, 10), (1, 2, 10)]), 40.0 / 3.0);
        assert_eq!(together(&[(5, 1, 10), (0, 1, 10)]), 10.0, "nothing ran between them");
        assert_eq!(together(&[(0, 9, 1), (2, 3, 7), (3, 1, 0)]), 30.0 / 9.0, "one within another");
        assert_eq!(together(&[(0, 0, 1)]), 0.0);
        assert_eq!(together(&[]), 0.0);
    }

    proptest! {
        #[test]
        fn it_is_between_the_slowest_flow_and_the_sum_of_all(
            flows in prop::collection::vec((0..100_u64, 1..50_u64, 1..1_000_u64), 1..20),
        ) {
            let rates = flows.iter().map(|&(_, _, rate)| rate);
            let (least, sum) = (rates.clone().min().unwrap_or(0), rates.sum::<u64>());
            let together = together(&flows);
            prop_assert!(least as f64 - 1e-9 <= together && together <= sum as f64 + 1e-9, "{together}");
        }
    }
}
