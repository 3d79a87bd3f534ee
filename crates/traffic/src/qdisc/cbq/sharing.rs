//! Selection of the next sender: limits, borrowing and the two guidelines for it.

use core::cmp::Reverse;
use core::ops::Range;

use super::nodes::{Leaf, Lender, State, own_ring};
use super::{Cbq, LinkSharing};
use crate::discipline::Dequeued;
use base::units::Instant;

/// An instant to recheck a leaf or a group: picoseconds in the upper bits, the number of the leaf or group in
/// the lower 32 (groups after leaves). One comparison finds the earliest.
pub(super) type Alarm = Reverse<u128>;

/// The leaf that sends next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    leaf: u32,
    /// The group that it borrows from, or `OWN`.
    lender: u32,
}

/// No lender: the leaf uses its own rate.
const OWN: u32 = u32::MAX;

impl Pick {
    /// A leaf within its own rate.
    #[inline]
    pub(super) const fn own(leaf: usize) -> Self {
        Self { leaf: leaf as u32, lender: OWN }
    }

    #[inline]
    pub(super) const fn leaf(self) -> usize {
        self.leaf as usize
    }

    /// The group that the leaf borrows from.
    #[inline]
    pub(super) fn lender(self) -> Option<usize> {
        (self.lender != OWN).then_some(self.lender as usize)
    }
}

fn alarm(then: Instant, of: usize) -> Alarm {
    Reverse(u128::from(then.as_ps()) << 32 | of as u128)
}

fn parts(Reverse(alarm): Alarm) -> (Instant, usize) {
    (Instant::from_ps((alarm >> 32) as u64), alarm as u32 as usize)
}

impl Leaf {
    /// When to recheck a leaf over its limit. A leaf that may not borrow sleeps until it has earned
    /// `minburst` packets.
    fn resume(&self) -> Instant {
        if self.borrow { self.meter.due() } else { self.meter.resume() }
    }

    /// Weighted round robin: the leaf at the head keeps its turn until its allowance is used up. It then gets
    /// the allowance of its next turn, and this turn ends.
    #[inline]
    fn has_turn(&mut self) -> bool {
        let has = self.allowance > 0;
        if !has {
            self.allowance += self.quantum;
        }
        has
    }
}

/// The priorities with a set bit, the highest first.
fn priorities(mut bits: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let priority = bits.checked_ilog2()?;
        bits &= !(1 << priority);
        Some(priority as usize)
    })
}

/// The leaves' and groups' places in the rings.
impl Cbq {
    /// Puts a leaf with packets into the rings: that of its own rate, and those of every group that it may
    /// borrow from.
    pub(super) fn link(&mut self, leaf: usize, front: bool) {
        let node = &mut self.nodes.leaves[leaf];
        node.linked = true;
        let priority = usize::from(node.priority);
        if node.state == State::Idle {
            node.state = State::Open;
            self.enter(own_ring(priority), leaf, front);
        }
        for place in 0..self.nodes.leaves[leaf].lenders.len() {
            let Lender { group, slot } = self.nodes.leaves[leaf].lenders[place];
            let (group, slot) = (group as usize, slot as usize);
            self.enter(self.nodes.borrowing_ring(group, priority), slot, front);
            self.gain_borrower(group, priority, front);
        }
    }

    fn enter(&mut self, ring: usize, slot: usize, front: bool) {
        if front {
            self.nodes.rings.push_front(ring, slot);
        } else {
            self.nodes.rings.push_back(ring, slot);
        }
    }

    /// Takes a leaf out of the rings.
    pub(super) fn unlink(&mut self, leaf: usize) {
        let node = &mut self.nodes.leaves[leaf];
        node.linked = false;
        let priority = usize::from(node.priority);
        // A leaf with an alarm becomes idle when the alarm goes off.
        if node.state == State::Open {
            node.state = State::Idle;
        }
        self.nodes.rings.remove(leaf);
        for place in 0..self.nodes.leaves[leaf].lenders.len() {
            let Lender { group, slot } = self.nodes.leaves[leaf].lenders[place];
            let (group, slot) = (group as usize, slot as usize);
            self.nodes.rings.remove(slot);
            if self.nodes.rings.head(self.nodes.borrowing_ring(group, priority)).is_none() {
                self.lose_borrowers(group, priority);
            }
        }
    }

