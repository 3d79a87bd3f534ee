//! Laws of MPI jobs: collective operations of any number of ranks.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use applications::mpi::collective::{Collective, Kind};
use applications::mpi::{Allgather, Allreduce, Alltoall, Library};
use proptest::prelude::*;

const KINDS: [Kind; 14] = [
    Kind::Barrier,
    Kind::Bcast(0),
    Kind::Reduce(0),
    Kind::Allreduce,
    Kind::Alltoall,
    Kind::Allgather,
    Kind::Gather(0),
    Kind::Scatter(0),
    Kind::ReduceScatter,
    Kind::Scan,
    Kind::Halo,
    Kind::Across,
    Kind::Burst,
    Kind::Transfer,
];

fn libraries() -> impl Strategy<Value = Library> {
    let alltoall =
        prop::sample::select(vec![Alltoall::Linear, Alltoall::Pairwise, Alltoall::Bruck]);
    let allreduce = [Allreduce::RecursiveDoubling, Allreduce::Ring, Allreduce::Binomial];
    let allgather = prop::sample::select(vec![Allgather::Ring, Allgather::Bruck]);
    (alltoall, prop::sample::select(allreduce.to_vec()), allgather).prop_map(
        |(alltoall, allreduce, allgather)| Library {
            alltoall,
            allreduce,
            allgather,
            ..Library::default()
        },
    )
}

fn with_root(kind: Kind, root: u32) -> Kind {
    match kind {
        Kind::Bcast(_) => Kind::Bcast(root),
        Kind::Reduce(_) => Kind::Reduce(root),
        Kind::Gather(_) => Kind::Gather(root),
        Kind::Scatter(_) => Kind::Scatter(root),
        other => other,
    }
}

/// For each rank, the ranks that it has heard from since the operation began, directly or not.
type Heard = Vec<Vec<bool>>;

/// Runs all members' rounds; a message waits in the queue of its source and destination. Returns who has heard
/// from whom, and the bytes that each has sent, if all finished and no message was left over.
fn run(collective: &Collective, library: &Library) -> Option<(Heard, Vec<u64>)> {
    let all = collective.members.len();
    let mut heard: Heard =
        (0..all).map(|own| (0..all).map(|other| own == other).collect()).collect();
    let mut bytes = vec![0; all];
    let mut queues: BTreeMap<(usize, usize), VecDeque<Vec<bool>>> = BTreeMap::new();
    let (mut rounds, mut receives) = (vec![0; all], vec![Vec::new(); all]);
    let mut done = vec![false; all];
    loop {
        let mut moved = false;
        for own in 0..all {
            receives[own].retain(|&from| {
                let Some(message) = queues.get_mut(&(from, own)).and_then(VecDeque::pop_front)
                else {
                    return true;
                };
                moved = true;
                heard[own].iter_mut().zip(message).for_each(|(known, news)| *known |= news);
                false
            });
            if done[own] || !receives[own].is_empty() {
                continue;
            }
            moved = true;
            let Some(round) = collective.round(library, own, rounds[own]) else {
                done[own] = true;
                continue;
            };
            rounds[own] += 1;
            for (to, size) in round.sends {
                assert_ne!(to, own, "{collective:?}");
                bytes[own] += size;
                queues.entry((own, to)).or_default().push_back(heard[own].clone());
            }
            receives[own] = round.receives;
        }
        if done.iter().all(|&done| done) && receives.iter().all(Vec::is_empty) {
            return queues.values().all(VecDeque::is_empty).then_some((heard, bytes));
        }
        if !moved {
            return None;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Every message is received, no rank waits for one that does not come, and each has heard from those that
    /// it must.
    #[test]
    fn every_message_of_an_operation_is_received(
        kind in prop::sample::select(KINDS.to_vec()),
        all in 2_usize..40,
        root in 0_usize..40,
        size in 1_u64..100_000,
        library in libraries(),
    ) {
        let root = root % all;
        // The members are any ranks, in any order.
        let members: Arc<[u32]> = (0..all as u32).map(|member| 3 * (all as u32 - member)).collect();
        let kind = with_root(kind, members[root]);
        let collective = Collective { kind, members, bytes: size, counts: None };
        let Some((heard, bytes)) = run(&collective, &library) else {
            return Err(TestCaseError::fail(format!("{kind:?} of {all}: it does not end")));
        };
        let everyone = |own: usize| heard[own].iter().all(|&known| known);
        let total: u64 = bytes.iter().sum();
        let others = all as u64 - 1;
        match kind {
            Kind::Barrier => prop_assert!((0..all).all(everyone) && total == 0),
            Kind::Allreduce | Kind::Allgather => prop_assert!((0..all).all(everyone)),
            Kind::ReduceScatter => prop_assert!((0..all).all(everyone)),
            Kind::Alltoall => {
                prop_assert!((0..all).all(everyone));
                if library.alltoall != Alltoall::Bruck {
                    prop_assert!(bytes.iter().all(|&own| own == others * size));
                }
            }
            Kind::Bcast(_) | Kind::Scatter(_) => {
                prop_assert!((0..all).all(|own| heard[own][root]));
                prop_assert_eq!(total, others * size);
            }
            Kind::Reduce(_) | Kind::Gather(_) => {
                prop_assert!(everyone(root));
                prop_assert_eq!(total, others * size);
            }
            Kind::Scan => {
                prop_assert!((0..all).all(|own| heard[own][..own].iter().all(|&known| known)));
            }
            Kind::Across => {
                let half = all / 2;
                prop_assert!((0..half).all(|own| heard[own][half..2 * half].iter().all(|&known| known)));
                prop_assert_eq!(total, 2 * (half * half) as u64 * size);
            }
            Kind::Transfer => prop_assert!(heard[all - 1][0] && total == size),
            Kind::Halo => prop_assert!(bytes.iter().all(|own| own % size == 0)),
            _ => {}
        }
        if matches!(kind, Kind::Allgather) {
            prop_assert!(bytes.iter().all(|&own| own == others * size));
        }
    }

    /// Two halves of a wave: what one half sends the other receives.
    #[test]
    fn a_wave_reaches_all_ranks(all in 2_usize..50, size in 1_u64..1000) {
        let members: Arc<[u32]> = (0..all as u32).collect();
        let half = |kind| Collective { kind, members: members.clone(), bytes: size, counts: None };
        let (to, from) = (half(Kind::ToSoutheast), half(Kind::FromNorthwest));
        let library = Library::default();
        let mut sent: Vec<(usize, usize)> = Vec::new();
        let mut received = Vec::new();
        for own in 0..all {
            let round = to.round(&library, own, 0).unwrap_or_default();
            sent.extend(round.sends.iter().map(|&(to, _)| (own, to)));
            let round = from.round(&library, own, 0).unwrap_or_default();
            received.extend(round.receives.iter().map(|&from| (from, own)));
        }
        sent.sort_unstable();
        received.sort_unstable();
        prop_assert_eq!(&sent, &received);
        prop_assert!((1..all).all(|own| received.iter().any(|&(_, to)| to == own)));
    }
}
