//! The classes at run time: leaves, which hold packets, and groups, which hold classes and may lend to them.

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use super::meter::{Meter, Profile};
use super::parameters::{Checked, Figures, PRIORITIES, Parameters, frame_max};
use super::rings::Rings;
use crate::classify::Classifier;
use crate::discipline::Port;
use crate::qdisc::Qdisc;
use base::units::{Bytes, Duration, Rate};

/// The state of a leaf relative to its own rate, or of a group relative to the leaves that would borrow from
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing to send, no borrower, and no alarm set.
    Idle,
    /// In the rings of those that may send or lend. Whether it really may is checked on its turn.
    Open,
    /// Over its limit: an alarm is set for the end of that time or earlier.
    Over,
}

/// A group that a leaf may borrow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lender {
    pub(super) group: u32,
    /// The leaf's slot in the group's ring of borrowers.
    pub(super) slot: u32,
}

/// A class with a packet queue. Its slot in the ring of the leaves within their rate is its index.
///
/// The fields that each packet uses come first, within two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Leaf {
    pub(super) meter: Meter,
    /// Bytes it may still send in this turn.
    pub(super) allowance: i64,
    /// The bytes that a turn of the weighted round robin adds to `allowance`.
    pub(super) quantum: i64,
    pub(super) parent: Option<u32>,
    pub(super) priority: u8,
    pub(super) state: State,
    /// Whether it is in the rings: it has packets.
    pub(super) linked: bool,
    pub(super) borrow: bool,
    pub(super) queue: Qdisc,
    /// The groups that the leaf may borrow from, the nearest first.
    pub(super) lenders: Vec<Lender>,
    pub(super) rate: Rate,
    /// A removed class, which stays until its packets are sent.
    pub(super) leaving: bool,
    pub(super) name: String,
}

/// The cache lines of a leaf that a packet uses.
pub(super) const LINES: usize = 2;
const _: () = assert!(
    core::mem::offset_of!(Leaf, queue) + 16 <= 64 * LINES,
    "with the place of a boxed queue"
);

/// A class with children; also the link, and the spare time of the link.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Group {
    pub(super) meter: Meter,
    pub(super) parent: Option<u32>,
    pub(super) borrow: bool,
    /// The level: 1 above the leaves; a group's is above that of all within it (the paper counts from 1 at
    /// the leaves).
    pub(super) level: usize,
    /// How far the group may be over its limit, in addition to the catch-up of its classes that waited for a
    /// turn.
    pub(super) debt: Duration,
    /// The priorities that have borrowers, a bit each.
    pub(super) borrowers: u8,
    /// Leaves with packets within it.
    pub(super) backlogged: usize,
    pub(super) state: State,
    pub(super) name: String,
}

/// Everything that follows from the parameters.
#[derive(Debug)]
pub(super) struct Nodes {
    pub(super) leaves: Vec<Leaf>,
    pub(super) groups: Vec<Group>,
    pub(super) rings: Rings,
    pub(super) classifier: Classifier,
    /// The leaf of each class.
    pub(super) leaf_of: Vec<u32>,
    /// The class for packets that no filter matches.
    pub(super) default: usize,
    /// The number of levels: the leaves', the groups' and the link's.
    pub(super) levels: usize,
    /// The maximum time of a round of all other turns. A class may wait this long for its turn and still
    /// catch up.
    pub(super) round: Duration,
}

/// The ring of leaves within their own rate.
pub(super) const fn own_ring(priority: usize) -> usize {
    priority
}

impl Nodes {
    /// The ring of the groups at a level that may lend to leaves of a priority.
    pub(super) fn lending_ring(&self, level: usize, priority: usize) -> usize {
        level * PRIORITIES + priority
    }

    /// The ring of leaves of a priority that may borrow from a group.
    pub(super) fn borrowing_ring(&self, group: usize, priority: usize) -> usize {
        // The spare time of the link is one level above the link.
        (self.levels + 1 + group) * PRIORITIES + priority
    }

