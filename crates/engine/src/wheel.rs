//! The event queue: a calendar of event sources, with one entry per source.
//!
//! The next few events are a sorted list. Later ones are in a ring of buckets, and are sorted only when they become
//! due. Events beyond the ring, mostly timers, wait in a tournament tree. Buckets are sized to hold a few events at
//! any event density, so an event costs the same for any number of sources (R. Brown, Calendar Queues, CACM 31(10),
//! 1988). Ties go to the lower source, so every run has one order, which no width changes.

use base::{Duration, Instant};
use network::Schedule;

/// The initial bucket width is 2^21 ps, 2.1 us. The ring reaches 1024 buckets ahead, 2.1 ms: below the 2^32 ps that
/// an entry can represent.
const SHIFT: u32 = 21;
const BUCKETS: u64 = 64 * 16;
const MASK: u64 = BUCKETS - 1;
/// The range of the width: 4 ns to 34 us.
const SHIFTS: std::ops::RangeInclusive<u32> = 12..=25;

/// The width is reviewed after this many buckets, or after buckets with this many events.
const WINDOW: u32 = 256;
const EVENTS: u32 = 2048;
/// The target number of events in a bucket: sorting is cheap then, and taking a bucket does not dominate. From a
/// quarter of it to twice as many are acceptable, so that the width does not oscillate.
const DENSITY: u32 = 32;
const DENSITY_MIN: u32 = DENSITY / 4;
const DENSITY_MAX: u32 = 2 * DENSITY;

/// The front takes one bucket at a time. With no more sources than this it takes the whole ring, and usually holds
/// them all.
const FEW: usize = 32;

/// A set of sources with at most one time each.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// The events before `end`, the latest first. The upper bits hold the picoseconds since `base`, the lower bits
    /// the source, so entries compare as one number.
    front: Vec<u64>,
    base: u64,
    end: u64,
    /// The number of buckets that the front covers.
    reach: u64,
    /// The exponent of a bucket's width, which is 2^shift ps.
    shift: u32,
    /// The number of refills of the front since the last review of the width, and of events returned.
    advances: u32,
    events: u32,
    /// The first source of each bucket; bucket `b` of those from `end` on is `ring[b & MASK]`. A
    /// bucket's sources are a list in no order.
    ring: Vec<u32>,
    /// A bit for each non-empty bucket of the ring, and one for each non-zero word of these.
    occupied: [u64; 16],
    words: u64,
    /// The events that were beyond the ring when they were set.
    far: Schedule,
    sources: Vec<Source>,
}

#[derive(Clone, Copy, Debug)]
struct Source {
    /// The time at which it acts, `NEVER` if it is not armed.
    at: Instant,
    /// The next source in its bucket.
    next: u32,
    /// Whether it is in `far`.
    far: bool,
}

/// The end of a bucket's list.
const NONE: u32 = u32::MAX;

/// Inserts `key` into entries that are sorted except for the last one, which it overwrites. Most events are set for
/// soon, so the search starts at the early end.
#[inline]
fn sink(mut entries: &mut [u64], key: u64) {
    while let [.., before, last] = entries {
        if *before >= key {
            break;
        }
        *last = *before;
        let shorter = entries.len() - 1;
        entries = &mut entries[..shorter];
    }
    if let [.., last] = entries {
        *last = key;
    }
}

impl Wheel {
    /// A calendar for `sources` sources, numbered from 0, none of them armed.
    pub(crate) fn new(sources: usize) -> Self {
        Self {
            front: Vec::new(),
            base: 0,
            end: 0,
            reach: if sources <= FEW { BUCKETS } else { 1 },
            shift: SHIFT,
            advances: 0,
            events: 0,
            ring: vec![NONE; BUCKETS as usize],
            occupied: [0; 16],
            words: 0,
            far: Schedule::new(sources),
            sources: vec![Source { at: Instant::NEVER, next: NONE, far: false }; sources],
        }
    }

    /// Sets `source` to act at `at` only; `Instant::NEVER` disarms it.
    #[inline]
    pub(crate) fn set(&mut self, source: u32, at: Instant) {
        let before = self.sources[source as usize].at;
        if before != Instant::NEVER {
            if at == before {
                return;
            }
            self.remove(source, before);
        }
        self.insert(source, at);
    }

    /// Sets `source` to act at `at` at the latest: an earlier time stays. Re-arming a retransmission timer on every
    /// ACK therefore costs a comparison.
    #[inline]
    pub(crate) fn arm(&mut self, source: u32, at: Instant) {
        if at < self.sources[source as usize].at {
            self.set(source, at);
        }
    }

