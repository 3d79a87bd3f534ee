//! A transcript: every call of an interface with its answers, in the order of the calls. `kernel/module/replay.c` makes
//! the same calls in a kernel and compares the answers.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use traffic_kernel::abi::{SuimonDevice, SuimonNext, SuimonOffer, SuimonStatistics};

/// The calls, numbered as in `replay.c`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Create = 1,
    Destroy,
    Change,
    Enqueue,
    Dequeue,
    Peek,
    TakeDropped,
    Flush,
    Statistics,
    ChangeDevice,
}

/// The place of a call that sets none.
pub(crate) const NO_PLACE: u32 = u32::MAX;

thread_local! {
    /// Where the calls of this thread are written, if anywhere.
    static WRITER: RefCell<Option<BufWriter<File>>> = const { RefCell::new(None) };
}

/// Writes the calls of this thread to a file from now on, and ends the file before.
pub(crate) fn begin(path: &Path) {
    let file = BufWriter::new(File::create(path).expect("a file"));
    WRITER.set(Some(file));
}

/// Whether the calls of this thread are written.
fn is_open() -> bool {
    WRITER.with_borrow(Option::is_some)
}

/// Ends the file.
pub(crate) fn end() {
    if let Some(mut file) = WRITER.take() {
        file.flush().expect("room for the transcript");
    }
}

/// Writes a call: the time, its number, the answer, a place, and the bytes that go in or come out.
pub(crate) fn write(call: Call, now: u64, answer: u32, place: u32, bytes: &[&[u8]]) {
    WRITER.with_borrow_mut(|writer| {
        let Some(file) = writer else { return };
        let length: usize = bytes.iter().map(|it| it.len()).sum();
        let numbers = [call as u32, answer, place, u32::try_from(length).expect("a short table")];
        file.write_all(&now.to_le_bytes()).expect("room for the transcript");
        for number in numbers {
            file.write_all(&number.to_le_bytes()).expect("room for the transcript");
        }
        bytes.iter().for_each(|it| file.write_all(it).expect("room for the transcript"));
    });
}

/// The bytes of a struct of the C interface.
pub(crate) trait Plain {
    fn bytes(&self) -> Vec<u8>;
}

impl Plain for SuimonDevice {
    fn bytes(&self) -> Vec<u8> {
        let Self { rate, seed, overhead, mtu, places } = *self;
        [rate.to_le_bytes(), seed.to_le_bytes(), overhead.to_le_bytes(), pair(mtu, places)].concat()
    }
}

impl Plain for SuimonOffer {
    /// Without its datagram, which is elsewhere.
    fn bytes(&self) -> Vec<u8> {
        assert!(self.datagram.is_null() || !is_open(), "a transcript has no datagrams");
        let hosts = [self.source.to_le_bytes(), self.destination.to_le_bytes()].concat();
        let small = [self.tos, self.priority, self.frames, self.vlan_priority];
        let class = u64::from(self.class).to_le_bytes();
        [&[0; 16], &pair(self.length, self.flow)[..], &hosts, &small, &class].concat()
    }
}

impl Plain for SuimonNext {
    fn bytes(&self) -> Vec<u8> {
        [self.value.to_le_bytes(), pair(self.kind, self.tos)].concat()
    }
}

impl Plain for SuimonStatistics {
    fn bytes(&self) -> Vec<u8> {
        let Self { backlog_packets, backlog_bytes, backlog_bytes_max, .. } = *self;
        let Self { enqueued_packets, enqueued_bytes, sent_packets, sent_bytes, .. } = *self;
        let Self { dropped_packets, dropped_bytes, marked_packets, gap_frames, gap_bytes, .. } =
            *self;
        let Self { delay, .. } = *self;
        let numbers = [
            [backlog_packets, backlog_bytes, backlog_bytes_max],
            [enqueued_packets, enqueued_bytes, sent_packets],
            [sent_bytes, dropped_packets, dropped_bytes],
            [marked_packets, gap_frames, gap_bytes],
        ];
        let numbers = numbers.as_flattened().iter().chain([&delay]);
        numbers.flat_map(|it| it.to_le_bytes()).collect()
    }
}

fn pair(first: u32, second: u32) -> [u8; 8] {
    (u64::from(first) | u64::from(second) << 32).to_le_bytes()
}
