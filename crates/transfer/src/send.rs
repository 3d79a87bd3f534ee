//! The sender: announces the files, learns what is there already, and sends the rest over its streams.

mod at_work;
mod files;
mod stream;

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::ClientConfig;

use crate::channel::Channel;
use crate::choice::{Choice, thread_time};
use crate::error::Error;
use crate::identity::random;
use crate::message::{BODY_MAX, Entry, Message, SessionId, VERSION, entry_length};
use crate::meter::Meter;
use crate::name::Name;
use crate::partial::{WRONG_MAX, chunks, range_length};
use crate::path::Path;
use crate::socket::{self, Buffer, Counts};
use crate::store::lock;
use crate::tls::Tls;
use crate::tree::Tree;
use crate::trust::SenderTrust;
use crate::work::{Job, Work};
use crate::{tls, wire};

use at_work::{AtWork, One};
use files::Loss;
use stream::Stream;

/// The interval of the checks whether it is to stop.
const TICK: Duration = Duration::from_millis(100);

/// The interval of messages of a stream that has nothing to send while others have.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// The settings of a sender.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the receiver is, as `HOST:PORT`.
    pub address: String,
    /// The receivers that it trusts.
    pub trust: SenderTrust,
    /// Connections, 1 to [`crate::STREAMS_MAX`].
    pub streams: u16,
    /// Bytes of a chunk: a power of two, 4096 to [`crate::CHUNK_MAX`].
    pub chunk: u32,
    /// Whether each chunk has its hash, and the receiver verifies it.
    pub verified: bool,
    /// Bytes a second of all streams together.
    pub rate: Option<u64>,
    /// The kernel's congestion control.
    pub congestion: Option<String>,
    /// The path from file to socket; chosen by measurement unless given.
    pub path: Option<Path>,
    /// Where encryption runs, if the transfer is encrypted; in the kernel unless given, if that is possible.
    pub encryption: Option<Tls>,
    /// How long the receiver may be silent.
    pub timeout: Duration,
}

/// The result of a transfer.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Files that are in their place at the receiver, those from before included.
    pub files: u64,
    /// Files that were there already.
    pub already: u64,
    /// Bytes that this run sent, retransmitted chunks included.
    pub bytes: u64,
    /// Chunks that were retransmitted because they arrived wrong.
    pub again: u64,
    /// Files that the receiver refused, and why.
    pub refused: Vec<(Name, String)>,
    /// Files that changed while they were sent; they are not in their place.
    pub changed: Vec<Name>,
    /// Files and folders that could not be read, and why; they are not in their place.
    pub unread: Vec<(Name, String)>,
    /// The path from file to socket; the last one tried if there was too little data for a choice.
    pub path: Path,
    /// The cost of each path, in nanoseconds of a processor for 2^20 bytes.
    pub costs: Vec<(Path, u64)>,
    /// Where encryption ran, if the transfer was encrypted.
    pub encryption: Option<Tls>,
    /// The time from the first chunk to the last one's verification.
    pub elapsed: Duration,
    /// Processor time of the sending threads.
    pub processor: Duration,
    /// The kernel's counters of each connection.
    pub connections: Vec<Counts>,
    /// The buffers of each connection.
    pub buffers: Buffers,
}

/// The room in socket buffers, in bytes of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Twice the product of rate and round-trip time; 0 where no rate was given.
    pub wanted: u64,
    /// The sender's.
    pub send: u64,
    /// The receiver's.
    pub receive: u64,
}

/// The shared state of all streams.
struct Session<'a> {
    settings: &'a Settings,
    id: SessionId,
    tls: Option<Arc<ClientConfig>>,
    tree: &'a Tree,
    choice: Choice<Path>,
    meter: &'a Meter,
    stop: &'a AtomicBool,
    /// The first error of a stream: then the others end.
    failure: Mutex<Option<Error>>,
    /// The sockets to shut down then.
    sockets: Mutex<Vec<TcpStream>>,
    at_work: AtWork,
    bytes: AtomicU64,
    again: AtomicU64,
    processor: AtomicU64,
    /// Files that are not sent, or no longer, and why.
    lost: Mutex<BTreeMap<u32, Loss>>,
}