    /// The earliest source, if its time is at or before `until`. It stays; the caller must take it out or put it
    /// off before it sets any other. If there is none, the caller must not set a source to a time before `until`.
    #[inline]
    pub(crate) fn first(&mut self, until: Instant) -> Option<(Instant, u32)> {
        self.events = self.events.wrapping_add(1);
        if self.front.is_empty() {
            self.advance(until)?;
        }
        let first = *self.front.last()?;
        let at = Instant::from_ps(self.base + (first >> 32));
        (at <= until).then_some((at, first as u32))
    }

    /// The source that acts after `others` others, as far as is known.
    #[inline]
    pub(crate) fn upcoming(&self, others: usize) -> Option<u32> {
        let place = self.front.len().checked_sub(1 + others)?;
        Some(self.front[place] as u32)
    }

    /// Takes out the source that is [`first`](Self::first).
    #[inline]
    pub(crate) fn take_first(&mut self) {
        if let Some(first) = self.front.pop() {
            self.sources[first as u32 as usize].at = Instant::NEVER;
        }
    }

    /// Sets the source that is [`first`](Self::first) to act again at `at`.
    #[inline]
    pub(crate) fn postpone_first(&mut self, at: Instant) {
        let Some(&first) = self.front.last() else { return };
        let (source, ps) = (first as u32, at.as_ps());
        if ps < self.end {
            self.sources[source as usize].at = at;
            let key = self.key(source, ps);
            sink(&mut self.front, key);
        } else {
            self.take_first();
            self.insert(source, at);
        }
    }

    /// Sets a source that is not armed to act at `at`.
    #[inline]
    pub(crate) fn insert(&mut self, source: u32, at: Instant) {
        debug_assert!(self.sources[source as usize].at == Instant::NEVER, "it is not armed");
        let ps = at.as_ps();
        if ps < self.end {
            self.sources[source as usize].at = at;
            self.insert_in_front(source, ps);
        } else {
            self.insert_later(source, at);
        }
    }

    /// Inserts an event at a time beyond the front.
    #[inline(never)]
    fn insert_later(&mut self, source: u32, at: Instant) {
        let bucket = at.as_ps() >> self.shift;
        let entry = &mut self.sources[source as usize];
        entry.at = at;
        if bucket - (self.end >> self.shift) < BUCKETS {
            let place = (bucket & MASK) as usize;
            entry.next = core::mem::replace(&mut self.ring[place], source);
            self.occupied[place / 64] |= 1 << (place % 64);
            self.words |= 1 << (place / 64);
        } else if at != Instant::NEVER {
            entry.far = true;
            self.far.set(source, at);
        }
    }

    #[inline]
    fn key(&self, source: u32, ps: u64) -> u64 {
        ps.saturating_sub(self.base) << 32 | u64::from(source)
    }

    #[inline]
    fn insert_in_front(&mut self, source: u32, ps: u64) {
        let key = self.key(source, ps);
        self.front.push(key);
        sink(&mut self.front, key);
    }

    /// Disarms a source that is set for `before`.
    #[cold]
    #[inline(never)]
    fn remove(&mut self, source: u32, before: Instant) {
        let ps = before.as_ps();
        self.sources[source as usize].at = Instant::NEVER;
        if self.sources[source as usize].far {
            self.far.set(source, Instant::NEVER);
            self.sources[source as usize].far = false;
        } else if ps < self.end {
            let key = self.key(source, ps);
            self.front.retain(|&other| other != key);
        } else {
            self.unlink(source, (ps >> self.shift & MASK) as usize);
        }
    }

    /// Takes a source out of its bucket's list.
    fn unlink(&mut self, source: u32, place: usize) {
        let next = self.sources[source as usize].next;
        let mut at = self.ring[place];
        if at == source {
            self.ring[place] = next;
            if next == NONE {
                self.vacate(place);
            }
            return;
        }
        while self.sources[at as usize].next != source {
            at = self.sources[at as usize].next;
        }
        self.sources[at as usize].next = next;
    }

    fn vacate(&mut self, place: usize) {
        self.occupied[place / 64] &= !(1 << (place % 64));
        if self.occupied[place / 64] == 0 {
            self.words &= !(1 << (place / 64));
        }
    }

    /// The first non-empty bucket that is not in the front yet.
    #[inline]
    fn next_bucket(&self) -> Option<u64> {
        let far = self.far.earliest();
        let far = (far != Instant::NEVER).then(|| far.as_ps() >> self.shift);
        self.next_occupied().into_iter().chain(far).min()
    }

    /// The earliest time at which a source acts, each put off by its own duration of `delays`; `NEVER` if none is armed.
    pub(crate) fn earliest_after(&self, delays: &[Duration]) -> Instant {
        let each = self.sources.iter().zip(delays).map(|(source, &delay)| source.at + delay);
        each.min().unwrap_or(Instant::NEVER)
    }

