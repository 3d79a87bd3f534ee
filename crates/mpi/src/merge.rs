//! The merge of the ranks' files into one trace.

use std::collections::HashMap;

use mpi_trace::Trace;

use crate::library::Library;
use crate::raw::Rank;

/// The members of a communicator, and the number of earlier communicators with the same members.
type Identity = (Vec<u32>, usize);

/// Merges the ranks into one trace. Times count from the earliest rank's `MPI_Init`, and each communicator has one
/// number.
pub(crate) fn merge(library: Library, ranks: Vec<Rank>) -> Trace {
    let zero = ranks.iter().map(|rank| rank.header.initialised).min().unwrap_or(0);
    let zero = u64::try_from(zero).unwrap_or(0);
    let mut trace = Trace { library: library.name().to_owned(), ..Trace::default() };
    if let Some(rank) = ranks.first() {
        trace.program = rank.header.program.clone();
        trace.library_version = version(&rank.header.library);
    }
    let mut known: HashMap<Identity, u32> = HashMap::new();
    for mut rank in ranks {
        let ids = numbers(&rank.communicators, &mut known, &mut trace.communicators);
        for call in &mut rank.calls {
            call.communicator = ids[call.communicator as usize];
            call.start = call.start.saturating_sub(zero);
            call.end = call.end.saturating_sub(zero);
        }
        trace.ranks.push(rank.calls);
    }
    trace
}

/// The numbers of one rank's communicators in the trace.
///
/// Creating a communicator is collective, so ranks create several communicators with the same members in the same
/// order. The first one is `MPI_COMM_WORLD` at every rank.
fn numbers(
    own: &[Vec<u32>],
    known: &mut HashMap<Identity, u32>,
    all: &mut Vec<Vec<u32>>,
) -> Vec<u32> {
    let mut made: HashMap<&[u32], usize> = HashMap::new();
    let mut ids = Vec::with_capacity(own.len());
    for members in own {
        let before = made.entry(members).or_default();
        let id = known.entry((members.clone(), *before)).or_insert_with(|| {
            all.push(members.clone());
            u32::try_from(all.len() - 1).unwrap_or(u32::MAX)
        });
        ids.push(*id);
        *before += 1;
    }
    ids
}

/// The version in a library's description: "Open MPI v4.1.4, package: ...", "MPICH Version: 4.0.2 ...".
fn version(text: &str) -> String {
    let mut words = text.split(|c: char| c.is_whitespace() || c == ',');
    let number = words.find_map(|word| {
        let word = word.strip_prefix('v').unwrap_or(word);
        word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
    });
    number.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found() {
        assert_eq!(version("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"), "4.1.4");
        assert_eq!(version("MPICH Version:\t4.0.2\nMPICH Release date:\tx\n"), "4.0.2");
        assert_eq!(version("something else"), "");
    }

    #[test]
    fn communicators_of_the_same_members_are_distinguished_by_their_order() {
        let (mut known, mut all) = (HashMap::new(), Vec::new());
        let world = vec![0, 1, 2];
        let first = numbers(&[world.clone(), vec![0], world.clone()], &mut known, &mut all);
        let second = numbers(&[world.clone(), world.clone(), vec![1, 2]], &mut known, &mut all);
        assert_eq!(first, [0, 1, 2]);
        assert_eq!(second, [0, 2, 3]);
        assert_eq!(all, [world.clone(), vec![0], world, vec![1, 2]]);
    }
}