    fn gain_borrower(&mut self, group: usize, priority: usize, front: bool) {
        let node = &mut self.nodes.groups[group];
        if node.borrowers & (1 << priority) != 0 {
            return;
        }
        node.borrowers |= 1 << priority;
        if node.state == State::Idle {
            node.state = State::Open;
        }
        if node.state == State::Open {
            let ring = self.nodes.lending_ring(self.nodes.groups[group].level, priority);
            self.enter(ring, self.nodes.lending_slot(group, priority), front);
        }
    }

    fn lose_borrowers(&mut self, group: usize, priority: usize) {
        self.nodes.rings.remove(self.nodes.lending_slot(group, priority));
        let node = &mut self.nodes.groups[group];
        node.borrowers &= !(1 << priority);
        if node.borrowers == 0 && node.state == State::Open {
            node.state = State::Idle;
        }
    }

    /// A leaf was found over its limit.
    #[inline(never)]
    fn regulate(&mut self, leaf: usize) {
        self.nodes.rings.remove(leaf);
        let node = &mut self.nodes.leaves[leaf];
        node.state = State::Over;
        let then = node.resume();
        self.set_alarm(then, leaf);
    }

    /// Stops a group from lending after it was found over its limit.
    #[inline(never)]
    fn exhaust(&mut self, group: usize) {
        for priority in priorities(self.nodes.groups[group].borrowers) {
            self.nodes.rings.remove(self.nodes.lending_slot(group, priority));
        }
        let node = &mut self.nodes.groups[group];
        node.state = State::Over;
        let then = node.meter.due();
        self.set_alarm(then, self.nodes.leaves.len() + group);
    }

    fn set_alarm(&mut self, then: Instant, of: usize) {
        self.alarms.push(alarm(then, of));
    }

    /// The instant to recheck the owner of an alarm; `None` if it has nothing to do. Charges in between move
    /// this instant later, never earlier.
    fn wanted(&self, of: usize) -> Option<Instant> {
        if let Some(node) = self.nodes.leaves.get(of) {
            return node.linked.then(|| node.resume());
        }
        let node = &self.nodes.groups[of - self.nodes.leaves.len()];
        (node.borrowers != 0).then(|| node.meter.due())
    }

    /// The earliest valid alarm, after outdated alarms are corrected or removed.
    fn first_alarm(&mut self) -> Option<(Instant, usize)> {
        while let Some(&first) = self.alarms.peek() {
            let (set, of) = parts(first);
            match self.wanted(of) {
                Some(wanted) if wanted <= set => return Some((set, of)),
                Some(wanted) => {
                    if let Some(mut first) = self.alarms.peek_mut() {
                        *first = alarm(wanted, of);
                    }
                }
                None => {
                    self.alarms.pop();
                    *self.state_of(of) = State::Idle;
                }
            }
        }
        None
    }

    fn state_of(&mut self, of: usize) -> &mut State {
        let leaves = self.nodes.leaves.len();
        if of < leaves {
            &mut self.nodes.leaves[of].state
        } else {
            &mut self.nodes.groups[of - leaves].state
        }
    }

    /// Opens the leaves and groups with an alarm at `at` or earlier.
    #[inline]
    pub(super) fn wake(&mut self, at: Instant) {
        if self.alarms.peek().is_some_and(|&first| parts(first).0 <= at) {
            self.wake_some(at);
        }
    }

    #[inline(never)]
    fn wake_some(&mut self, at: Instant) {
        while self.alarms.peek().is_some_and(|&first| parts(first).0 <= at) {
            match self.first_alarm() {
                Some((set, of)) if set <= at => {
                    self.alarms.pop();
                    self.open(of);
                }
                _ => return,
            }
        }
    }

    fn open(&mut self, of: usize) {
        *self.state_of(of) = State::Open;
        if let Some(node) = self.nodes.leaves.get(of) {
            self.nodes.rings.push_back(own_ring(node.priority.into()), of);
            return;
        }
        let group = of - self.nodes.leaves.len();
        let node = &self.nodes.groups[group];
        let (level, borrowers) = (node.level, node.borrowers);
        for priority in priorities(borrowers) {
            let ring = self.nodes.lending_ring(level, priority);
            self.nodes.rings.push_back(ring, self.nodes.lending_slot(group, priority));
        }
    }