/// Sends all of `tree`.
///
/// # Errors
/// If the receiver cannot be reached, is not the trusted one, or is lost; verified data is kept there.
pub fn send(
    settings: &Settings,
    tree: &Tree,
    meter: &Meter,
    stop: &AtomicBool,
) -> Result<Sent, Error> {
    let mut id = SessionId::default();
    random(&mut id)?;
    let tls = match settings.trust.keys() {
        Some((own, receiver)) => Some(tls::client(&own, &[receiver])?),
        None => None,
    };
    meter.set_total(tree.bytes(), tree.files() as u64);
    let choice = match settings.path {
        Some(path) => Choice::among(path, &[]),
        None => Choice::among(Path::Copy, &Path::ALL[1..]),
    };
    let session = Session {
        settings,
        id,
        tls,
        tree,
        choice,
        meter,
        stop,
        failure: Mutex::default(),
        sockets: Mutex::default(),
        at_work: AtWork::default(),
        bytes: AtomicU64::new(0),
        again: AtomicU64::new(0),
        processor: AtomicU64::new(0),
        lost: Mutex::default(),
    };
    thread::scope(|scope| {
        let (alive, over) = mpsc::channel::<()>();
        let session = &session;
        scope.spawn(move || session.watch(&over));
        let sent = session.transfer();
        drop(alive);
        sent.map_err(|error| match lock(&session.failure).take() {
            _ if stop.load(Ordering::Relaxed) => Error::Interrupted,
            // The first failure is the cause of the others.
            first => first.unwrap_or(error),
        })
    })
}

/// The receiver's answer about what it has.
struct Answer<'a> {
    /// The work that is left.
    work: Work<'a>,
    already: u64,
    refused: Vec<(Name, String)>,
    buffers: Buffers,
}

impl<'a> Session<'a> {
    #[expect(clippy::disallowed_methods, reason = "how long it took is shown to people")]
    fn transfer(&self) -> Result<Sent, Error> {
        let mut first = Stream::new(self.connect()?);
        let answer = self.begin(&mut first)?;
        let began = Instant::now();
        let streams = self.run(first, &answer.work)?;
        self.end(streams, answer, began.elapsed())
    }

    /// Connects, and authenticates the peer.
    fn connect(&self) -> Result<Channel, Error> {
        let address = &self.settings.address;
        let failed = |source| Error::Connect { address: address.clone(), source };
        let mut outcome = Err(io::ErrorKind::AddrNotAvailable.into());
        for address in address.to_socket_addrs().map_err(failed)? {
            outcome = socket::connect(address, self.settings.timeout, || self.goes_on());
            if outcome.is_ok() {
                break;
            }
        }
        let socket = match outcome {
            Err(_) if !self.goes_on() => return Err(Error::Interrupted),
            outcome => outcome.map_err(failed)?,
        };
        socket.set_nodelay(true).map_err(Error::Lost)?;
        lock(&self.sockets).push(socket.try_clone().map_err(Error::Lost)?);
        if !self.goes_on() {
            return Err(Error::Interrupted);
        }
        if self.settings.streams > 1 {
            socket::bound_unsent(&socket);
        }
        if let Some(name) = &self.settings.congestion {
            socket::set_congestion(&socket, name)?;
        }
        if let Some(rate) = self.settings.rate {
            socket::set_pacing(&socket, (rate / u64::from(self.settings.streams)).max(1))?;
        }
        let mut channel = match &self.tls {
            Some(config) => self.leave_to_kernel(Channel::connect(socket, config)?)?,
            None => Channel::plain(socket),
        };
        channel.set_timeout(self.settings.timeout)?;
        Ok(channel)
    }