    /// The time before which no source acts; `NEVER` if none is armed. May be earlier than the first source by a
    /// bucket.
    pub(crate) fn quiet_until(&self) -> Instant {
        match self.front.last() {
            Some(first) => Instant::from_ps(self.base + (first >> 32)),
            None => {
                self.next_bucket().map_or(Instant::NEVER, |b| Instant::from_ps(b << self.shift))
            }
        }
    }

    /// Moves the events of the next buckets into the front; `None` if there is nothing by `until`. The front must
    /// not begin beyond `until`, because the next event set may be before that.
    #[inline(never)]
    fn advance(&mut self, until: Instant) -> Option<()> {
        self.advances += 1;
        if self.advances >= WINDOW || self.events >= EVENTS {
            self.judge_width();
        }
        let first = self.next_bucket().filter(|&bucket| bucket << self.shift <= until.as_ps())?;
        let near = self.next_occupied();
        let end = first + self.reach;
        // The search for buckets starts here.
        (self.base, self.end) = (first << self.shift, first << self.shift);
        let mut next = near;
        while let Some(bucket) = next.filter(|&bucket| bucket < end) {
            self.gather((bucket & MASK) as usize);
            next = self.next_occupied();
        }
        self.end = end.min(u64::MAX >> self.shift) << self.shift;
        self.take_from_far();
        self.sort_front();
        Some(())
    }

    /// Sorts the events in the front: by insertion if they are few, as is usual.
    #[inline]
    fn sort_front(&mut self) {
        if self.front.len() > 2 * DENSITY as usize {
            return self.front.sort_unstable_by(|a, b| b.cmp(a));
        }
        for count in 1..self.front.len() {
            let entries = &mut self.front[..=count];
            let key = entries[count];
            sink(entries, key);
        }
    }

    /// Changes the width if buckets hold too many events, or too few.
    #[cold]
    #[inline(never)]
    fn judge_width(&mut self) {
        let density = self.events / self.advances;
        (self.advances, self.events) = (0, 0);
        let shift = match density {
            0..DENSITY_MIN => self.shift + 1,
            DENSITY_MIN..DENSITY_MAX => self.shift,
            _ => self.shift.saturating_sub((density / DENSITY).ilog2()),
        };
        let shift = shift.clamp(*SHIFTS.start(), *SHIFTS.end());
        if shift != self.shift && self.reach == 1 {
            self.set_width(shift);
        }
    }

    /// Moves the ring's events into buckets of another width. The front is empty.
    fn set_width(&mut self, shift: u32) {
        let mut sources = Vec::new();
        while let Some(bucket) = self.next_occupied() {
            let place = (bucket & MASK) as usize;
            let mut source = core::mem::replace(&mut self.ring[place], NONE);
            self.vacate(place);
            while source != NONE {
                sources.push(source);
                source = self.sources[source as usize].next;
            }
        }
        self.shift = shift;
        for source in sources {
            self.insert_later(source, self.sources[source as usize].at);
        }
    }

    /// Moves a bucket's sources to the front, unsorted.
    #[inline]
    fn gather(&mut self, place: usize) {
        let mut source = core::mem::replace(&mut self.ring[place], NONE);
        self.vacate(place);
        while source != NONE {
            let Source { at, next, .. } = self.sources[source as usize];
            self.front.push(self.key(source, at.as_ps()));
            source = next;
        }
    }

    /// Moves the events before the end from beyond the ring to the front.
    fn take_from_far(&mut self) {
        while let Some((at, source)) = self.far.due(Instant::NEVER) {
            if at.as_ps() >= self.end {
                return;
            }
            self.far.set(source, Instant::NEVER);
            self.sources[source as usize].far = false;
            self.front.push(self.key(source, at.as_ps()));
        }
    }