    /// A group's slot in the ring of groups that may lend to a priority.
    pub(super) fn lending_slot(&self, group: usize, priority: usize) -> usize {
        self.leaves.len() + group * PRIORITIES + priority
    }

    /// The link itself: it is never over its limit.
    pub(super) fn link(&self) -> usize {
        self.groups.len() - 2
    }

    /// The pseudo-group of the link's unused time, for the option `efficient`.
    pub(super) fn spare(&self) -> usize {
        self.groups.len() - 1
    }

    /// The classes of checked parameters, without packets.
    pub(super) fn new(parameters: &Parameters, checked: Checked, port: Port) -> Self {
        let places = places(&checked);
        let groups = groups(parameters, &checked, &places, port);
        let levels = groups[groups.len() - 2].level + 1;
        let Checked { tree, figures, queues, default } = checked;
        let mut leaves = Vec::new();
        for (index, queue) in queues.into_iter().enumerate() {
            let Some(queue) = queue else { continue };
            let class = &parameters.classes[index];
            leaves.push(Leaf {
                name: class.name.clone(),
                queue,
                meter: Meter::new(profile(parameters, &figures[index], port)),
                parent: tree.parents[index].map(|parent| places[parent] as u32),
                priority: class.priority as u8 % PRIORITIES as u8,
                borrow: class.borrow,
                lenders: Vec::new(),
                rate: figures[index].rate,
                quantum: 0,
                allowance: 0,
                state: State::Idle,
                linked: false,
                leaving: false,
            });
        }
        let mut nodes = Self {
            leaves,
            groups,
            rings: Rings::new(0, []),
            classifier: tree.classifier,
            default,
            leaf_of: places.into_iter().map(|place| place as u32).collect(),
            levels,
            round: Duration::ZERO,
        };
        nodes.join(Vec::new(), parameters.efficient, port);
        nodes
    }

    /// Adds leaves that still have packets and are not a class any more: they keep their rate, after all
    /// others, and borrow from the link. Then makes the rings.
    pub(super) fn join(&mut self, leaving: Vec<Leaf>, efficient: bool, port: Port) {
        self.leaves.extend(leaving.into_iter().map(|leaf| Leaf {
            parent: None,
            priority: 0,
            borrow: true,
            state: State::Idle,
            linked: false,
            leaving: true,
            ..leaf
        }));
        weigh(&mut self.leaves, frame_max(port));
        let frame = port.rate.time_for(Bytes(frame_max(port)) + port.overhead);
        // In a round each leaf sends its quantum, on average one frame a leaf, and may exceed it by less than
        // a frame.
        self.round = self.round.max(frame.times(2 * self.leaves.len() as u64 + 1));
        self.connect(efficient);
    }

    /// Determines which leaves may borrow from which groups, and builds the rings.
    fn connect(&mut self, efficient: bool) {
        let mut owners: Vec<usize> = (0..self.leaves.len()).collect();
        owners.extend((0..self.groups.len()).flat_map(|group| [group; PRIORITIES]));
        for index in 0..self.leaves.len() {
            let mut groups = Vec::new();
            let leaf = &self.leaves[index];
            let (mut above, mut may) = (leaf.parent, leaf.borrow);
            while may {
                groups.push(above.unwrap_or(self.link() as u32));
                let Some(group) = above else { break };
                let group = &self.groups[group as usize];
                (may, above) = (group.borrow, group.parent);
            }
            if efficient {
                groups.push(self.spare() as u32);
            }
            let lenders = groups.into_iter().map(|group| {
                owners.push(index);
                Lender { group, slot: owners.len() as u32 - 1 }
            });
            self.leaves[index].lenders = lenders.collect();
        }
        let rings = (self.levels + 1 + self.groups.len()) * PRIORITIES;
        self.rings = Rings::new(rings, owners);
    }
}