    /// Lets the kernel encrypt, if that is requested, or not excluded and possible.
    fn leave_to_kernel(&self, mut channel: Channel) -> Result<Channel, Error> {
        if self.settings.encryption == Some(Tls::Program) {
            return Ok(channel);
        }
        match channel.leave_to_kernel()? {
            Err(source) if self.settings.encryption == Some(Tls::Kernel) => Err(Error::Setting {
                what: "TLS by the kernel".into(),
                source,
                help: "load its module (`modprobe tls`), or encrypt in the program".into(),
            }),
            _ => Ok(channel),
        }
    }

    /// Announces the files, and learns what is there.
    fn begin(&self, stream: &mut Stream) -> Result<Answer<'a>, Error> {
        let buffer = self.buffer(&stream.channel);
        let send_buffer = socket::provide(stream.channel.socket(), Buffer::Send, buffer);
        stream.write(&Message::Hello {
            version: VERSION,
            session: self.id,
            streams: self.settings.streams,
            chunk: self.settings.chunk,
            verified: self.settings.verified,
            buffer,
        })?;
        let (mut batch, mut bytes) = (Vec::new(), 0);
        for entry in &self.tree.entries {
            bytes += entry_length(entry);
            if bytes > BODY_MAX / 2 {
                stream.write(&Message::Entries(std::mem::take(&mut batch)))?;
                bytes = entry_length(entry);
            }
            batch.push(entry.clone());
        }
        stream.write(&Message::Entries(batch))?;
        stream.write(&Message::EntriesEnd)?;
        stream.flush()?;
        // Even the names may take long on a slow path.
        stream.channel.expect_progress();
        let mut answer = Answer {
            work: Work::new(&self.tree.entries, self.settings.chunk),
            already: 0,
            refused: Vec::new(),
            buffers: Buffers::default(),
        };
        let mut kept = 0_u64;
        loop {
            match wire::read(&mut stream.channel)? {
                Message::Have { entry, range } => {
                    let (size, chunk) = (self.entry(entry)?.size(), self.settings.chunk);
                    if range.end > chunks(size, chunk) {
                        return Err(Error::Protocol("chunks beyond the end of the file"));
                    }
                    kept = kept.saturating_add(range_length(size, chunk, range));
                    answer.work.have(entry, range);
                }
                Message::Complete { entry } if answer.work.skip(entry) => {
                    kept = kept.saturating_add(self.entry(entry)?.size());
                    answer.already += 1;
                }
                Message::Refused { entry, why } if answer.work.skip(entry) => {
                    answer.refused.push((self.entry(entry)?.name.clone(), why));
                }
                Message::Busy => {}
                Message::HaveEnd { buffer: receive } => {
                    self.meter.set_kept(kept);
                    answer.buffers = Buffers { wanted: buffer, send: send_buffer, receive };
                    return Ok(answer);
                }
                Message::Failed { why } => return Err(Error::Peer(why)),
                _ => return Err(Error::Protocol("an unexpected answer to the file list")),
            }
        }
    }

    /// Returns the size for each stream's socket buffers: twice the product of its rate and the round-trip time
    /// (paper 3, section 4.2); 0, which leaves it to the system, if no rate was given.
    fn buffer(&self, channel: &Channel) -> u64 {
        let Some(rate) = self.settings.rate else { return 0 };
        let rtt = socket::counts(channel.socket()).rtt;
        let product = u128::from(rate) * rtt.as_nanos() / 1_000_000_000;
        u64::try_from(2 * product).unwrap_or(u64::MAX) / u64::from(self.settings.streams)
    }

    /// Runs all streams until nothing is left to send; returns them, the first one first.
    fn run(&self, first: Stream, work: &Work<'_>) -> Result<Vec<Stream>, Error> {
        let at_work: Vec<_> = (0..self.settings.streams).map(|_| self.at_work.one()).collect();
        let streams = thread::scope(|scope| {
            let mut at_work = at_work.into_iter();
            let own = at_work.next();
            let others: Vec<_> = at_work
                .map(|at_work| scope.spawn(|| self.drive(self.join(), work, at_work)))
                .collect();
            let first = own.and_then(|own| self.drive(Ok(first), work, own));
            let others = others.into_iter().map(|thread| match thread.join() {
                Ok(stream) => stream,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            std::iter::once(first).chain(others).collect::<Option<Vec<_>>>()
        });
        // The stream that failed has reported why.
        streams.ok_or(Error::Interrupted)
    }

    /// Ends the transfer when it is to stop, wherever its streams wait.
    fn watch(&self, over: &mpsc::Receiver<()>) {
        while over.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            if self.stop.load(Ordering::Relaxed) {
                self.fail(Error::Interrupted);
            }
        }
    }

    /// Ends all streams; the first error is the one that is reported.
    fn fail(&self, error: Error) {
        {
            let mut failure = lock(&self.failure);
            // A lost stream says less than the receiver's reason for closing it, which another stream may have
            // received.
            let says_more = match &*failure {
                None => true,
                Some(Error::Lost(_)) => !matches!(error, Error::Lost(_) | Error::Interrupted),
                Some(_) => false,
            };
            if says_more {
                *failure = Some(error);
            }
        }
        for socket in lock(&self.sockets).iter() {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    /// Whether nothing has failed, and it is not to stop.
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed) && lock(&self.failure).is_none()
    }

    fn join(&self) -> Result<Stream, Error> {
        // The receiver was there a moment ago, and may be again.
        let channel = self.connect().map_err(|error| match error {
            Error::Connect { source, .. } => Error::Lost(source),
            error => error,
        });
        let mut stream = Stream::new(channel?);
        socket::provide(stream.channel.socket(), Buffer::Send, self.buffer(&stream.channel));
        stream.write(&Message::Join { session: self.id })?;
        // At once: the receiver does not wait long for the first message.
        stream.flush()?;
        Ok(stream)
    }

    /// Sends on one stream until nothing is left; returns nothing if it failed.
    fn drive(
        &self,
        stream: Result<Stream, Error>,
        work: &Work<'_>,
        at_work: One<'_>,
    ) -> Option<Stream> {
        let began = thread_time();
        let done = stream.and_then(|mut stream| match self.send_all(&mut stream, work, at_work) {
            Ok(()) => Ok(stream),
            Err(error) => Err(stream.reason(error)),
        });
        self.processor.fetch_add(thread_time().saturating_sub(began), Ordering::Relaxed);
        done.map_err(|error| self.fail(error)).ok()
    }

    fn send_all(
        &self,
        stream: &mut Stream,
        work: &Work<'_>,
        at_work: One<'_>,
    ) -> Result<(), Error> {
        loop {
            while let Some(job) = work.take() {
                match job {
                    Job::Small(range) => {
                        for number in range.filter(|number| work.is_wanted(*number)) {
                            self.send_small(stream, number)?;
                        }
                        // With a slow disk, it may take long until more come together.
                        stream.flush()?;
                    }
                    Job::Chunk { entry, index } => {
                        self.send_chunk(stream, entry, index)?;
                        if work.sent(entry) {
                            self.close(stream, entry)?;
                        }
                    }
                    Job::Whole(entry) => {
                        for index in work.missing(entry) {
                            self.send_chunk(stream, entry, index)?;
                        }
                        self.close(stream, entry)?;
                    }
                    Job::Resend { entry, index } => self.send_chunk(stream, entry, index)?,
                    Job::Close(entry) => self.close(stream, entry)?,
                }
                while stream.channel.is_readable()? {
                    self.take_reply(stream, work)?;
                }
            }
            let before = self.again.load(Ordering::Relaxed);
            self.confirm(stream, work)?;
            if self.again.load(Ordering::Relaxed) == before {
                break;
            }
        }
        // The receiver, and middleboxes on the path, take a connection for lost that is silent while others have
        // work.
        let others = at_work.done();
        while others.are_at_work_after(KEEP_ALIVE) {
            self.confirm(stream, work)?;
        }
        Ok(())
    }

    /// Waits until the receiver has verified all that was sent by a stream.
    fn confirm(&self, stream: &mut Stream, work: &Work<'_>) -> Result<(), Error> {
        stream.write(&Message::Finish)?;
        stream.flush()?;
        stream.channel.expect_progress();
        while !self.take_reply(stream, work)? {}
        Ok(())
    }

    /// Takes one reply; true if the receiver has verified all that was sent.
    fn take_reply(&self, stream: &mut Stream, work: &Work<'_>) -> Result<bool, Error> {
        match wire::read(&mut stream.channel)? {
            Message::Resend { entry, chunk } => {
                self.again.fetch_add(1, Ordering::Relaxed);
                if !work.again(entry, chunk) {
                    return Err(Error::Corrupted(self.entry(entry)?.name.clone(), WRONG_MAX));
                }
                Ok(false)
            }
            Message::Busy => Ok(false),
            Message::Refused { entry, why } => self.refused(entry, why).map(|()| false),
            Message::Finished => Ok(true),
            Message::Failed { why } => Err(Error::Peer(why)),
            _ => Err(Error::Protocol("an unexpected reply")),
        }
    }

    /// Notes that the receiver cannot take a file that it had accepted.
    fn refused(&self, number: u32, why: String) -> Result<(), Error> {
        self.entry(number)?;
        lock(&self.lost).entry(number).or_insert(Loss::Refused(why));
        Ok(())
    }

    fn entry(&self, number: u32) -> Result<&'a Entry, Error> {
        let entry = self.tree.entries.get(number as usize);
        entry.ok_or(Error::Protocol("an unknown file index"))
    }

    /// Lets the receiver put everything in its place, and waits for the confirmation.
    fn end(
        &self,
        mut streams: Vec<Stream>,
        mut answer: Answer<'_>,
        elapsed: Duration,
    ) -> Result<Sent, Error> {
        let connections =
            streams.iter().map(|stream| socket::counts(stream.channel.socket())).collect();
        let (first, others) = streams.split_first_mut().ok_or(Error::Protocol("no stream"))?;
        for stream in others {
            stream.channel.finish()?;
        }
        wire::send(&mut first.channel, &Message::Commit)?;
        let files = loop {
            match wire::read(&mut first.channel)? {
                Message::Busy => {}
                Message::Refused { entry, why } => self.refused(entry, why)?,
                Message::Committed { files } => break files,
                Message::Failed { why } => return Err(Error::Peer(why)),
                _ => {
                    return Err(Error::Protocol("an unexpected answer to the end of the transfer"));
                }
            }
        };
        let encryption = first.channel.tls();
        let (path, costs) = self.choice.outcome();
        let (mut changed, mut unread) = (Vec::new(), self.tree.unread.clone());
        for (number, loss) in std::mem::take(&mut *lock(&self.lost)) {
            let name = self.entry(number)?.name.clone();
            match loss {
                Loss::Changed => changed.push(name),
                Loss::Refused(why) => answer.refused.push((name, why)),
                Loss::Unread(error) => unread.push((name, error.to_string())),
            }
        }
        Ok(Sent {
            files,
            already: answer.already,
            bytes: self.bytes.load(Ordering::Relaxed),
            again: self.again.load(Ordering::Relaxed),
            refused: answer.refused,
            changed,
            unread,
            path,
            costs,
            encryption,
            elapsed,
            processor: Duration::from_nanos(self.processor.load(Ordering::Relaxed)),
            connections,
            buffers: answer.buffers,
        })
    }
}
