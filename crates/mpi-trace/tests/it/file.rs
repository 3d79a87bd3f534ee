//! Traces that are written and read back, and files that are none.

use mpi_trace::{Call, Error, Operation, Trace};
use proptest::collection::vec;
use proptest::prelude::*;

/// Ranks and communicators of the traces that are drawn.
const RANKS: u32 = 4;
const COMMUNICATORS: u32 = 3;

fn times() -> impl Strategy<Value = u64> {
    prop_oneof![0..1000u64, 0..i64::MAX as u64]
}

fn call() -> impl Strategy<Value = Call> {
    let operation = proptest::sample::select(Operation::ALL);
    let message = (proptest::option::of(0..RANKS), times(), any::<i32>(), 0..COMMUNICATORS);
    let lists = (vec(0..i32::MAX as u32, 0..4), vec(times(), 0..4));
    (operation, message, times(), times(), times(), lists).prop_map(
        |(operation, (peer, bytes, tag, communicator), a, b, computing, (requests, counts))| Call {
            operation,
            peer,
            bytes,
            tag,
            communicator,
            start: a.min(b),
            end: a.max(b),
            computing,
            requests: requests.into(),
            counts: counts.into(),
        },
    )
}

fn trace() -> impl Strategy<Value = Trace> {
    let members = vec(vec(0..RANKS, 0..5), COMMUNICATORS as usize);
    let calls = vec(vec(call(), 0..40), RANKS as usize);
    ("[a-z/\"ü]{0,12}", members, calls).prop_map(|(program, communicators, ranks)| Trace {
        program,
        library: "Open MPI".to_owned(),
        library_version: "4.1.4".to_owned(),
        communicators,
        ranks,
    })
}

fn written(trace: &Trace) -> Vec<u8> {
    let mut file = Vec::new();
    trace.write(&mut file).expect("memory takes it");
    file
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_written_is_read(trace in trace()) {
        prop_assert_eq!(Trace::read(&written(&trace)).expect("a trace"), trace);
    }

    #[test]
    fn any_change_is_an_error(trace in trace(), places in vec((any::<prop::sample::Index>(), 1..=255u8), 20)) {
        let whole = written(&trace);
        for (place, flipped) in places {
            let mut file = whole.clone();
            file[place.index(whole.len())] ^= flipped;
            prop_assert!(Trace::read(&file).is_err());
            prop_assert!(Trace::read(&whole[..place.index(whole.len())]).is_err());
        }
    }

    #[test]
    fn any_bytes_are_an_error(bytes in vec(any::<u8>(), 0..200), mark in any::<bool>()) {
        let mut file = if mark { b"PAR1suimon\0\x01".to_vec() } else { Vec::new() };
        file.extend(bytes);
        prop_assert!(Trace::read(&file).is_err());
    }

    #[test]
    fn rounding_keeps_the_sum_of_computing(mut trace in trace(), resolution in 1..5000u64) {
        let sum = |trace: &Trace| -> Vec<u128> {
            let of_rank = |calls: &Vec<Call>| calls.iter().map(|c| u128::from(c.computing)).sum();
            trace.ranks.iter().map(of_rank).collect()
        };
        let before = sum(&trace);
        trace.round(resolution);
        for (before, after) in before.iter().zip(sum(&trace)) {
            prop_assert!(before - after < u128::from(resolution));
        }
        let rounded = |time: u64| time.is_multiple_of(resolution);
        let calls = trace.ranks.iter().flatten();
        prop_assert!(calls.clone().all(|c| rounded(c.start) && rounded(c.end) && rounded(c.computing)));
        prop_assert!(calls.clone().all(|call| call.start <= call.end));
    }
}

#[test]
fn a_trace_without_calls_is_read() {
    let trace =
        Trace { communicators: vec![vec![0, 1]], ranks: vec![vec![]; 2], ..Trace::default() };
    assert_eq!(Trace::read(&written(&trace)).expect("a trace"), trace);
}

#[test]
fn other_files_are_refused_by_what_they_lack() {
    assert!(matches!(Trace::read(b""), Err(Error::Foreign(_))));
    assert!(matches!(Trace::read(b"PAR1 some table PAR1"), Err(Error::Foreign(_))));
    let mut file = written(&Trace::default());
    file.pop();
    assert!(matches!(Trace::read(&file), Err(Error::Damaged)));
}

#[test]
fn names_of_operations_are_distinct_and_read_back() {
    for operation in Operation::ALL {
        assert_eq!(operation.name().parse::<Operation>().expect("a name"), *operation);
    }
    assert!("Send".parse::<Operation>().is_err());
}
