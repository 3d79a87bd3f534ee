//! The file that the profiling library writes for a rank: a header, then records in their memory layout
//! (`profiler/trace.c`, `profiler.h`).

use mpi_trace::{Call, Operation};

use crate::error::Error;

/// The magic number of a file. The last byte is the version.
const MAGIC: &[u8; 8] = b"suimpi\0\x01";
/// Bytes of a text in the header.
const TEXT_BYTES: usize = 256;
/// `completion` of a request that received a known message.
const RECEIVED: i32 = 1;
/// `completion` of a cancelled request.
const CANCELLED: i32 = 2;

/// The header of a rank's file.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) ranks: usize,
    /// The time at which `MPI_Init` returned, in nanoseconds of the monotonic clock.
    pub(crate) initialised: i64,
    /// The text from `MPI_Get_library_version`.
    pub(crate) library: String,
    pub(crate) program: String,
}

/// The calls of a rank. Times are of the machine's clock, and communicators have this rank's own numbers.
#[derive(Debug)]
pub(crate) struct Rank {
    pub(crate) header: Header,
    /// The members of each communicator, in the order of its first use by this rank.
    pub(crate) communicators: Vec<Vec<u32>>,
    pub(crate) calls: Vec<Call>,
}

/// The rest of a file; numbers are read from its front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }

    fn i32(&mut self) -> Option<i32> {
        Some(i32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn i64(&mut self) -> Option<i64> {
        Some(i64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }

    fn number<T: TryFrom<i64>>(&mut self) -> Option<T> {
        T::try_from(self.i64()?).ok()
    }

    /// Reads a text of [`TEXT_BYTES`] bytes, up to its first zero.
    fn text(&mut self) -> Option<String> {
        let bytes = self.take(TEXT_BYTES)?.split(|&byte| byte == 0).next()?;
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// A request that a call completes.
struct Completion {
    number: u32,
    completion: i32,
    peer: Option<u32>,
    tag: i32,
    bytes: u64,
}

/// A record: a call, or the members of a communicator.
enum Record {
    Call(Call, Vec<Completion>),
    Communicator(Vec<u32>),
}

impl Rank {
    pub(crate) fn read(rank: usize, file: &[u8]) -> Result<Self, Error> {
        let damaged = |what| Error::Damaged { rank, what };
        let mut bytes = Bytes(file);
        let header = header(&mut bytes, rank).ok_or_else(|| damaged("its header"))?;
        let ranks = header.ranks;
        let mut communicators = Vec::new();
        let mut calls = Calls::default();
        while !bytes.0.is_empty() {
            match record(&mut bytes).ok_or_else(|| Error::incomplete(rank, ranks))? {
                Record::Communicator(members) => communicators.push(members),
                Record::Call(call, completions) => calls.push(call, &completions),
            }
        }
        let calls = calls.finish();
        let last = calls.last().map(|call| call.operation);
        if last != Some(Operation::Finalize) {
            return Err(Error::incomplete(rank, ranks));
        }
        let known = |call: &Call| (call.communicator as usize) < communicators.len();
        let member = |peer: u32| (peer as usize) < ranks;
        if !calls.iter().all(|call| known(call) && call.peer.is_none_or(member)) {
            return Err(damaged("a communicator or a peer"));
        }
        if !communicators.iter().flatten().all(|&rank| member(rank)) {
            return Err(damaged("a member of a communicator"));
        }
        Ok(Self { header, communicators, calls })
    }
}

fn header(bytes: &mut Bytes<'_>, rank: usize) -> Option<Header> {
    let magic = bytes.take(MAGIC.len())?;
    let same = usize::try_from(bytes.i32()?) == Ok(rank);
    let ranks = usize::try_from(bytes.i32()?).ok()?;
    let initialised = bytes.i64()?;
    let (library, program) = (bytes.text()?, bytes.text()?);
    (magic == MAGIC && same && rank < ranks).then_some(Header {
        ranks,
        initialised,
        library,
        program,
    })
}

fn record(bytes: &mut Bytes<'_>) -> Option<Record> {
    let operation = bytes.i32()?;
    let peer = u32::try_from(bytes.i32()?).ok();
    let tag = bytes.i32()?;
    let communicator = u32::try_from(bytes.i32()?).ok()?;
    let (payload, start, end) = (bytes.number()?, bytes.number()?, bytes.number()?);
    // The value may be negative: it comes from two clocks that are read one after the other.
    let computing = bytes.i64()?.max(0).cast_unsigned();
    let requests = usize::try_from(bytes.i32()?).ok()?;
    let counts = usize::try_from(bytes.i32()?).ok()?;
    if requests.max(counts) > bytes.0.len() {
        return None;
    }
    let requests = (0..requests).map(|_| completion(bytes)).collect::<Option<Vec<_>>>()?;
    if operation < 0 {
        let members = (0..counts).map(|_| bytes.number()).collect::<Option<_>>()?;
        return Some(Record::Communicator(members));
    }
    let call = Call {
        operation: *Operation::ALL.get(usize::try_from(operation).ok()?)?,
        peer,
        bytes: payload,
        tag,
        communicator,
        start,
        end: std::cmp::max(start, end),
        computing,
        requests: requests.iter().map(|it| it.number).collect(),
        counts: (0..counts).map(|_| bytes.number()).collect::<Option<_>>()?,
    };
    Some(Record::Call(call, requests))
}

fn completion(bytes: &mut Bytes<'_>) -> Option<Completion> {
    let number = u32::try_from(bytes.i32()?).ok()?;
    let completion = bytes.i32()?;
    let peer = u32::try_from(bytes.i32()?).ok();
    Some(Completion { number, completion, peer, tag: bytes.i32()?, bytes: bytes.number()? })
}

/// The calls of a rank, and the requests in progress with the calls that started them.
#[derive(Default)]
struct Calls {
    calls: Vec<Call>,
    under_way: std::collections::BTreeMap<u32, usize>,
    cancelled: std::collections::BTreeSet<u32>,
}

impl Calls {
    fn push(&mut self, call: Call, completions: &[Completion]) {
        let place = self.calls.len();
        let starts = call.operation.class() != mpi_trace::Class::Wait;
        for it in completions {
            if starts {
                self.under_way.insert(it.number, place);
                continue;
            }
            let Some(started) = self.under_way.remove(&it.number) else { continue };
            match it.completion {
                RECEIVED => {
                    let receive = &mut self.calls[started];
                    (receive.peer, receive.tag, receive.bytes) = (it.peer, it.tag, it.bytes);
                }
                CANCELLED => drop(self.cancelled.insert(it.number)),
                _ => {}
            }
        }
        self.calls.push(call);
    }

    /// Returns the calls without receives that got no message: receives cancelled, or freed before a message came.
    fn finish(self) -> Vec<Call> {
        let Self { mut calls, under_way, mut cancelled } = self;
        let receives = |place: &usize| calls[*place].operation == Operation::Irecv;
        cancelled.extend(under_way.iter().filter(|it| receives(it.1)).map(|it| it.0));
        if cancelled.is_empty() {
            return calls;
        }
        let mut computing = 0;
        calls.retain_mut(|call| {
            call.computing += std::mem::take(&mut computing);
            let requests = call.requests.len();
            call.requests =
                call.requests.iter().copied().filter(|it| !cancelled.contains(it)).collect();
            let kept = requests == 0 || !call.requests.is_empty();
            if !kept {
                computing = call.computing;
            }
            kept
        });
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(operation: i32, counts: &[i64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for value in [operation, -1, 0, 0] {
            bytes.extend(value.to_ne_bytes());
        }
        // Payload, start, end, and computing, which is negative because of the two clocks.
        for value in [8_i64, 100, 110, -1] {
            bytes.extend(value.to_ne_bytes());
        }
        for value in [0, i32::try_from(counts.len()).expect("few")] {
            bytes.extend(value.to_ne_bytes());
        }
        counts.iter().for_each(|count| bytes.extend(count.to_ne_bytes()));
        bytes
    }

    fn file() -> Vec<u8> {
        let position = Operation::ALL.iter().position(|it| *it == Operation::Finalize);
        let finalize = i32::try_from(position.expect("one")).expect("few");
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0_i32, 2].iter().flat_map(|value| value.to_ne_bytes()));
        bytes.extend(90_i64.to_ne_bytes());
        bytes.extend([0; 2 * TEXT_BYTES]);
        bytes.extend(record(-1, &[0, 1]));
        bytes.extend(record(finalize, &[]));
        bytes
    }

    #[test]
    fn a_file_is_read_whole_or_not_at_all() {
        let whole = file();
        let rank = Rank::read(0, &whole).expect("a rank");
        assert_eq!((rank.header.ranks, &rank.communicators[..]), (2, &[vec![0, 1]][..]));
        assert_eq!((rank.calls.len(), rank.calls[0].computing), (1, 0));
        for end in 0..whole.len() {
            assert!(Rank::read(0, &whole[..end]).is_err(), "{end}");
        }
        assert!(matches!(Rank::read(1, &whole), Err(Error::Damaged { .. })));
    }

    #[test]
    fn no_change_of_a_file_is_more_than_an_error() {
        let whole = file();
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut changed = whole.clone();
                changed[place] ^= 1 << bit;
                let _ = Rank::read(0, &changed);
            }
        }
    }
}
