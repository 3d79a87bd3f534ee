//! The place of a chunk in a file, while one stream writes the chunk before all of it is known to be right.

use std::fs::File;
use std::sync::{Arc, Mutex, PoisonError};

use crate::message::Entry;
use crate::partial::Partial;

/// A place that no other stream writes to until this value is dropped.
pub(crate) struct Place<'a> {
    /// The file's number, and the chunk's within it.
    pub(crate) number: u32,
    pub(crate) index: u64,
    pub(crate) entry: &'a Entry,
    pub(crate) partial: Arc<Mutex<Partial>>,
    pub(crate) data: Arc<File>,
}

impl<'a> Place<'a> {
    /// Returns the place; nothing if the chunk is there already, or on its way by another stream.
    pub(crate) fn claim(
        number: u32,
        index: u64,
        entry: &'a Entry,
        partial: Arc<Mutex<Partial>>,
    ) -> Option<Self> {
        let data = {
            let mut partial = partial.lock().unwrap_or_else(PoisonError::into_inner);
            if partial.verified.contains(index) || partial.unfinished.contains(&index) {
                return None;
            }
            partial.unfinished.push(index);
            partial.file()
        };
        Some(Self { number, index, entry, partial, data })
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut partial = self.partial.lock().unwrap_or_else(PoisonError::into_inner);
        partial.unfinished.retain(|&index| index != self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Kind, Range};
    use crate::name::Name;
    use crate::ranges::Ranges;

    #[test]
    fn one_stream_at_a_time_writes_a_chunk_that_is_not_there() {
        let entry = Entry {
            kind: Kind::File { size: 4 << 12, sparse: false },
            name: Name::new(b"file").expect("a name"),
            mode: 0o600,
            seconds: 0,
            nanos: 0,
        };
        let mut there = Ranges::default();
        there.insert(Range { start: 0, end: 1 });
        let data = tempfile::tempfile().expect("a file");
        let partial = Arc::new(Mutex::new(Partial::new(data, None, None, there)));
        let claim = |index| Place::claim(0, index, &entry, Arc::clone(&partial));
        assert!(claim(0).is_none());
        let (first, other) = (claim(1), claim(2));
        assert!(first.is_some() && other.is_some());
        assert!(claim(1).is_none());
        drop(first);
        assert!(claim(1).is_some());
        assert!(claim(2).is_none());
    }
}
