//! The messages between peers: the bytes of each, and what is rejected.
//!
//! A message is its kind (one byte), the length of its body (four bytes, big-endian as all numbers) and the body.
//! `Data` is followed by the announced number of bytes of a file. Lengths are checked first, so a peer cannot cause
//! more memory to be allocated than its own bytes take.

use crate::name::{Name, NameError};

/// The protocol's version; it must be equal at both ends.
pub const VERSION: u16 = 2;
/// Longest body in bytes.
pub const BODY_MAX: usize = 1 << 20;
/// Longest chunk in bytes, which is also the size of each stream's buffer.
pub const CHUNK_MAX: u32 = 16 << 20;
/// Most streams of a transfer.
pub const STREAMS_MAX: u16 = 64;
/// Most files and folders of a transfer.
pub const ENTRIES_MAX: usize = 4_000_000;
/// Most bytes that all their names take.
pub const NAMES_MAX: usize = 512 << 20;
/// Bytes of a message's kind and length.
pub const HEADER: usize = 5;

/// The id of a transfer, common to its streams.
pub type SessionId = [u8; 16];
/// A chunk's BLAKE3.
pub type Hash = [u8; 32];

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File {
        /// Bytes.
        size: u64,
        /// Whether it has holes.
        sparse: bool,
    },
    /// A folder.
    Folder,
}

/// A file or a folder of the transfer. Its number is its place among all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The path below the receiver's directory.
    pub name: Name,
    /// Its kind.
    pub kind: Kind,
    /// Permissions: the nine bits of `rwxrwxrwx`.
    pub mode: u16,
    /// When it was changed last: seconds since 1970 ...
    pub seconds: i64,
    /// ... and nanoseconds, below 10^9.
    pub nanos: u32,
}

impl Entry {
    /// Bytes of the file; 0 for a folder.
    pub const fn size(&self) -> u64 {
        match self.kind {
            Kind::File { size, .. } => size,
            Kind::Folder => 0,
        }
    }
}

