//! Selects the class that sends next, at the same cost for any number of backlogged classes.
//!
//! A class may send when it and all its ancestors are due. Of the classes that may send at the same time, the
//! one with the earliest own due time goes first, then the one listed first in the file. So a group (a class
//! with children, or the link) that is due later than its children holds some of them until the same time,
//! and then their own times decide. Each group keeps its children in two tournaments: those that it holds
//! itself, by their own times, and those that are later than the group, by the time when they may go. Times
//! only move on, so a child that changes tournaments does so once for each of its packets.

use alloc::vec;
use alloc::vec::Vec;

use crate::qdisc::tournament::{NOBODY, Number, Tournament};

/// A class that may send, or a time to recheck a group. The earlier one is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// The byte time when the class and all its ancestors release it.
    pub(super) release: u64,
    /// The byte time when the class alone would release it.
    own: u64,
    /// The class.
    pub(super) leaf: u32,
    /// The class, or the ancestor of it that competes here.
    child: u32,
}

impl Turn {
    /// Whether no class may send, and there is no time to recheck.
    #[inline]
    pub(super) const fn is_none(self) -> bool {
        self.leaf == u32::MAX
    }
}

impl Number for Turn {
    const NOBODY: Self = Self { release: u64::MAX, own: u64::MAX, leaf: u32::MAX, child: u32::MAX };
}

/// What a child reports to its group.
#[derive(Clone, Copy, Debug)]
struct Entry {
    turn: Turn,
    /// If the ancestors hold the child beyond this byte time, it may report another class.
    until: u64,
}

const IDLE: Entry = Entry { turn: Turn::NOBODY, until: u64::MAX };

/// The children of a class, or of the link.
#[derive(Debug)]
struct Group {
    /// The byte time when the group itself is due.
    due: u64,
    /// The children that the group or its ancestors hold; their `release` does not count.
    held: Tournament<Turn>,
    /// The other children; and for held children that may report another class, the time when they do.
    later: Tournament<Turn>,
    /// Whether some children have children. If none has, all are in `later`, because they may go in the order
    /// of their own times however long they are held.
    nested: bool,
    /// The number of children.
    children: usize,
}

impl Group {
    /// What the group reports to its parent.
    fn entry(&self, number: u32) -> Entry {
        let (held, later) = (self.held.first(), self.later.first());
        let (turn, release, until) = if held.is_none() {
            (later, later.release.max(self.due), u64::MAX)
        } else {
            (held, self.due, if self.nested { later.release } else { u64::MAX })
        };
        if turn.is_none() {
            return IDLE;
        }
        Entry { turn: Turn { release, child: number, ..turn }, until }
    }
}

/// A class's place.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The parent's group.
    group: u32,
    /// The place among the group's children.
    slot: u32,
    /// The class's own group, [`NONE`] if it has no children.
    own: u32,
}

const NONE: u32 = u32::MAX;
/// The group of the classes without a parent.
const LINK: u32 = 0;

/// A class without ancestors: its due time in the upper bits, its number in the lower 32. One comparison finds the first,
/// and four fill a cache line.
#[inline]
fn flat_turn(due: u64, leaf: u32) -> u128 {
    u128::from(due) << u32::BITS | u128::from(leaf)
}

/// The classes that have packets queued, in the order in which they send.
#[derive(Debug)]
pub(super) struct Order {
    places: Vec<Place>,
    /// All classes by [`flat_turn`], if none has children: they go in the order of their own times.
    flat: Tournament,
    /// The link's group and the groups of classes, if some classes have children.
    groups: Vec<Group>,
    /// The class of each group; the link's has none.
    classes: Vec<u32>,
}

impl Order {
    /// Creates the order of classes without packets, each with its parent. The parents form no cycle.
    pub(super) fn new(parents: &[Option<usize>]) -> Self {
        let flat = Tournament::new(parents.len());
        let mut order = Self { places: Vec::new(), flat, groups: Vec::new(), classes: vec![NONE] };
        let mut own = vec![NONE; parents.len()];
        for &parent in parents.iter().flatten() {
            if own[parent] == NONE {
                own[parent] = order.classes.len() as u32;
                order.classes.push(parent as u32);
            }
        }
        let group = || Group {
            due: 0,
            held: Tournament::new(0),
            later: Tournament::new(0),
            nested: false,
            children: 0,
        };
        order.groups = order.classes.iter().map(|_| group()).collect();
        for (class, parent) in parents.iter().enumerate() {
            let number = parent.map_or(LINK, |parent| own[parent]);
            let group = &mut order.groups[number as usize];
            let place = Place { group: number, slot: group.children as u32, own: own[class] };
            group.children += 1;
            group.nested |= own[class] != NONE;
            order.places.push(place);
        }
        if order.groups.len() == 1 {
            order.groups.clear();
            return order;
        }
        order.flat = Tournament::new(0);
        for group in &mut order.groups {
            group.held = Tournament::new(group.children);
            group.later = Tournament::new(group.children);
        }
        order
    }

    /// The class that sends first.
    #[inline]
    pub(super) fn first(&self) -> Option<Turn> {
        let Some(link) = self.groups.first() else {
            let first = self.flat.first();
            let (release, leaf) = ((first >> u32::BITS) as u64, first as u32);
            return (first != NOBODY).then_some(Turn { release, own: release, leaf, child: leaf });
        };
        let first = link.entry(NONE).turn;
        (!first.is_none()).then_some(first)
    }

    /// Asks for what changes when a class sends.
    #[inline]
    pub(super) fn prefetch(&self, turn: Turn) {
        self.flat.prefetch(turn.leaf as usize);
    }

