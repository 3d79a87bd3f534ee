//! What a trace that was recorded whole never shows: messages that only one side knows, members that
//! disagree about a collective, waits for what nothing started.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::{Call, Class, Operation, Trace};

/// A contradiction within a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inconsistency {
    /// Messages of one (source, destination, tag, communicator) that were sent and those that were
    /// received are not the same, or not of the same sizes in the same order.
    Messages {
        /// The sender.
        source: u32,
        /// The receiver.
        destination: u32,
        /// Their tag.
        tag: i32,
        /// Their communicator.
        communicator: u32,
        /// How many were sent.
        sent: usize,
        /// How many were received.
        received: usize,
    },
    /// A member's collectives of a communicator differ from those of its first member.
    Collectives {
        /// The communicator.
        communicator: u32,
        /// The member.
        rank: u32,
        /// The first collective of the communicator that differs, counted from 0.
        place: usize,
    },
    /// A wait completes a request that nothing started, or that was completed before.
    Request {
        /// The rank.
        rank: u32,
        /// The request.
        request: u32,
    },
}

impl fmt::Display for Inconsistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Messages { source, destination, tag, communicator, sent, received } => write!(
                f,
                "messages from rank {source} to {destination}, tag {tag}, communicator \
                 {communicator}: {sent} sent, {received} received, or sizes differ"
            ),
            Self::Collectives { communicator, rank, place } => write!(
                f,
                "communicator {communicator}: collective {place} of rank {rank} differs from its \
                 first member's"
            ),
            Self::Request { rank, request } => {
                write!(f, "rank {rank} waits for request {request}, which is not active")
            }
        }
    }
}

/// (source, destination, tag, communicator).
type Channel = (u32, u32, i32, u32);

/// Finds at most `limit`.
pub(crate) fn check(trace: &Trace, limit: usize) -> Vec<Inconsistency> {
    let mut found = messages(trace);
    found.extend(collectives(trace));
    found.extend(requests(trace));
    found.truncate(limit);
    found
}

fn messages(trace: &Trace) -> Vec<Inconsistency> {
    let mut channels: BTreeMap<Channel, [Vec<u64>; 2]> = BTreeMap::new();
    for (rank, call) in calls(trace) {
        let Some(peer) = call.peer else { continue };
        let (channel, side) = match call.operation.class() {
            Class::Send | Class::SendStart => ((rank, peer, call.tag, call.communicator), 0),
            Class::Receive | Class::ReceiveStart => ((peer, rank, call.tag, call.communicator), 1),
            _ => continue,
        };
        channels.entry(channel).or_default()[side].push(call.bytes);
    }
    let differ = channels.into_iter().filter(|(_, [sent, received])| sent != received);
    differ
        .map(|((source, destination, tag, communicator), [sent, received])| {
            let (sent, received) = (sent.len(), received.len());
            Inconsistency::Messages { source, destination, tag, communicator, sent, received }
        })
        .collect()
}

/// What all members of a communicator agree on: the operation, its root, and its size where that is one.
fn agreed(call: &Call) -> (Operation, Option<u32>, Option<u64>) {
    use Operation::{Allgatherv, Alltoallv, Gatherv, Scatterv};
    let differs = matches!(call.operation, Alltoallv | Allgatherv | Gatherv | Scatterv);
    (call.operation, call.peer, (!differs).then_some(call.bytes))
}

fn collectives(trace: &Trace) -> Vec<Inconsistency> {
    let mut of: Vec<BTreeMap<u32, Vec<_>>> = vec![BTreeMap::new(); trace.communicators.len()];
    for (rank, call) in calls(trace).filter(|(_, c)| c.operation.class() == Class::Collective) {
        of[call.communicator as usize].entry(rank).or_default().push(agreed(call));
    }
    let mut found = Vec::new();
    for ((communicator, members), of) in (0..).zip(&trace.communicators).zip(&of) {
        let none = Vec::new();
        let of_rank = |rank: &u32| of.get(rank).unwrap_or(&none);
        let Some(first) = members.first().map(of_rank) else { continue };
        for rank in &members[1..] {
            let own = of_rank(rank);
            if own != first {
                let same = own.iter().zip(first).take_while(|(a, b)| a == b).count();
                found.push(Inconsistency::Collectives { communicator, rank: *rank, place: same });
            }
        }
    }
    found
}

fn requests(trace: &Trace) -> Vec<Inconsistency> {
    let mut found = Vec::new();
    for (rank, calls) in (0..).zip(&trace.ranks) {
        let mut under_way = BTreeSet::new();
        for call in calls {
            let wait = call.operation.class() == Class::Wait;
            for &request in &call.requests {
                let expected =
                    if wait { under_way.remove(&request) } else { under_way.insert(request) };
                if !expected {
                    found.push(Inconsistency::Request { rank, request });
                }
            }
        }
    }
    found
}

fn calls(trace: &Trace) -> impl Iterator<Item = (u32, &Call)> {
    let ranks = (0..).zip(&trace.ranks);
    ranks.flat_map(|(rank, calls)| calls.iter().map(move |call| (rank, call)))
}