/// Chunks from one, up to and without another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub start: u64,
    /// The one after the last.
    pub end: u64,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The first stream's first message.
    Hello {
        /// [`VERSION`].
        version: u16,
        /// The transfer.
        session: SessionId,
        /// How many streams it has.
        streams: u16,
        /// Bytes of a chunk.
        chunk: u32,
        /// Whether each chunk has its hash.
        verified: bool,
        /// Bytes that each of the receiver's socket buffers should have room for; 0 leaves it to the system.
        buffer: u64,
    },
    /// Another stream's first message.
    Join {
        /// The transfer.
        session: SessionId,
    },
    /// Files and folders. The entries of all these messages are in order.
    Entries(Vec<Entry>),
    /// The end of the entries.
    EntriesEnd,
    /// A chunk of a file follows, in `length` bytes.
    Data {
        /// The file.
        entry: u32,
        /// The chunk.
        chunk: u64,
        /// Its bytes.
        length: u32,
        /// Their hash; zeros if chunks are not verified.
        hash: Hash,
    },
    /// These chunks of a file are holes.
    Hole {
        /// The file.
        entry: u32,
        /// The chunks.
        range: Range,
    },
    /// All of a file was sent.
    Close {
        /// The file.
        entry: u32,
        /// Whether the file was unchanged to the end; otherwise nothing of it is kept.
        unchanged: bool,
    },
    /// This stream has nothing more to send for now; asks which of its data is verified.
    Finish,
    /// All streams have finished: set the folders' times.
    Commit,
    /// Chunks of a file that the receiver has already.
    Have {
        /// The file.
        entry: u32,
        /// The chunks.
        range: Range,
    },
    /// A file that the receiver has whole, with this size and time.
    Complete {
        /// The file.
        entry: u32,
    },
    /// The end of what the receiver has.
    HaveEnd {
        /// Bytes that the receiver's socket buffers have room for.
        buffer: u64,
    },
    /// A chunk came with a wrong hash: send it again.
    Resend {
        /// The file.
        entry: u32,
        /// The chunk.
        chunk: u64,
    },
    /// The receiver refuses a file.
    Refused {
        /// The file.
        entry: u32,
        /// Why, for a person.
        why: String,
    },
    /// All data that came on this stream before `Finish` is verified, or was requested again.
    Finished,
    /// The transfer is over.
    Committed {
        /// Files that are in their place now, those that were before included.
        files: u64,
    },
    /// The peer ends it.
    Failed {
        /// Why, for a person.
        why: String,
    },
    /// The receiver hashes its data, or waits for its disk, and an answer will come: a sign of life, each second.
    Busy,
}

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MalformedMessage {
    /// An unknown kind.
    #[error("a message of unknown kind {0}")]
    Kind(u8),
    /// More than a message has.
    #[error("a message of {0} bytes, more than {BODY_MAX}")]
    Long(u32),
    /// Fewer or more bytes than the message has.
    #[error("a message of the wrong length")]
    Length,
    /// A value out of its range.
    #[error("{0} out of range")]
    Range(&'static str),
    /// A name that leads out of a directory.
    #[error("an invalid file name: {0}")]
    Name(#[from] NameError),
}

/// The longest text of a peer that is shown to a person.
const TEXT_MAX: usize = 500;

mod kind {
    pub(super) const HELLO: u8 = 1;
    pub(super) const JOIN: u8 = 2;
    pub(super) const ENTRIES: u8 = 3;
    pub(super) const ENTRIES_END: u8 = 4;
    pub(super) const DATA: u8 = 5;
    pub(super) const HOLE: u8 = 6;
    pub(super) const CLOSE: u8 = 7;
    pub(super) const FINISH: u8 = 8;
    pub(super) const COMMIT: u8 = 9;
    pub(super) const HAVE: u8 = 16;
    pub(super) const COMPLETE: u8 = 17;
    pub(super) const HAVE_END: u8 = 18;
    pub(super) const RESEND: u8 = 19;
    pub(super) const REFUSED: u8 = 20;
    pub(super) const FINISHED: u8 = 21;
    pub(super) const COMMITTED: u8 = 22;
    pub(super) const FAILED: u8 = 23;
    pub(super) const BUSY: u8 = 24;
}

impl Message {
    /// Appends its bytes to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; HEADER]);
        out[start] = self.body(out);
        let length = u32::try_from(out.len() - start - HEADER).unwrap_or(u32::MAX);
        out[start + 1..start + HEADER].copy_from_slice(&length.to_be_bytes());
    }

    /// Appends its body; returns its kind.
    fn body(&self, out: &mut Vec<u8>) -> u8 {
        match self {
            Self::Hello { version, session, streams, chunk, verified, buffer } => {
                out.extend(version.to_be_bytes());
                out.extend(session);
                out.extend(streams.to_be_bytes());
                out.extend(chunk.to_be_bytes());
                out.push(u8::from(*verified));
                out.extend(buffer.to_be_bytes());
                kind::HELLO
            }
            Self::Join { session } => {
                out.extend(session);
                kind::JOIN
            }
            Self::Entries(entries) => {
                entries.iter().for_each(|entry| encode_entry(entry, out));
                kind::ENTRIES
            }
            Self::EntriesEnd => kind::ENTRIES_END,
            Self::Data { entry, chunk, length, hash } => {
                out.extend(entry.to_be_bytes());
                out.extend(chunk.to_be_bytes());
                out.extend(length.to_be_bytes());
                out.extend(hash);
                kind::DATA
            }
            Self::Hole { entry, range } => {
                encode_range(*entry, *range, out);
                kind::HOLE
            }
            Self::Close { entry, unchanged } => {
                out.extend(entry.to_be_bytes());
                out.push(u8::from(*unchanged));
                kind::CLOSE
            }
            Self::Finish => kind::FINISH,
            Self::Commit => kind::COMMIT,
            Self::Have { entry, range } => {
                encode_range(*entry, *range, out);
                kind::HAVE
            }
            Self::Complete { entry } => {
                out.extend(entry.to_be_bytes());
                kind::COMPLETE
            }
            Self::HaveEnd { buffer } => {
                out.extend(buffer.to_be_bytes());
                kind::HAVE_END
            }
            Self::Resend { entry, chunk } => {
                out.extend(entry.to_be_bytes());
                out.extend(chunk.to_be_bytes());
                kind::RESEND
            }
            Self::Refused { entry, why } => {
                out.extend(entry.to_be_bytes());
                out.extend(shortened(why).bytes());
                kind::REFUSED
            }
            Self::Finished => kind::FINISHED,
            Self::Committed { files } => {
                out.extend(files.to_be_bytes());
                kind::COMMITTED
            }
            Self::Failed { why } => {
                out.extend(shortened(why).bytes());
                kind::FAILED
            }
            Self::Busy => kind::BUSY,
        }
    }

    /// Reads the kind and the length of the body from a message's first bytes.
    ///
    /// # Errors
    /// If there is no such kind, or the body would be longer than [`BODY_MAX`].
    pub fn header(bytes: [u8; HEADER]) -> Result<(u8, usize), MalformedMessage> {
        let [kind, length @ ..] = bytes;
        if !matches!(kind, kind::HELLO..=kind::COMMIT | kind::HAVE..=kind::BUSY) {
            return Err(MalformedMessage::Kind(kind));
        }
        let length = u32::from_be_bytes(length);
        match usize::try_from(length) {
            Ok(size) if size <= BODY_MAX => Ok((kind, size)),
            _ => Err(MalformedMessage::Long(length)),
        }
    }

    /// Reads a message of this kind from its body.
    ///
    /// # Errors
    /// If it has too few bytes or too many, or a value out of its range.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Self, MalformedMessage> {
        let mut body = Body(body);
        let message = match kind {
            kind::HELLO => {
                let version = body.u16()?;
                let session = body.array()?;
                let (streams, chunk) = (body.u16()?, body.u32()?);
                let (verified, buffer) = (body.bool()?, body.u64()?);
                if !(1..=STREAMS_MAX).contains(&streams) {
                    return Err(MalformedMessage::Range("the number of streams"));
                }
                if !(4096..=CHUNK_MAX).contains(&chunk) || !chunk.is_power_of_two() {
                    return Err(MalformedMessage::Range("the size of chunks"));
                }
                Self::Hello { version, session, streams, chunk, verified, buffer }
            }
            kind::JOIN => Self::Join { session: body.array()? },
            kind::ENTRIES => {
                let mut entries = Vec::new();
                while !body.0.is_empty() {
                    entries.push(body.entry()?);
                }
                Self::Entries(entries)
            }
            kind::ENTRIES_END => Self::EntriesEnd,
            kind::DATA => {
                let (entry, chunk, length) = (body.u32()?, body.u64()?, body.u32()?);
                if length > CHUNK_MAX {
                    return Err(MalformedMessage::Range("a chunk's length"));
                }
                Self::Data { entry, chunk, length, hash: body.array()? }
            }
            kind::HOLE => Self::Hole { entry: body.u32()?, range: body.range()? },
            kind::CLOSE => Self::Close { entry: body.u32()?, unchanged: body.bool()? },
            kind::FINISH => Self::Finish,
            kind::COMMIT => Self::Commit,
            kind::HAVE => Self::Have { entry: body.u32()?, range: body.range()? },
            kind::COMPLETE => Self::Complete { entry: body.u32()? },
            kind::HAVE_END => Self::HaveEnd { buffer: body.u64()? },
            kind::RESEND => Self::Resend { entry: body.u32()?, chunk: body.u64()? },
            kind::REFUSED => Self::Refused { entry: body.u32()?, why: body.text()? },
            kind::FINISHED => Self::Finished,
            kind::COMMITTED => Self::Committed { files: body.u64()? },
            kind::FAILED => Self::Failed { why: body.text()? },
            kind::BUSY => Self::Busy,
            other => return Err(MalformedMessage::Kind(other)),
        };
        if body.0.is_empty() { Ok(message) } else { Err(MalformedMessage::Length) }
    }
}

