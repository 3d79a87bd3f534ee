//! The packet memory of a switch, shared by its ports. Bytes are accounted by ingress port and priority.
//!
//! A group is one priority of one ingress port, or all of them if the port is paused as a whole. It has a minimum
//! of its own, then takes from the shared part up to a threshold, and then, if it is lossless, from its headroom.
//! It is paused from the threshold on. A threshold is fixed, or a multiple of the remaining shared part (Choudhury
//! and Hahne, IEEE/ACM ToN 6(2), 1998). Lossy priorities are limited to a multiple of this kind by their egress
//! queues, and have no headroom. A packet occupies memory from its complete arrival until its first bit leaves.

use base::priorities::PRIORITIES;
use base::{Bytes, DropReason, Priorities};

/// The limit of one group or queue in the shared part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threshold {
    /// A number of bytes.
    Fixed(u64),
    /// A multiple of the remaining shared part: numerator and denominator.
    Dynamic(u32, u32),
}

impl Threshold {
    #[cold]
    fn wide(left: u64, over: u32, under: u32) -> u64 {
        let bytes = u128::from(left) * u128::from(over) / u128::from(under.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    #[inline]
    fn of(self, left: u64) -> u64 {
        match self {
            Self::Fixed(bytes) => bytes,
            // A real memory does not overflow here, but no check ensures it.
            Self::Dynamic(over, under) => match left.checked_mul(over.into()) {
                Some(product) => product / u64::from(under.max(1)),
                None => Self::wide(left, over, under),
            },
        }
    }
}

/// The rules for all groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The lossless priorities.
    pub(super) lossless: Priorities,
    /// Whether a port is paused as a whole, so that its priorities are one group.
    pub(super) whole_ports: bool,
    /// The threshold at which a lossless group is paused.
    pub(super) xoff: Threshold,
    /// How far below `xoff` a group must fall to go on.
    pub(super) xon_offset: u64,
    /// The limit of an egress queue of a lossy priority.
    pub(super) lossy: Threshold,
    /// Each group's minimum.
    pub(super) reserved: u64,
    /// The size of the shared part in bytes.
    pub(super) shared: u64,
}

/// One ingress port and priority.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    /// Bytes within its minimum and the shared part.
    held: u64,
    /// Bytes in its headroom.
    headroom: u64,
    /// The size of its headroom.
    headroom_size: u64,
    headroom_max: u64,
    stopped: bool,
}

/// The occupancy of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// The maximum number of bytes in it.
    pub bytes_max: Bytes,
    /// The maximum number of bytes in the shared part.
    pub shared_max: Bytes,
    /// The size of the shared part.
    pub shared_size: Bytes,
}

/// The memory.
#[derive(Debug)]
pub(super) struct Buffer {
    rules: Rules,
    groups: Box<[Group]>,
    /// Bytes by egress port and priority.
    queues: Box<[u64]>,
    /// Bytes in use of the shared part.
    shared: u64,
    bytes: u64,
    occupancy: Occupancy,
    /// Groups that may go on, with their pause not ended yet.
    going_on: Vec<u32>,
}

impl Buffer {
    /// The memory of a switch; `headrooms` gives, per port, the headroom of each lossless group.
    pub(super) fn new(rules: Rules, headrooms: impl Iterator<Item = Bytes>) -> Self {
        let groups = headrooms.flat_map(|Bytes(headroom_size)| {
            [Group { headroom_size, ..Group::default() }; PRIORITIES]
        });
        let groups: Box<[Group]> = groups.collect();
        let occupancy = Occupancy { shared_size: Bytes(rules.shared), ..Occupancy::default() };
        let queues = vec![0; groups.len()].into();
        Self { rules, groups, queues, shared: 0, bytes: 0, occupancy, going_on: Vec::new() }
    }

    /// The group of packets that arrive at a port with a priority.
    #[inline]
    fn group_of(&self, ingress: u32, priority: u8) -> usize {
        let priority = if self.rules.whole_ports { 0 } else { usize::from(priority) % PRIORITIES };
        ingress as usize * PRIORITIES + priority
    }

    #[inline]
    fn queue_of(egress: u32, priority: u8) -> usize {
        egress as usize * PRIORITIES + usize::from(priority) % PRIORITIES
    }

    /// The bytes of a priority that wait to leave through the port `egress`.
    pub(super) fn queue(&self, egress: u32, priority: u8) -> u64 {
        self.queues[Self::queue_of(egress, priority)]
    }

    /// The bytes of a group holding `held` that count against the shared part.
    #[inline]
    fn above_minimum(&self, held: u64) -> u64 {
        held.saturating_sub(self.rules.reserved)
    }

