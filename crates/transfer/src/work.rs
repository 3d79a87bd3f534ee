//! The data still to be sent, for all streams: small files in batches, large ones chunk by chunk.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ops;
use std::sync::Mutex;

use crate::message::{Entry, Kind, Range};
use crate::partial::{WRONG_MAX, chunks};
use crate::ranges::Ranges;
use crate::store::lock;

/// The most bytes of small files that a stream gets at a time. A file of several chunks up to this size also goes to
/// one stream.
const BATCH_BYTES: u64 = 1 << 20;
/// The most small files that a stream gets at a time.
const BATCH_FILES: usize = 256;

/// The next step of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// The files of at most one chunk among these entries, whole.
    Small(ops::Range<u32>),
    /// All chunks of a file that are missing, and its end.
    Whole(u32),
    /// A chunk of a file.
    Chunk {
        /// The file.
        entry: u32,
        /// The chunk.
        index: u64,
    },
    /// A chunk that arrived wrong is to be retransmitted. The end of its file is sent independently of it.
    Resend {
        /// The file.
        entry: u32,
        /// The chunk.
        index: u64,
    },
    /// A file is to be closed: the receiver has all of its chunks.
    Close(u32),
}

/// The data that is to be sent.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    entries: &'a [Entry],
    chunk: u32,
    /// Files that are not sent at all.
    skipped: HashSet<u32>,
    /// Chunks that the receiver has.
    have: HashMap<u32, Ranges>,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The entry to go on with, and its chunk.
    next: u32,
    from: u64,
    /// Chunks to retransmit.
    again: VecDeque<(u32, u64)>,
    /// How many chunks of a file came wrong.
    wrong: HashMap<u32, u32>,
    /// How many chunks of the files under way were not sent yet.
    left: HashMap<u32, u64>,
}

impl<'a> Work<'a> {
    pub(crate) fn new(entries: &'a [Entry], chunk: u32) -> Self {
        let queue = Mutex::new(Queue::default());
        Self { entries, chunk, skipped: HashSet::new(), have: HashMap::new(), queue }
    }

    /// Marks a file as not to be sent: the receiver has it, or refuses it. Returns false if there is no such file, or
    /// it was marked already.
    pub(crate) fn skip(&mut self, entry: u32) -> bool {
        (entry as usize) < self.entries.len() && self.skipped.insert(entry)
    }

    /// Notes that the receiver has chunks of a file.
    pub(crate) fn have(&mut self, entry: u32, range: Range) {
        self.have.entry(entry).or_default().insert(range);
    }

    /// How many chunks an entry has.
    fn chunks(&self, entry: u32) -> u64 {
        self.entries.get(entry as usize).map_or(0, |entry| chunks(entry.size(), self.chunk))
    }

    /// Whether an entry is a file that is to be sent.
    pub(crate) fn is_wanted(&self, entry: u32) -> bool {
        let is_file = |entry: &Entry| matches!(entry.kind, Kind::File { .. });
        self.entries.get(entry as usize).is_some_and(is_file) && !self.skipped.contains(&entry)
    }

    /// Returns what to do next; nothing if all was given out.
    pub(crate) fn take(&self) -> Option<Job> {
        let mut queue = lock(&self.queue);
        if let Some((entry, index)) = queue.again.pop_front() {
            return Some(Job::Resend { entry, index });
        }
        let count = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        while queue.next < count {
            let entry = queue.next;
            if !self.is_wanted(entry) {
                queue.next += 1;
                continue;
            }
            if self.chunks(entry) <= 1 {
                let end = self.batch(entry, count);
                queue.next = end;
                return Some(Job::Small(entry..end));
            }
            // If they were split, many such files could be open at the receiver while one stream is behind.
            if self.entries.get(entry as usize).is_some_and(|entry| entry.size() <= BATCH_BYTES) {
                queue.next = entry + 1;
                return Some(Job::Whole(entry));
            }
            if let Some(job) = self.next_chunk(&mut queue, entry) {
                return Some(job);
            }
            (queue.next, queue.from) = (entry + 1, 0);
        }
        None
    }

    /// Where a batch of small files that begins here ends.
    fn batch(&self, start: u32, count: u32) -> u32 {
        let (mut bytes, mut end) = (0, start);
        while end < count && self.chunks(end) <= 1 && ((end - start) as usize) < BATCH_FILES {
            bytes += self.entries.get(end as usize).map_or(0, Entry::size);
            if bytes > BATCH_BYTES && end > start {
                break;
            }
            end += 1;
        }
        end
    }