fn encode_range(entry: u32, range: Range, out: &mut Vec<u8>) {
    out.extend(entry.to_be_bytes());
    out.extend(range.start.to_be_bytes());
    out.extend(range.end.to_be_bytes());
}

/// Kinds of entries.
const FILE: u8 = 0;
const SPARSE: u8 = 1;
const FOLDER: u8 = 2;

/// Bytes of an entry without its name.
const ENTRY: usize = 1 + 8 + 2 + 8 + 4 + 2;

/// How many bytes an entry takes.
pub fn entry_length(entry: &Entry) -> usize {
    ENTRY + entry.name.as_bytes().len()
}

fn encode_entry(entry: &Entry, out: &mut Vec<u8>) {
    out.push(match entry.kind {
        Kind::File { sparse: false, .. } => FILE,
        Kind::File { sparse: true, .. } => SPARSE,
        Kind::Folder => FOLDER,
    });
    out.extend(entry.size().to_be_bytes());
    out.extend(entry.mode.to_be_bytes());
    out.extend(entry.seconds.to_be_bytes());
    out.extend(entry.nanos.to_be_bytes());
    // A name is at most 4095 bytes.
    out.extend(u16::try_from(entry.name.as_bytes().len()).unwrap_or(0).to_be_bytes());
    out.extend(entry.name.as_bytes());
}