    /// Admits a packet that arrived at one port and leaves through another.
    ///
    /// # Errors
    ///
    /// If there is no space for it.
    #[inline]
    pub(super) fn admit(
        &mut self,
        [ingress, egress]: [u32; 2],
        priority: u8,
        length: u32,
    ) -> Result<(), DropReason> {
        let (length, number) = (u64::from(length), self.group_of(ingress, priority));
        let (group, left) = (&self.groups[number], self.rules.shared - self.shared);
        let above = self.above_minimum(group.held + length);
        let more = above - self.above_minimum(group.held);
        let queue = Self::queue_of(egress, priority);
        let lossless = self.rules.lossless.contains(priority);
        let (taken, threshold) = match lossless {
            true => (above, self.rules.xoff),
            false => (self.queues[queue] + length, self.rules.lossy),
        };
        if more == 0 || (more <= left && taken <= threshold.of(left)) {
            self.groups[number].held += length;
            self.shared += more;
            self.occupancy.shared_max = self.occupancy.shared_max.max(Bytes(self.shared));
        } else if lossless && group.headroom + length <= group.headroom_size {
            let group = &mut self.groups[number];
            group.headroom += length;
            group.headroom_max = group.headroom_max.max(group.headroom);
        } else {
            return Err(DropReason::SharedBuffer);
        }
        self.queues[queue] += length;
        self.bytes += length;
        self.occupancy.bytes_max = self.occupancy.bytes_max.max(Bytes(self.bytes));
        Ok(())
    }

    /// Frees the memory of a packet: the headroom first, the minimum last.
    #[inline]
    pub(super) fn release(&mut self, [ingress, egress]: [u32; 2], priority: u8, length: u32) {
        let (length, number) = (u64::from(length), self.group_of(ingress, priority));
        let group = &mut self.groups[number];
        let headroom = length.min(group.headroom);
        group.headroom -= headroom;
        let before = group.held;
        group.held -= length - headroom;
        let (after, stopped) = (group.held, group.stopped);
        self.shared -= self.above_minimum(before) - self.above_minimum(after);
        self.queues[Self::queue_of(egress, priority)] -= length;
        self.bytes -= length;
        if stopped && self.may_go_on(number) {
            self.groups[number].stopped = false;
            self.going_on.push(number as u32);
        }
    }

    fn may_go_on(&self, number: usize) -> bool {
        let group = &self.groups[number];
        let above = self.above_minimum(group.held);
        let threshold = self.rules.xoff.of(self.rules.shared - self.shared);
        group.headroom == 0 && (above == 0 || above + self.rules.xon_offset <= threshold)
    }

    /// Returns the group of packets that arrive at a port with a priority, if it has to be paused and was not
    /// before.
    #[inline]
    pub(super) fn stop(&mut self, ingress: u32, priority: u8) -> Option<u32> {
        if !self.rules.lossless.contains(priority) {
            return None;
        }
        let number = self.group_of(ingress, priority);
        let group = &self.groups[number];
        let threshold = self.rules.xoff.of(self.rules.shared - self.shared);
        let above = self.above_minimum(group.held);
        let full = group.headroom > 0 || (above > 0 && above >= threshold);
        if !full || group.stopped {
            return None;
        }
        self.groups[number].stopped = true;
        Some(number as u32)
    }

    /// Takes a group that may go on since the last call.
    #[inline]
    pub(super) fn take_going_on(&mut self) -> Option<u32> {
        self.going_on.pop()
    }

    /// The ingress port of a group, and its priority.
    pub(super) const fn place(group: u32) -> (u32, u8) {
        let priorities = PRIORITIES as u32;
        (group / priorities, (group % priorities) as u8)
    }

    /// Bytes in it.
    #[cfg(debug_assertions)]
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its occupancy.
    pub(super) const fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// The maximum bytes in the headroom of any group of a port, and the size of that headroom.
    pub(super) fn headroom(&self, ingress: u32) -> [Bytes; 2] {
        let first = ingress as usize * PRIORITIES;
        let groups = self.groups.get(first..first + PRIORITIES).unwrap_or_default();
        let most = groups.iter().map(|group| group.headroom_max).max().unwrap_or(0);
        let size = groups.first().map_or(0, |group| group.headroom_size);
        [Bytes(most), Bytes(size)]
    }

    /// Asserts that its accounts match the packets that it holds, given by ingress, egress, priority and length.
    #[cfg(debug_assertions)]
    pub(super) fn assert_accounts(&self, packets: impl Iterator<Item = ([u32; 2], u8, u32)>) {
        let (mut groups, mut queues) = (vec![0; self.groups.len()], vec![0; self.queues.len()]);
        for ([ingress, egress], priority, length) in packets {
            groups[self.group_of(ingress, priority)] += u64::from(length);
            queues[Self::queue_of(egress, priority)] += u64::from(length);
        }
        let counted: Vec<u64> = self.groups.iter().map(|g| g.held + g.headroom).collect();
        assert_eq!((groups, queues), (counted, self.queues.to_vec()), "the switch's memory");
        let shared: u64 = self.groups.iter().map(|group| self.above_minimum(group.held)).sum();
        assert_eq!(shared, self.shared, "what its groups share");
    }
}
