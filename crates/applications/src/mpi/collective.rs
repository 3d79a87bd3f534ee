//! Collective operations as rounds of messages: in each a rank posts all receives, sends, and waits for both.

use std::sync::Arc;

use super::{Allgather, Allreduce, Alltoall, Library};

/// The operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `MPI_Barrier`: no rank continues before all ranks have entered (dissemination; Hensgen, Finkel and Manber
    /// 1988).
    Barrier,
    /// `MPI_Bcast`: the root's bytes go to all ranks, along a binomial tree.
    Bcast(u32),
    /// `MPI_Reduce`: a combination of all ranks' bytes goes to the root, along a binomial tree.
    Reduce(u32),
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Alltoall`, or `MPI_Alltoallv`: each rank sends the given bytes to each other rank.
    Alltoall,
    /// `MPI_Allgather`: all ranks get the bytes of each rank.
    Allgather,
    /// `MPI_Gather`: the root gets the bytes of each rank, at once.
    Gather(u32),
    /// `MPI_Scatter`: the root sends the given bytes to each rank, at once.
    Scatter(u32),
    /// `MPI_Reduce_scatter_block`: each rank gets a combination of the given bytes, by pairwise exchange.
    ReduceScatter,
    /// `MPI_Scan`: along the ranks.
    Scan,
    /// `MPI_Neighbor_alltoall` on a two-dimensional torus: each rank sends the given bytes to each of its four
    /// neighbours.
    Halo,
    /// Each rank of one half sends the given bytes to each rank of the other half: the part of `MPI_Alltoall`
    /// between two clusters.
    Across,
    /// Rank r of the first half sends to r + half.
    Burst,
    /// The first rank sends to the last one.
    Transfer,
    /// Receives from the western and northern neighbours, where they exist.
    FromNorthwest,
    /// Sends to the eastern and southern neighbours, where they exist.
    ToSoutheast,
}

/// A rank's part in a collective operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// The operation.
    pub kind: Kind,
    /// The ranks that take part.
    pub members: Arc<[u32]>,
    /// The number of bytes: see [`Kind`].
    pub bytes: u64,
    /// The bytes to each member (allgather: from each member), where they differ.
    pub counts: Option<Arc<[u64]>>,
}

/// The messages that a rank sends and receives at once; members are given by their position in the operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The destinations, each with the number of bytes.
    pub sends: Vec<(usize, u64)>,
    /// The sources.
    pub receives: Vec<usize>,
}

impl Round {
    fn send(mut self, to: usize, bytes: u64) -> Self {
        self.sends.push((to, bytes));
        self
    }

    fn receive(mut self, from: usize) -> Self {
        self.receives.push(from);
        self
    }

    fn when(self, condition: bool, with: impl FnOnce(Self) -> Self) -> Self {
        if condition { with(self) } else { self }
    }
}

/// A member's position `own` among `all` members.
#[derive(Clone, Copy, Debug)]
struct Place {
    own: usize,
    all: usize,
}

impl Place {
    /// The member `distance` positions after this one in the ring.
    fn after(self, distance: usize) -> usize {
        (self.own + distance) % self.all
    }

    /// The member `distance` positions before this one in the ring.
    fn before(self, distance: usize) -> usize {
        (self.own + self.all - distance % self.all) % self.all
    }

    /// A round that sends `distance` positions forward in the ring, and receives from as far back.
    fn shift(self, distance: usize, bytes: u64) -> Round {
        Round::default().send(self.after(distance), bytes).receive(self.before(distance))
    }

    /// The number of rounds with distances 1, 2, 4, ...
    fn doublings(self) -> usize {
        self.all.next_power_of_two().trailing_zeros() as usize
    }
}

impl Collective {
    /// Round `number` of the member at position `own`; `None` after the last.
    pub fn round(&self, library: &Library, own: usize, number: usize) -> Option<Round> {
        let place = Place { own, all: self.members.len() };
        if place.all < 2 {
            return None;
        }
        match self.kind {
            Kind::Barrier => (number < place.doublings()).then(|| place.shift(1 << number, 0)),
            Kind::Bcast(root) => broadcast(place, self.place_of(root), self.bytes, number),
            Kind::Reduce(root) => reduce(place, self.place_of(root), self.bytes, number),
            Kind::Allreduce => allreduce(library.allreduce, place, self.bytes, number),
            Kind::Alltoall => self.alltoall(library.alltoall, place, number),
            Kind::Allgather => self.allgather(library.allgather, place, number),
            Kind::Gather(root) => once(number, || gather(place, self.place_of(root), self.bytes)),
            Kind::Scatter(root) => once(number, || self.scatter(place, self.place_of(root))),
            Kind::ReduceScatter => {
                (number + 1 < place.all).then(|| place.shift(number + 1, self.bytes))
            }
            Kind::Scan => scan(place, self.bytes, number),
            Kind::Halo => once(number, || halo(place, self.bytes)),
            Kind::Across => once(number, || across(place, self.bytes)),
            Kind::Burst => once(number, || burst(place, self.bytes)),
            Kind::Transfer => once(number, || transfer(place, self.bytes)),
            Kind::FromNorthwest => once(number, || from_northwest(place)),
            Kind::ToSoutheast => once(number, || to_southeast(place, self.bytes)),
        }
    }

    fn place_of(&self, rank: u32) -> usize {
        self.members.iter().position(|&member| member == rank).unwrap_or(0)
    }

    /// The bytes to that member, or from it.
    fn bytes_to(&self, member: usize) -> u64 {
        let count = self.counts.as_ref().and_then(|counts| counts.get(member).copied());
        count.unwrap_or(self.bytes)
    }

    fn alltoall(&self, algorithm: Alltoall, place: Place, number: usize) -> Option<Round> {
        match algorithm {
            Alltoall::Linear => once(number, || Round {
                sends: (1..place.all)
                    .map(|distance| (place.after(distance), self.bytes_to(place.after(distance))))
                    .collect(),
                receives: (1..place.all).map(|distance| place.before(distance)).collect(),
            }),
            Alltoall::Pairwise => (number + 1 < place.all)
                .then(|| place.shift(number + 1, self.bytes_to(place.after(number + 1)))),
            // The blocks for members with this bit set in their distance; for a vector operation, the mean block
            // size.
            Alltoall::Bruck => (number < place.doublings()).then(|| {
                let blocks = (1..place.all).filter(|distance| distance >> number & 1 == 1).count();
                let total: u64 = match &self.counts {
                    Some(counts) => counts.iter().sum::<u64>() / place.all as u64,
                    None => self.bytes,
                };
                place.shift(1 << number, total * blocks as u64)
            }),
        }
    }

    fn allgather(&self, algorithm: Allgather, place: Place, number: usize) -> Option<Round> {
        match algorithm {
            // Round k passes on what arrived in round k - 1: the block of the member that far back.
            Allgather::Ring => (number + 1 < place.all)
                .then(|| place.shift(1, self.bytes_to(place.before(number)))),
            Allgather::Bruck => (number < place.doublings()).then(|| {
                let distance = 1 << number;
                let blocks =
                    (0..distance.min(place.all - distance)).map(|ahead| place.after(ahead));
                let bytes = blocks.map(|member| self.bytes_to(member)).sum();
                Round::default().send(place.before(distance), bytes).receive(place.after(distance))
            }),
        }
    }

    fn scatter(&self, place: Place, root: usize) -> Round {
        if place.own != root {
            return Round::default().receive(root);
        }
        let others = (0..place.all).filter(|&member| member != root);
        let sends = others.map(|member| (member, self.bytes_to(member))).collect();
        Round { sends, receives: Vec::new() }
    }
}

fn once(number: usize, round: impl FnOnce() -> Round) -> Option<Round> {
    (number == 0).then(round)
}

/// Along a binomial tree: first from the parent, then to all children, the farthest first.
fn broadcast(place: Place, root: usize, bytes: u64, number: usize) -> Option<Round> {
    let tree = Tree::new(place, root);
    match number {
        0 => Some(Round { sends: Vec::new(), receives: tree.parent().into_iter().collect() }),
        1 => Some(Round {
            sends: tree.children().rev().map(|child| (child, bytes)).collect(),
            receives: Vec::new(),
        }),
        _ => None,
    }
}

/// The reverse of [`broadcast`].
fn reduce(place: Place, root: usize, bytes: u64, number: usize) -> Option<Round> {
    let tree = Tree::new(place, root);
    match number {
        0 => Some(Round { sends: Vec::new(), receives: tree.children().collect() }),
        1 => Some(Round {
            sends: tree.parent().map(|parent| (parent, bytes)).into_iter().collect(),
            receives: Vec::new(),
        }),
        _ => None,
    }
}

/// A binomial tree: a member's parent is the one without its lowest bit, counted from the root.
struct Tree {
    place: Place,
    /// Its distance from the root.
    distance: usize,
    root: usize,
}

impl Tree {
    fn new(place: Place, root: usize) -> Self {
        let distance = (place.own + place.all - root) % place.all;
        Self { place, distance, root }
    }

    fn member(&self, distance: usize) -> usize {
        (self.root + distance) % self.place.all
    }

    fn parent(&self) -> Option<usize> {
        (self.distance > 0).then(|| self.member(self.distance & (self.distance - 1)))
    }

    /// The children, the nearest first.
    fn children(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let bits = match self.distance {
            0 => self.place.doublings(),
            distance => distance.trailing_zeros() as usize,
        };
        let distances = (0..bits).map(|bit| self.distance + (1 << bit));
        distances
            .filter(|&distance| distance < self.place.all)
            .map(|distance| self.member(distance))
    }
}

fn allreduce(algorithm: Allreduce, place: Place, bytes: u64, number: usize) -> Option<Round> {
    match algorithm {
        Allreduce::RecursiveDoubling => recursive_doubling(place, bytes, number),
        Allreduce::Ring => {
            (number < 2 * (place.all - 1)).then(|| place.shift(1, bytes.div_ceil(place.all as u64)))
        }
        Allreduce::Binomial => match number {
            0 | 1 => reduce(place, 0, bytes, number),
            _ => broadcast(place, 0, bytes, number - 2),
        },
    }
}

/// If the number of members is not a power of two, the first ones form pairs: the even one of a pair passes its
/// data to the odd one, which takes its part and returns the result (Rabenseifner 2004).
fn recursive_doubling(place: Place, bytes: u64, number: usize) -> Option<Round> {
    let power = 1 << place.all.ilog2();
    let (surplus, turns) = (place.all - power, place.all.ilog2() as usize);
    let (in_pair, odd) = (place.own < 2 * surplus, place.own % 2 == 1);
    let partner = place.own ^ 1;
    let round = Round::default();
    if number == 0 {
        let round = round.when(in_pair && !odd, |round| round.send(partner, bytes));
        return Some(round.when(in_pair && odd, |round| round.receive(partner)));
    }
    if number == turns + 1 {
        let round = round.when(in_pair && odd, |round| round.send(partner, bytes));
        return Some(round.when(in_pair && !odd, |round| round.receive(partner)));
    }
    if number > turns + 1 {
        return None;
    }
    if in_pair && !odd {
        return Some(round);
    }
    let part = if in_pair { place.own / 2 } else { place.own - surplus };
    let other = part ^ (1 << (number - 1));
    let other = if other < surplus { 2 * other + 1 } else { other + surplus };
    Some(round.send(other, bytes).receive(other))
}

fn gather(place: Place, root: usize, bytes: u64) -> Round {
    if place.own != root {
        return Round::default().send(root, bytes);
    }
    Round { sends: Vec::new(), receives: (0..place.all).filter(|&m| m != root).collect() }
}

fn scan(place: Place, bytes: u64, number: usize) -> Option<Round> {
    let (first, last) = (place.own == 0, place.own + 1 == place.all);
    match number {
        0 => Some(Round::default().when(!first, |round| round.receive(place.own - 1))),
        1 => Some(Round::default().when(!last, |round| round.send(place.own + 1, bytes))),
        _ => None,
    }
}

/// The rows and columns of the grid of ranks, as close to a square as their number allows.
fn grid(place: Place) -> (usize, usize) {
    let rows = (1..=place.all.isqrt()).rev().find(|rows| place.all.is_multiple_of(*rows));
    let rows = rows.unwrap_or(1);
    (rows, place.all / rows)
}

fn halo(place: Place, bytes: u64) -> Round {
    let (rows, columns) = grid(place);
    let (row, column) = (place.own / columns, place.own % columns);
    let at = |row: usize, column: usize| row % rows * columns + column % columns;
    let neighbours = [
        at(row + rows - 1, column),
        at(row, column + columns - 1),
        at(row, column + 1),
        at(row + 1, column),
    ];
    let others = || neighbours.into_iter().filter(|&neighbour| neighbour != place.own);
    Round { sends: others().map(|to| (to, bytes)).collect(), receives: others().collect() }
}

fn across(place: Place, bytes: u64) -> Round {
    let half = place.all / 2;
    let other_half = if place.own < half { half..2 * half } else { 0..half };
    let takes_part = place.own < 2 * half;
    let others = || other_half.clone().filter(|_| takes_part);
    Round { sends: others().map(|to| (to, bytes)).collect(), receives: others().collect() }
}

fn burst(place: Place, bytes: u64) -> Round {
    let half = place.all / 2;
    let round =
        Round::default().when(place.own < half, |round| round.send(place.own + half, bytes));
    round.when(place.own >= half && place.own < 2 * half, |round| round.receive(place.own - half))
}

fn transfer(place: Place, bytes: u64) -> Round {
    let last = place.all - 1;
    let round = Round::default().when(place.own == 0 && last > 0, |round| round.send(last, bytes));
    round.when(place.own == last && last > 0, |round| round.receive(0))
}

fn from_northwest(place: Place) -> Round {
    let (_, columns) = grid(place);
    let round = Round::default();
    let round =
        round.when(!place.own.is_multiple_of(columns), |round| round.receive(place.own - 1));
    round.when(place.own >= columns, |round| round.receive(place.own - columns))
}

fn to_southeast(place: Place, bytes: u64) -> Round {
    let (_, columns) = grid(place);
    let (east, south) = (place.own + 1, place.own + columns);
    let round =
        Round::default().when(!east.is_multiple_of(columns), |round| round.send(east, bytes));
    round.when(south < place.all, |round| round.send(south, bytes))
}