fn profile(parameters: &Parameters, figures: &Figures, port: Port) -> Profile {
    Profile {
        estimator: parameters.estimator,
        rate: figures.rate,
        line: port.rate,
        packet: figures.packet,
        overhead: port.overhead,
        frame: Bytes(frame_max(port)),
        burst_max: figures.burst_max,
        burst_min: figures.burst_min,
        credit: figures.credit,
    }
}

/// The place of each class among the leaves or the groups.
fn places(checked: &Checked) -> Vec<usize> {
    let (mut leaves, mut groups) = (0, 0);
    let place = |children: &Vec<usize>| {
        let count = if children.is_empty() { &mut leaves } else { &mut groups };
        *count += 1;
        *count - 1
    };
    checked.tree.children.iter().map(place).collect()
}

/// The classes with children, then the link and its spare time.
fn groups(parameters: &Parameters, checked: &Checked, places: &[usize], port: Port) -> Vec<Group> {
    let tree = &checked.tree;
    let levels = levels(&tree.children, &tree.tops);
    let meter = |index: usize| Meter::new(profile(parameters, &checked.figures[index], port));
    let credit = |children: &[usize]| {
        let credits = children.iter().map(|&child| meter(child).credit_max());
        credits.max().unwrap_or(Duration::ZERO)
    };
    let mut groups = Vec::new();
    for (index, class) in parameters.classes.iter().enumerate() {
        let children = tree.children[index].len() as u64;
        if children == 0 {
            continue;
        }
        let rate = checked.figures[index].rate;
        groups.push(Group {
            meter: meter(index),
            parent: tree.parents[index].map(|parent| places[parent] as u32),
            borrow: class.borrow,
            level: levels[index],
            // Each child may be a packet ahead of its own rate, or use up its credit.
            debt: rate.time_for(Bytes(frame_max(port))).times(children)
                + credit(&tree.children[index]),
            ..group(&class.name, 0, port)
        });
    }
    let link = tree.tops.iter().map(|&top| levels[top] + 1).max().unwrap_or(1);
    groups.extend([group("link", link, port), group("spare", link + 1, port)]);
    groups
}

fn group(name: &str, level: usize, port: Port) -> Group {
    Group {
        name: name.into(),
        meter: Meter::unlimited(port.rate),
        parent: None,
        borrow: false,
        level,
        debt: Duration::ZERO,
        borrowers: 0,
        backlogged: 0,
        state: State::Idle,
    }
}

/// The level of each class, 0 for a leaf. Without recursion: a chain may be long.
fn levels(children: &[Vec<usize>], tops: &[usize]) -> Vec<usize> {
    let mut order = tops.to_vec();
    let mut next = 0;
    while let Some(&index) = order.get(next) {
        order.extend(&children[index]);
        next += 1;
    }
    let mut levels = vec![0; children.len()];
    for &index in order.iter().rev() {
        levels[index] = children[index].iter().map(|&child| levels[child] + 1).max().unwrap_or(0);
    }
    levels
}

/// Sets the weights of the round robin within each priority: a frame for a class of the mean rate, as in
/// ALTQ. Below a 16th of the mean a class counts as if it had that, so that no turn is without effect.
fn weigh(leaves: &mut [Leaf], frame: u64) {
    for priority in 0..PRIORITIES {
        let peers = leaves.iter().filter(|leaf| usize::from(leaf.priority) == priority);
        let (count, sum) = peers.fold((0_u128, 0_u128), |(count, sum), leaf| {
            (count + 1, sum + u128::from(leaf.rate.bits_per_second()))
        });
        for leaf in leaves.iter_mut().filter(|leaf| usize::from(leaf.priority) == priority) {
            let rate = u128::from(leaf.rate.bits_per_second());
            let quantum = (rate * count).saturating_mul(frame.into()) / sum;
            let quantum = quantum.max(u128::from(frame / 16)).max(1);
            leaf.quantum = i64::try_from(quantum).unwrap_or(i64::MAX / 2);
        }
    }
}