    /// The instant to ask again, if no leaf may send now.
    pub(super) fn wait(&mut self) -> Dequeued {
        self.first_alarm().map_or(Dequeued::Empty, |(instant, _)| Dequeued::NotBefore(instant))
    }
}

/// The guidelines.
impl Cbq {
    /// The usual choice of both guidelines: a leaf of the highest priority within its own rate, if no leaf of
    /// a higher priority may borrow.
    #[inline]
    pub(super) fn usual_choice(&mut self, at: Instant) -> Option<usize> {
        let priority = self.nodes.rings.occupied(0).checked_ilog2()?;
        let higher = |level| self.nodes.rings.occupied(level) >> priority > 1;
        if (1..=self.top_level).any(higher) {
            return None;
        }
        self.within_rate(priority as usize, at)
    }

    /// The leaf that sends a packet that starts at `at`. A repeated call returns the same leaf.
    pub(super) fn choose(&mut self, at: Instant) -> Option<Pick> {
        self.wake(at);
        let pick = match self.sharing {
            LinkSharing::Formal => self.choose_formally(at),
            LinkSharing::TopLevel => self.choose_below_top(at),
        };
        if pick.is_none() && self.efficient {
            return self.candidate_of(self.nodes.levels, at);
        }
        pick
    }

    /// The formal guideline: a class may send if it is not over its limit, or if it has an ancestor that is
    /// not over its limit and no class below that ancestor's level is unsatisfied. So levels come before
    /// priorities.
    fn choose_formally(&mut self, at: Instant) -> Option<Pick> {
        (0..self.nodes.levels).find_map(|level| self.candidate_of(level, at))
    }

    /// The candidate of the highest priority at a level.
    fn candidate_of(&mut self, level: usize, at: Instant) -> Option<Pick> {
        let occupied = self.nodes.rings.occupied(level);
        priorities(occupied).find_map(|priority| self.candidate(level, priority, at))
    }

    /// The first candidate at one of these levels, priorities before levels.
    #[inline]
    fn candidate_within(&mut self, levels: Range<usize>, at: Instant) -> Option<Pick> {
        let mut waiting = 0;
        for level in levels.clone() {
            waiting |= self.nodes.rings.occupied(level);
            // Most trees have two or three levels, so a plain loop is best.
            if waiting == u8::MAX {
                break;
            }
        }
        for priority in priorities(waiting) {
            for level in levels.clone() {
                if self.nodes.rings.occupied(level) >> priority & 1 == 0 {
                    continue;
                }
                let pick = self.candidate(level, priority, at);
                if pick.is_some() {
                    return pick;
                }
            }
        }
        None
    }

    /// The top-level guideline: a class may send if it is not over its limit, or if it has an ancestor at
    /// `Top-Level` or below that is not over its limit. So priorities come before levels. If no class may
    /// send, the level is raised, as in ALTQ.
    #[inline]
    fn choose_below_top(&mut self, at: Instant) -> Option<Pick> {
        loop {
            let pick = self.candidate_within(0..self.top_level + 1, at);
            if pick.is_some() || self.top_level + 1 >= self.nodes.levels {
                return pick;
            }
            self.top_level += 1;
        }
    }

    /// The leaf of this priority with the next turn, among the leaves within their rate (level 0) or among
    /// those that may borrow from a group of this level.
    #[inline]
    fn candidate(&mut self, level: usize, priority: usize, at: Instant) -> Option<Pick> {
        if level == 0 {
            return self.within_rate(priority, at).map(Pick::own);
        }
        let ring = self.nodes.lending_ring(level, priority);
        while let Some(slot) = self.nodes.rings.head(ring) {
            let group = self.nodes.rings.owner(slot);
            if self.nodes.groups[group].meter.due() > at {
                self.exhaust(group);
                continue;
            }
            let leaf = self.borrower(group, priority)?;
            return Some(Pick { leaf: leaf as u32, lender: group as u32 });
        }
        None
    }