    /// No class has packets.
    pub(super) fn clear(&mut self) {
        for class in 0..self.places.len() {
            if self.places[class].own == NONE {
                self.set(class, None);
            }
        }
    }

    /// A class that has children is due then, and not before.
    #[inline]
    pub(super) fn set_group(&mut self, class: usize, due: u64) {
        if let Some(group) = self.groups.get_mut(self.places[class].own as usize) {
            group.due = due;
        }
    }

    /// Sets when a class without children is due; `None` if it has no packets. Call it after
    /// [`Self::set_group`] of its changed ancestors.
    // Forced, as the pacer's `charge`.
    #[inline(always)]
    pub(super) fn set(&mut self, class: usize, due: Option<u64>) {
        let leaf = class as u32;
        if !self.groups.is_empty() {
            let turn = |due| Turn { release: due, own: due, leaf, child: leaf };
            return self.set_within(leaf, due.map_or(Turn::NOBODY, turn));
        }
        let turn = due.map_or(NOBODY, |due| flat_turn(due, leaf));
        if self.places.len() == 1 {
            self.flat.set_only(turn);
        } else {
            self.flat.set(class, turn);
        }
    }

    #[inline(never)]
    fn set_within(&mut self, leaf: u32, turn: Turn) {
        let mut entry = Entry { turn, until: u64::MAX };
        let mut child = leaf;
        loop {
            let number = self.places[child as usize].group;
            let bound = self.bound(number);
            self.place(number, child, entry, bound);
            self.look_again(number, bound);
            if number == LINK {
                return;
            }
            child = self.classes[number as usize];
            entry = self.groups[number as usize].entry(child);
        }
    }

    /// The byte time until which the group or an ancestor holds the group's children.
    fn bound(&self, number: u32) -> u64 {
        let mut group = &self.groups[number as usize];
        if !group.nested {
            return 0;
        }
        let (mut bound, mut number) = (group.due, number);
        while number != LINK {
            number = self.places[self.classes[number as usize] as usize].group;
            group = &self.groups[number as usize];
            bound = bound.max(group.due);
        }
        bound
    }

    /// Puts a child into the right tournament of a group that holds its children until `bound`.
    fn place(&mut self, number: u32, child: u32, entry: Entry, bound: u64) {
        let slot = self.places[child as usize].slot as usize;
        let group = &mut self.groups[number as usize];
        let Entry { turn, until } = entry;
        let (held, later) = if turn.release > bound {
            (Turn::NOBODY, turn)
        } else if until == u64::MAX {
            (Turn { release: 0, ..turn }, Turn::NOBODY)
        } else {
            (Turn { release: 0, ..turn }, Turn { release: until, own: 0, ..turn })
        };
        if group.nested || !held.is_none() || !group.held.first().is_none() {
            group.held.set(slot, held);
        }
        group.later.set(slot, later);
    }

    /// Rechecks the children with a time up to `bound`, until which the group holds its children.
    fn look_again(&mut self, number: u32, bound: u64) {
        loop {
            let first = self.groups[number as usize].later.first();
            if first.release > bound || first.is_none() {
                return;
            }
            let own = self.places[first.child as usize].own;
            let entry = match self.groups.get(own as usize) {
                None => Entry { turn: first, until: u64::MAX },
                Some(group) => {
                    if group.nested {
                        self.look_again(own, bound.max(group.due));
                    }
                    self.groups[own as usize].entry(first.child)
                }
            };
            self.place(number, first.child, entry, bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A reference for [`Order`] that searches all classes.
    struct Classes {
        parents: Vec<Option<usize>>,
        due: Vec<u64>,
        active: Vec<bool>,
    }

    impl Classes {
        fn first(&self) -> Option<(u64, u64, usize)> {
            let turn = |leaf: usize| {
                let (mut release, mut above) = (self.due[leaf], self.parents[leaf]);
                while let Some(parent) = above {
                    release = release.max(self.due[parent]);
                    above = self.parents[parent];
                }
                (release, self.due[leaf], leaf)
            };
            (0..self.due.len()).filter(|&leaf| self.active[leaf]).map(turn).min()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// Trees up to some eight levels deep, with few distinct times, so that many are equal.
        #[test]
        fn the_same_class_is_first_as_by_a_look_at_all(
            drawn in prop::collection::vec(0..12_usize, 1..40),
            steps in prop::collection::vec((0..40_usize, 0..3_u64, 0..4_u64, 0..10_u32), 1..300),
        ) {
            let within = |class: usize| drawn[class] < class && drawn[class] != 11;
            let parents: Vec<_> =
                (0..drawn.len()).map(|c| within(c).then_some(drawn[c])).collect();
            let count = parents.len();
            let leaves: Vec<usize> =
                (0..count).filter(|&c| !parents.contains(&Some(c))).collect();
            let mut order = Order::new(&parents);
            let mut all = Classes { parents, due: vec![0; count], active: vec![false; count] };
            for (which, own, above, what) in steps {
                // The first class sends, or any class begins, continues or ends.
                let first = all.first().map(|(_, _, leaf)| leaf);
                let leaf = first.filter(|_| what < 7).unwrap_or(leaves[which % leaves.len()]);
                all.due[leaf] += own;
                let mut parent = all.parents[leaf].filter(|_| what < 7);
                while let Some(class) = parent {
                    all.due[class] = all.due[class].max(all.due[leaf].min(above * 9)) + above;
                    order.set_group(class, all.due[class]);
                    parent = all.parents[class];
                }
                all.active[leaf] = what != 3 && what != 7;
                order.set(leaf, all.active[leaf].then_some(all.due[leaf]));
                let found = order.first().map(|turn| (turn.release, turn.own, turn.leaf as usize));
                prop_assert_eq!(found, all.first());
            }
        }
    }
}