    /// The first non-empty bucket from the end on.
    #[inline]
    fn next_occupied(&self) -> Option<u64> {
        let cursor = self.end >> self.shift;
        let start = cursor & MASK;
        let (word, bit) = ((start / 64) as usize, start % 64);
        let here = self.occupied[word] >> bit << bit;
        let place = if here != 0 {
            word as u64 * 64 + u64::from(here.trailing_zeros())
        } else {
            // Words after this one, then around the ring from the first, this one's low bits last.
            let after = self.words & !(u64::MAX >> (63 - word));
            let words = if after != 0 { after } else { self.words };
            if words == 0 {
                return None;
            }
            let found = words.trailing_zeros() as usize;
            found as u64 * 64 + u64::from(self.occupied[found].trailing_zeros())
        };
        Some(cursor + (place.wrapping_sub(start) & MASK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Operation {
        Set(u32, u64),
        Arm(u32, u64),
        Disarm(u32),
        Fire,
        PutOff(u64),
        Rest(u64),
        Width(u32),
    }

    /// Times after now in every range: the same bucket, the ring, its last buckets, beyond.
    fn after() -> impl Strategy<Value = u64> {
        let ring = BUCKETS << SHIFT;
        prop_oneof![
            0..1u64 << SHIFTS.start(),
            0..1u64 << SHIFT,
            0..ring,
            ring - (4 << SHIFT)..ring + (4 << SHIFT),
            0..ring * 300
        ]
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            2 => (0..150u32, after()).prop_map(|(s, t)| Operation::Set(s, t)),
            2 => (0..150u32, after()).prop_map(|(s, t)| Operation::Arm(s, t)),
            1 => (0..150u32).prop_map(Operation::Disarm),
            3 => Just(Operation::Fire),
            3 => after().prop_map(Operation::PutOff),
            1 => after().prop_map(Operation::Rest),
            1 => SHIFTS.prop_map(Operation::Width),
        ]
    }

    proptest! {
        /// Against a plain list: the earliest source comes first, ties by number, and time runs forward.
        #[test]
        fn keeps_the_order_of_a_plain_list(
            operations in prop::collection::vec(operation(), 1..1200),
            start in 0..BUCKETS << SHIFT,
            few in any::<bool>(),
        ) {
            // The same sources, as if there were few or many.
            let mut wheel = Wheel::new(150);
            wheel.reach = if few { BUCKETS } else { 1 };
            let mut list = [Instant::NEVER; 150];
            let mut now = start;
            let end = Instant::from_ps(u64::MAX - 1);
            for operation in operations {
                match operation {
                    Operation::Set(s, t) => {
                        list[s as usize] = Instant::from_ps(now + t);
                        wheel.set(s, Instant::from_ps(now + t));
                    }
                    Operation::Arm(s, t) => {
                        list[s as usize] = list[s as usize].min(Instant::from_ps(now + t));
                        wheel.arm(s, Instant::from_ps(now + t));
                    }
                    Operation::Disarm(s) => {
                        list[s as usize] = Instant::NEVER;
                        wheel.set(s, Instant::NEVER);
                    }
                    Operation::PutOff(t) => {
                        let (at, s) = (0..150u32).map(|s| (list[s as usize], s)).min().unwrap();
                        if wheel.first(end) == Some((at, s)) {
                            now = now.max(at.as_ps());
                            list[s as usize] = Instant::from_ps(now + t);
                            wheel.postpone_first(Instant::from_ps(now + t));
                        }
                    }
                    // As [`Wheel::judge_width`] does it.
                    Operation::Width(shift) => {
                        if wheel.front.is_empty() && !few {
                            wheel.set_width(shift);
                        }
                    }
                    Operation::Rest(t) => {
                        let (at, s) = (0..150u32).map(|s| (list[s as usize], s)).min().unwrap();
                        let until = Instant::from_ps(now + t);
                        prop_assert!(wheel.quiet_until() <= at);
                        let want = (at <= until).then_some((at, s));
                        prop_assert_eq!(wheel.first(until), want);
                        // Time advances to the event found, and otherwise to the end of the search.
                        now = want.map_or(now + t, |(at, _)| now.max(at.as_ps()));
                    }
                    Operation::Fire => {
                        let (at, s) = (0..150u32).map(|s| (list[s as usize], s)).min().unwrap();
                        let want = (at != Instant::NEVER).then_some((at, s));
                        prop_assert_eq!(wheel.first(end), want);
                        if want.is_some() {
                            now = now.max(at.as_ps());
                            list[s as usize] = Instant::NEVER;
                            wheel.take_first();
                        }
                    }
                }
            }
        }
    }

    /// The maximum number of entries in the front while `sources` sources act every `ns` nanoseconds.
    fn longest_front(sources: u32, ns: u64) -> usize {
        let mut wheel = Wheel::new(sources as usize);
        let period = ns * 1_000;
        for source in 0..sources {
            let at = period * u64::from(source) / u64::from(sources);
            wheel.set(source, Instant::from_ps(at));
        }
        let mut longest = 0;
        for event in 0..200_000 {
            let (at, _) = wheel.first(Instant::NEVER).expect("all are armed");
            longest = if event < 100_000 { 0 } else { longest.max(wheel.front.len()) };
            wheel.postpone_first(Instant::from_ps(at.as_ps() + period));
        }
        longest
    }

    #[test]
    fn few_events_are_in_order_at_a_time_however_dense_they_are() {
        for (sources, ns) in [(40, 1_000_000), (40, 1_000), (1_000, 10_000), (8_000, 10_000)] {
            let longest = longest_front(sources, ns);
            assert!(longest <= 160, "{longest} entries of {sources} sources, each every {ns} ns");
        }
    }
}
