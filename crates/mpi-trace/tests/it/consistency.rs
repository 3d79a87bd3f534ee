//! What contradicts itself in a trace is found, and nothing else.

use mpi_trace::{Call, Inconsistency, Operation, Trace};

fn call(operation: Operation, peer: Option<u32>, bytes: u64, requests: &[u32]) -> Call {
    Call {
        operation,
        peer,
        bytes,
        tag: if peer.is_some() { 7 } else { 0 },
        communicator: 0,
        start: 0,
        end: 1,
        computing: 0,
        requests: requests.into(),
        counts: [].into(),
    }
}

/// Rank 0 sends 10 bytes to rank 1, and both meet at a barrier.
fn sound() -> Trace {
    use Operation::{Barrier, Irecv, Send, Wait};
    let barrier = || call(Barrier, None, 0, &[]);
    let receive = vec![call(Irecv, Some(0), 10, &[0]), call(Wait, None, 0, &[0]), barrier()];
    Trace {
        communicators: vec![vec![0, 1]],
        ranks: vec![vec![call(Send, Some(1), 10, &[]), barrier()], receive],
        ..Trace::default()
    }
}

#[test]
fn a_sound_trace_has_none() {
    assert_eq!(sound().inconsistencies(9), []);
}

#[test]
fn a_message_of_another_size_is_found() {
    let mut trace = sound();
    trace.ranks[0][0].bytes = 11;
    let found = trace.inconsistencies(9);
    let (source, destination, tag, communicator) = (0, 1, 7, 0);
    let (sent, received) = (1, 1);
    let expected =
        Inconsistency::Messages { source, destination, tag, communicator, sent, received };
    assert_eq!(found, [expected]);
}

#[test]
fn a_message_without_a_receiver_is_found() {
    let mut trace = sound();
    trace.ranks[0].remove(0);
    let found = trace.inconsistencies(9);
    assert!(
        matches!(found[..], [Inconsistency::Messages { sent: 0, received: 1, .. }]),
        "{found:?}"
    );
}

#[test]
fn members_that_disagree_are_found() {
    let mut trace = sound();
    trace.ranks[1][2].operation = Operation::Allreduce;
    let found = trace.inconsistencies(9);
    assert_eq!(found, [Inconsistency::Collectives { communicator: 0, rank: 1, place: 0 }]);
    assert_eq!(
        found[0].to_string(),
        "communicator 0: collective 0 of rank 1 differs from its first member's"
    );
}

#[test]
fn a_wait_for_nothing_is_found() {
    let mut trace = sound();
    trace.ranks[1][1].requests = [1].into();
    let found = trace.inconsistencies(9);
    assert_eq!(found, [Inconsistency::Request { rank: 1, request: 1 }]);
}