    // Forced inline: see `Cbq::depart`.
    #[inline(always)]
    fn within_rate(&mut self, priority: usize, at: Instant) -> Option<usize> {
        let ring = own_ring(priority);
        let mut head = self.nodes.rings.head(ring);
        while let Some(place) = head {
            let leaf = &mut self.nodes.leaves[place];
            if leaf.meter.due() > at {
                self.regulate(place);
                head = self.nodes.rings.head(ring);
            } else if leaf.has_turn() {
                return Some(place);
            } else {
                head = Some(self.nodes.rings.turn(ring, place));
            }
        }
        None
    }

    fn borrower(&mut self, group: usize, priority: usize) -> Option<usize> {
        let ring = self.nodes.borrowing_ring(group, priority);
        let mut slot = self.nodes.rings.head(ring)?;
        loop {
            let leaf = self.nodes.rings.owner(slot);
            if self.nodes.leaves[leaf].has_turn() {
                return Some(leaf);
            }
            slot = self.nodes.rings.turn(ring, slot);
        }
    }

    /// Passes the turn on after a leaf borrowed: the next group of the lender's level lends next.
    #[inline(never)]
    pub(super) fn pass_turn(&mut self, lender: usize, leaf: usize) {
        let priority = self.nodes.leaves[leaf].priority.into();
        let ring = self.nodes.lending_ring(self.nodes.groups[lender].level, priority);
        self.nodes.rings.rotate(ring);
    }

    /// Lowers `Top-Level` when a packet arrived: to the leaves if its class is not over
    /// its limit, else to the level of the nearest ancestor that is not.
    pub(super) fn arrived(&mut self, leaf: usize, now: Instant) {
        let at = self.wire.start(now);
        let node = &self.nodes.leaves[leaf];
        let level = if node.meter.due() <= at { Some(0) } else { self.lending_level(node, at) };
        self.top_level = level.map_or(self.top_level, |level| level.min(self.top_level));
    }

    /// Sets `Top-Level` after a borrowed packet was sent: to the level of its lender while that keeps lending
    /// to the leaf, else to the level of the first class found unsatisfied, highest priority first, or to the
    /// link's if there is none (ALTQ's rule; the paper's goes to the link's at once).
    ///
    /// The link itself always has time to lend, so borrowing from it must always be considered.
    ///
    /// By this rule, and by the paper's, classes of high priority that borrow in turn can keep a class of low
    /// priority from its own rate forever, if no packet of it arrives. A class that has waited until half of
    /// its rate is lost therefore goes first: a departure from both.
    #[inline]
    pub(super) fn departed(&mut self, pick: Pick) {
        if let (Some(lender), LinkSharing::TopLevel) = (pick.lender(), self.sharing) {
            self.lent(pick, lender);
        }
    }

    fn lent(&mut self, pick: Pick, lender: usize) {
        let (link, next) = (self.nodes.link(), self.wire.free);
        if self.finds_neglected(next) {
            self.top_level = 0;
            return;
        }
        let group = &self.nodes.groups[lender];
        if lender < link && group.meter.due() <= next && self.nodes.leaves[pick.leaf()].linked {
            self.top_level = group.level;
            return;
        }
        let levels = self.nodes.levels - 1;
        let unsatisfied = self.candidate_within(0..levels, next);
        let level = |pick: Pick| pick.lender().map_or(0, |lender| self.nodes.groups[lender].level);
        self.top_level = unsatisfied.map_or(levels, level);
    }

    /// Whether a leaf within its rate has waited twice as long as it can catch up. The first of each ring has
    /// waited the longest for its turn.
    fn finds_neglected(&self, at: Instant) -> bool {
        let first = |priority| self.nodes.rings.head(own_ring(priority));
        priorities(self.nodes.rings.occupied(0)).filter_map(first).any(|leaf| {
            let meter = &self.nodes.leaves[leaf].meter;
            meter.due() + (meter.credit_max() + self.nodes.round).times(2) < at
        })
    }

    /// The level of the nearest group that would lend to a leaf.
    fn lending_level(&self, leaf: &Leaf, at: Instant) -> Option<usize> {
        let groups = leaf.lenders.iter().map(|lender| &self.nodes.groups[lender.group as usize]);
        let level =
            groups.filter(|group| group.meter.due() <= at).map(|group| group.level).next()?;
        (level < self.nodes.levels).then_some(level)
    }
}