/// At most [`TEXT_MAX`] bytes of it.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_MAX)]
}

/// The rest of a body.
struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], MalformedMessage> {
        let (taken, left) = self.0.split_at_checked(length).ok_or(MalformedMessage::Length)?;
        self.0 = left;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedMessage> {
        self.take(N)?.try_into().map_err(|_| MalformedMessage::Length)
    }

    fn bool(&mut self) -> Result<bool, MalformedMessage> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(MalformedMessage::Range("a flag")),
        }
    }

    fn u16(&mut self) -> Result<u16, MalformedMessage> {
        self.array().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, MalformedMessage> {
        self.array().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Result<u64, MalformedMessage> {
        self.array().map(u64::from_be_bytes)
    }

    fn range(&mut self) -> Result<Range, MalformedMessage> {
        let range = Range { start: self.u64()?, end: self.u64()? };
        if range.start < range.end { Ok(range) } else { Err(MalformedMessage::Range("chunks")) }
    }

    fn text(&mut self) -> Result<String, MalformedMessage> {
        if self.0.len() > TEXT_MAX {
            return Err(MalformedMessage::Range("a text"));
        }
        // A peer's words stay within their line.
        let ends_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
        let text = String::from_utf8_lossy(self.0).replace(ends_line, " ");
        self.0 = &[];
        Ok(text)
    }

    fn entry(&mut self) -> Result<Entry, MalformedMessage> {
        let [kind] = self.array()?;
        let size = self.u64()?;
        let kind = match (kind, size) {
            (FILE | SPARSE, _) if size > i64::MAX as u64 => {
                return Err(MalformedMessage::Range("a file's size"));
            }
            (FILE | SPARSE, _) => Kind::File { size, sparse: kind == SPARSE },
            (FOLDER, 0) => Kind::Folder,
            _ => return Err(MalformedMessage::Range("an entry's kind")),
        };
        let mode = self.u16()?;
        if mode > 0o777 {
            return Err(MalformedMessage::Range("permissions"));
        }
        let seconds = i64::from_be_bytes(self.array()?);
        let nanos = self.u32()?;
        if nanos >= 1_000_000_000 {
            return Err(MalformedMessage::Range("nanoseconds"));
        }
        let length = self.u16()?;
        let name = Name::new(self.take(length.into())?)?;
        Ok(Entry { name, kind, mode, seconds, nanos })
    }
}