    /// The chunks of a file that the receiver does not have.
    pub(crate) fn missing(&self, entry: u32) -> impl Iterator<Item = u64> {
        let have = self.have.get(&entry);
        let is_missing = move |chunk: &u64| have.is_none_or(|have| !have.contains(*chunk));
        (0..self.chunks(entry)).filter(is_missing)
    }

    fn next_chunk(&self, queue: &mut Queue, entry: u32) -> Option<Job> {
        let total = self.chunks(entry);
        let none = Ranges::default();
        let have = self.have.get(&entry).unwrap_or(&none);
        let missing = have.first_missing(queue.from, total);
        if queue.from == 0 {
            let known = have.iter().map(|range| range.end.min(total) - range.start.min(total));
            let left = total - known.sum::<u64>();
            if left == 0 {
                queue.from = total;
                return Some(Job::Close(entry));
            }
            queue.left.insert(entry, left);
        }
        let index = missing?.start;
        queue.from = index + 1;
        Some(Job::Chunk { entry, index })
    }

    /// A chunk was sent; true if it was the last of its file.
    pub(crate) fn sent(&self, entry: u32) -> bool {
        let mut queue = lock(&self.queue);
        let Some(left) = queue.left.get_mut(&entry) else { return false };
        *left = left.saturating_sub(1);
        let is_last = *left == 0;
        if is_last {
            queue.left.remove(&entry);
        }
        is_last
    }

    /// A chunk came wrong; false if its file's did so too often.
    pub(crate) fn again(&self, entry: u32, index: u64) -> bool {
        let mut queue = lock(&self.queue);
        let wrong = queue.wrong.entry(entry).or_insert(0);
        *wrong += 1;
        let is_sent = *wrong <= WRONG_MAX && index < self.chunks(entry);
        if is_sent {
            queue.again.push_back((entry, index));
        }
        is_sent
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::name::Name;

    fn entry(number: usize, size: u64) -> Entry {
        let name = Name::new(format!("f{number}").as_bytes()).expect("a name");
        Entry { name, kind: Kind::File { size, sparse: false }, mode: 0o644, seconds: 0, nanos: 0 }
    }

    proptest! {
        #[test]
        fn every_missing_chunk_is_given_out_once_and_every_file_closed_once(
            sizes in proptest::collection::vec(prop_oneof![0_u64..50_000, BATCH_BYTES..BATCH_BYTES + 50_000], 0..20),
            have in proptest::collection::vec((0_u32..20, 0_u64..12, 1_u64..5), 0..20),
        ) {
            let entries: Vec<Entry> = sizes.iter().enumerate().map(|(n, size)| entry(n, *size)).collect();
            let mut work = Work::new(&entries, 4096);
            let mut expected = HashSet::new();
            for (number, size) in (0_u32..).zip(&sizes) {
                expected.extend((0..chunks(*size, 4096)).map(|index| (number, index)));
            }
            for (number, start, length) in have {
                let total = sizes.get(number as usize).map_or(0, |size| chunks(*size, 4096));
                // The receiver keeps no parts of small files.
                if total > 1 && start < total {
                    let range = Range { start, end: (start + length).min(total) };
                    work.have(number, range);
                    (range.start..range.end).for_each(|index| { expected.remove(&(number, index)); });
                }
            }
            let mut closed = Vec::new();
            while let Some(job) = work.take() {
                match job {
                    Job::Small(range) => for number in range {
                        expected.remove(&(number, 0));
                        closed.push(number);
                    },
                    Job::Chunk { entry, index } => {
                        prop_assert!(expected.remove(&(entry, index)), "{} {}", entry, index);
                        if work.sent(entry) {
                            closed.push(entry);
                        }
                    }
                    Job::Whole(entry) => {
                        for index in work.missing(entry) {
                            prop_assert!(expected.remove(&(entry, index)), "{} {}", entry, index);
                        }
                        closed.push(entry);
                    }
                    Job::Close(entry) => closed.push(entry),
                    Job::Resend { .. } => prop_assert!(false, "none came wrong"),
                }
            }
            prop_assert!(expected.is_empty(), "{:?}", expected);
            closed.sort_unstable();
            prop_assert_eq!(closed, (0..u32::try_from(sizes.len()).expect("few")).collect::<Vec<_>>());
        }
    }
}
