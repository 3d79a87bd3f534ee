//! The receiver: listens, knows its sender, and keeps at it until one transfer is whole.
//!
//! A thread takes connections, one more for each finds out who the peer is, and one for each stream takes its
//! chunks. What a stranger can make it spend is bounded: [`STRANGERS_MAX`] connections, ten seconds each, and no
//! allocation beyond TLS before the peer is known.

use std::fs::File;
use std::io::{BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};
use rustls::ServerConfig;

use crate::channel::{Channel, HANDSHAKE, lost};
use crate::choice::{Choice, thread_time};
use crate::error::Error;
use crate::message::{ENTRIES_MAX, Entry, Hash, Message, NAMES_MAX, SessionId, VERSION};
use crate::meter::Meter;
use crate::root::{LastFolder, Root};
use crate::sink::{Sink, Taker};
use crate::socket::{self, Buffer};
use crate::store::{Rules, Store, lock};
use crate::trust::ReceiverTrust;
use crate::{tls, wire};

/// Peers that may be finding out at once who the other is; more are turned away.
pub const STRANGERS_MAX: usize = 16;

/// How often it is looked whether it is to end.
const TICK: Duration = Duration::from_millis(TICK_MS as u64);
const TICK_MS: u8 = 200;

/// How long what is still under way from a lost sender is waited for.
const DRAIN: Duration = Duration::from_secs(5);

/// What a receiver does.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where files go.
    pub directory: PathBuf,
    /// Where it listens, as `ADDRESS:PORT`.
    pub listen: String,
    /// Whom it trusts.
    pub trust: ReceiverTrust,
    /// Whether files that are there may be replaced.
    pub overwrite: bool,
    /// How bytes go into files; chosen by what each way costs unless given.
    pub into: Option<Sink>,
    /// How long a sender may be silent.
    pub timeout: Duration,
}

/// What goes on, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer is known, and its transfer has begun.
    Began(SocketAddr),
    /// A peer was turned away, and why.
    TurnedAway(SocketAddr, String),
    /// The transfer broke off, and why; the sender may come again.
    Broke(String),
}

/// What came of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Files that are in their place, those that were there before included.
    pub files: u64,
    /// Bytes that were verified and written.
    pub bytes: u64,
    /// Chunks that came wrong and were sent again.
    pub again: u64,
    /// Whether each chunk had its hash.
    pub verified: bool,
    /// How most bytes went into files.
    pub into: Sink,
    /// What each way that was tried took, in nanoseconds of a processor for 2^20 bytes.
    pub costs: Vec<(Sink, u64)>,
}

/// A receiver that listens.
#[derive(Debug)]
pub struct Receiver {
    settings: Settings,
    listener: TcpListener,
    root: Arc<Root>,
    tls: Option<Arc<ServerConfig>>,
}

/// What its threads tell.
enum Notice {
    /// A peer is known, and has said this first.
    Known(Channel, SocketAddr, Message),
    /// A peer is not.
    Unknown(SocketAddr, Error),
    /// A session has ended.
    Ended(SessionId, Result<Received, Error>),
}

/// What a known peer's connection is.
enum Admitted {
    /// The first one of a transfer; `again` if it took the place of one whose loss was not noticed yet.
    First { again: bool },
    /// One more stream.
    Stream,
}

impl Receiver {
    /// Listens, and takes the directory for itself.
    ///
    /// # Errors
    /// If the address or the directory cannot be had.
    pub fn new(settings: Settings) -> Result<Self, Error> {
        let tls = match settings.trust.keys() {
            Some((own, trusted)) => Some(tls::server(&own, &trusted)?),
            None => None,
        };
        let root = Arc::new(Root::open(&settings.directory)?);
        let failed = |source| Error::Listen { address: settings.listen.clone(), source };
        let addresses: Vec<_> = settings.listen.to_socket_addrs().map_err(failed)?.collect();
        let listener = TcpListener::bind(&addresses[..]).map_err(failed)?;
        Ok(Self { settings, listener, root, tls })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        let address = self.settings.listen.clone();
        self.listener.local_addr().map_err(|source| Error::Listen { address, source })
    }

    /// Receives one transfer, however often its connections break, or until `stop`.
    ///
    /// # Errors
    /// If a file cannot be written, or it is to stop. What is verified is kept.
    pub fn run(
        self,
        meter: &Arc<Meter>,
        stop: &AtomicBool,
        mut event: impl FnMut(Event),
    ) -> Result<Received, Error> {
        let (notices, inbox) = mpsc::channel();
        let ended = AtomicBool::new(false);
        let outcome = thread::scope(|scope| {
            scope.spawn(|| self.accept(&notices, &ended));
            let outcome = self.attend(&inbox, &notices, meter, stop, &mut event);
            ended.store(true, Ordering::Relaxed);
            outcome
        });
        if outcome.is_ok()
            && let Some(root) = Arc::into_inner(self.root)
        {
            root.close();
        }
        outcome
    }

    /// Takes connections until it has ended.
    fn accept(&self, notices: &Sender<Notice>, ended: &AtomicBool) {
        let strangers = Arc::new(AtomicUsize::new(0));
        while !ended.load(Ordering::Relaxed) {
            let mut polled = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            if !poll(&mut polled, TICK_MS).is_ok_and(|ready| ready > 0) {
                continue;
            }
            let Ok((socket, address)) = self.listener.accept() else {
                // Out of descriptors, say: others may close theirs.
                thread::sleep(TICK);
                continue;
            };
            if strangers.fetch_add(1, Ordering::Relaxed) >= STRANGERS_MAX {
                strangers.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (tls, notices, strangers) =
                (self.tls.clone(), notices.clone(), Arc::clone(&strangers));
            let timeout = self.settings.timeout;
            thread::spawn(move || {
                let notice = match meet(socket, tls.as_ref(), timeout) {
                    Ok((channel, first)) => Notice::Known(channel, address, first),
                    Err(error) => Notice::Unknown(address, error),
                };
                strangers.fetch_sub(1, Ordering::Relaxed);
                // Nobody waits for it any more once the transfer is over.
                let _ = notices.send(notice);
            });
        }
    }

    /// Starts sessions and hands streams to them, until one is whole.
    fn attend(
        &self,
        inbox: &mpsc::Receiver<Notice>,
        notices: &Sender<Notice>,
        meter: &Arc<Meter>,
        stop: &AtomicBool,
        event: &mut impl FnMut(Event),
    ) -> Result<Received, Error> {
        let mut session: Option<Session> = None;
        loop {
            if stop.load(Ordering::Relaxed) {
                drop(session);
                return Err(Error::Interrupted);
            }
            match inbox.recv_timeout(TICK) {
                Ok(Notice::Known(channel, address, first)) => {
                    match self.admit(channel, first, &mut session, notices, meter) {
                        Ok(Admitted::First { again }) => {
                            if again {
                                event(Event::Broke("its sender has come again".into()));
                            }
                            event(Event::Began(address));
                        }
                        Ok(Admitted::Stream) => {}
                        Err(error) => event(Event::TurnedAway(address, error.to_string())),
                    }
                }
                Ok(Notice::Unknown(address, error)) => {
                    event(Event::TurnedAway(address, error.to_string()));
                }
                Ok(Notice::Ended(id, outcome)) => {
                    if session.as_ref().is_none_or(|session| session.shared.id != id) {
                        continue;
                    }
                    // Its threads have ended, or are about to.
                    session = None;
                    match outcome {
                        Ok(received) => return Ok(received),
                        Err(error) if error.is_local() => return Err(error),
                        Err(error) => event(Event::Broke(error.to_string())),
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Lets a known peer in.
    fn admit(
        &self,
        mut channel: Channel,
        first: Message,
        session: &mut Option<Session>,
        notices: &Sender<Notice>,
        meter: &Arc<Meter>,
    ) -> Result<Admitted, Error> {
        match first {
            Message::Hello { version, .. } if version != VERSION => {
                let why =
                    format!("version {version} of the protocol, where this end has {VERSION}");
                wire::send(&mut channel, &Message::Failed { why: why.clone() })?;
                Err(Error::Peer(why))
            }
            Message::Hello { session: id, streams, chunk, verified, buffer, .. } => {
                // The same sender, come again before the loss of its connection was noticed: the old session goes first,
                // for two would write the same files, and what has come by it need not come again.
                let before = session.take();
                let again = before.is_some();
                if let Some(before) = before {
                    before.drain();
                }
                let is_bare = channel.bare_socket().is_some();
                let choice = match self.settings.into {
                    Some(Sink::Direct) => Choice::among(Sink::Direct, &[]),
                    Some(Sink::Splice) if is_bare && !verified => Choice::among(Sink::Splice, &[]),
                    None if is_bare && !verified => Choice::among(Sink::Plain, &[Sink::Splice]),
                    _ => Choice::among(Sink::Plain, &[]),
                };
                let overwrite = self.settings.overwrite;
                let direct = self.settings.into == Some(Sink::Direct);
                let rules = Rules { chunk, verified, overwrite, direct };
                let shared = Arc::new(Shared {
                    id,
                    streams: streams.into(),
                    rules,
                    choice,
                    root: Arc::clone(&self.root),
                    meter: Arc::clone(meter),
                    store: Mutex::new(None),
                    ready: Condvar::new(),
                    over: AtomicBool::new(false),
                    buffer: AtomicU64::new(buffer),
                    notices: notices.clone(),
                });
                let started =
                    session.insert(Session { shared, sockets: Vec::new(), threads: Vec::new() });
                started.add(channel, Some(buffer))?;
                Ok(Admitted::First { again })
            }
            Message::Join { session: id } => {
                let known = session.as_mut().filter(|session| session.shared.id == id);
                let session = known.ok_or(Error::Protocol("a stream of no transfer"))?;
                if session.threads.len() >= session.shared.streams {
                    return Err(Error::Protocol("more streams than it said"));
                }
                session.add(channel, None)?;
                Ok(Admitted::Stream)
            }
            _ => Err(Error::Protocol("another first message than hello")),
        }
    }
}

/// Finds out who a peer is, and what it says first.
fn meet(
    socket: TcpStream,
    tls: Option<&Arc<ServerConfig>>,
    timeout: Duration,
) -> Result<(Channel, Message), Error> {
    socket.set_nodelay(true).map_err(Error::Lost)?;
    let mut channel = match tls {
        Some(config) => Channel::accept(socket, config)?,
        None => Channel::plain(socket),
    };
    channel.set_deadline(HANDSHAKE);
    let first = wire::read(&mut channel)?;
    channel.set_timeout(timeout)?;
    Ok((channel, first))
}

/// A transfer under way. Dropped, it is broken off, and its threads have ended.
struct Session {
    shared: Arc<Shared>,
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

/// What its streams share.
struct Shared {
    id: SessionId,
    streams: usize,
    rules: Rules,
    choice: Choice<Sink>,
    root: Arc<Root>,
    meter: Arc<Meter>,
    /// Once it is known what comes.
    store: Mutex<Option<Arc<Store>>>,
    ready: Condvar,
    over: AtomicBool,
    /// Bytes that each socket's buffer should have room for.
    buffer: AtomicU64,
    notices: Sender<Notice>,
}

impl Session {
    /// Another stream; the first one has the wish for a socket buffer.
    fn add(&mut self, channel: Channel, first: Option<u64>) -> Result<(), Error> {
        self.sockets.push(channel.socket().try_clone().map_err(Error::Lost)?);
        let shared = Arc::clone(&self.shared);
        self.threads.push(thread::spawn(move || shared.serve(channel, first)));
        Ok(())
    }

    /// Takes what has come already, until nothing more does, or for five seconds.
    #[expect(clippy::disallowed_methods, reason = "a real connection has real deadlines")]
    fn drain(self) {
        self.shared.over.store(true, Ordering::Relaxed);
        let deadline = Instant::now() + DRAIN;
        while Instant::now() < deadline {
            let streams = self.sockets.iter().zip(&self.threads);
            let live = streams.filter(|(_, thread)| !thread.is_finished());
            let mut polled: Vec<_> =
                live.map(|(socket, _)| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
            if polled.is_empty() || !poll(&mut polled, TICK_MS).is_ok_and(|ready| ready > 0) {
                break;
            }
            // Their threads are about to read it.
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        for socket in &self.sockets {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.shared.ready.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// A stream's thread, from its first message on.
    fn serve(&self, channel: Channel, first: Option<u64>) {
        let is_first = first.is_some();
        let mut stream =
            Stream { peer: BufReader::with_capacity(READ, channel), taker: Taker::default() };
        let done = match first {
            Some(buffer) => self.begin(&mut stream, buffer),
            None => {
                let wanted = self.buffer.load(Ordering::Relaxed);
                socket::provide(stream.peer.get_ref().socket(), Buffer::Receive, wanted);
                self.wait()
            }
        };
        let done = done.and_then(|store| stream.take_all(&store, self, is_first));
        let outcome = match done {
            // Only the first one ends it well.
            Ok(None) => return,
            Ok(Some(received)) => Ok(received),
            Err(error) => {
                // The peer is told why, if it still listens.
                let why = error.to_string();
                let _ = wire::send(stream.peer.get_mut(), &Message::Failed { why });
                Err(error)
            }
        };
        if !self.over.swap(true, Ordering::Relaxed) {
            self.ready.notify_all();
            let _ = self.notices.send(Notice::Ended(self.id, outcome));
        }
    }

    /// Learns what comes, and says what is there already.
    fn begin(&self, stream: &mut Stream, buffer: u64) -> Result<Arc<Store>, Error> {
        let has = socket::provide(stream.peer.get_ref().socket(), Buffer::Receive, buffer);
        let entries = stream.read_entries()?;
        let store = Arc::new(Store::new(Arc::clone(&self.root), entries, self.rules));
        self.meter.set_total(store.total(), store.file_count());
        let mut told = Vec::new();
        let peer = &mut stream.peer;
        store.look(|message| {
            message.encode(&mut told);
            if told.len() >= READ {
                peer.get_mut().write_all(&told).map_err(lost)?;
                told.clear();
            }
            Ok(())
        })?;
        Message::HaveEnd { buffer: has }.encode(&mut told);
        let channel = stream.peer.get_mut();
        channel.write_all(&told).and_then(|()| channel.flush()).map_err(lost)?;
        *lock(&self.store) = Some(Arc::clone(&store));
        self.ready.notify_all();
        Ok(store)
    }

    /// Waits until it is known what comes.
    fn wait(&self) -> Result<Arc<Store>, Error> {
        let mut store = lock(&self.store);
        loop {
            if self.over.load(Ordering::Relaxed) {
                return Err(Error::Protocol("the transfer is over"));
            }
            if let Some(store) = &*store {
                return Ok(Arc::clone(store));
            }
            let waited = self.ready.wait_timeout(store, TICK);
            store = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

/// Bytes that are read at once.
const READ: usize = 128 << 10;

/// One connection's chunks.
struct Stream {
    peer: BufReader<Channel>,
    taker: Taker,
}

impl Stream {
    /// The files and folders, all of them.
    fn read_entries(&mut self) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        let mut bytes = 0;
        loop {
            match wire::read(&mut self.peer)? {
                Message::Entries(more) => {
                    bytes += more.iter().map(|entry| entry.name.as_bytes().len()).sum::<usize>();
                    if entries.len() + more.len() > ENTRIES_MAX || bytes > NAMES_MAX {
                        return Err(Error::Limit("too many files"));
                    }
                    entries.extend(more);
                }
                Message::EntriesEnd => return Ok(entries),
                Message::Failed { why } => return Err(Error::Peer(why)),
                _ => return Err(Error::Protocol("another message before the files' names ended")),
            }
        }
    }

    /// Takes what comes until the peer closes the stream, or commits on the first one.
    fn take_all(
        &mut self,
        store: &Store,
        shared: &Shared,
        is_first: bool,
    ) -> Result<Option<Received>, Error> {
        let mut last = LastFolder::default();
        let mut has_finished = false;
        loop {
            let Some(message) = wire::read_or_end(&mut self.peer)? else {
                if has_finished && !is_first {
                    return Ok(None);
                }
                return Err(Error::Lost(std::io::ErrorKind::UnexpectedEof.into()));
            };
            has_finished = message == Message::Finish;
            match message {
                Message::Data { entry, chunk, length, hash } => {
                    if store.chunk_length(entry, chunk)? != length {
                        return Err(Error::Protocol("a chunk of another length"));
                    }
                    if self.take_chunk(store, shared, (entry, chunk, length), &hash, &mut last)? {
                        shared.meter.add(length.into());
                    } else {
                        self.reply(&Message::Again { entry, chunk })?;
                    }
                }
                Message::Hole { entry, range } => store.take_hole(entry, range, &mut last)?,
                Message::Close { entry, unchanged } => store.close(entry, unchanged, &mut last)?,
                Message::Finish => self.reply(&Message::Finished)?,
                Message::Commit if is_first => {
                    let files = store.commit()?;
                    self.reply(&Message::Committed { files })?;
                    return Ok(Some(store.received(files, shared.choice.outcome())));
                }
                Message::Failed { why } => return Err(Error::Peer(why)),
                _ => return Err(Error::Protocol("a message out of turn")),
            }
        }
    }

    /// Takes a chunk by the way whose turn it is; false if it is wrong.
    fn take_chunk(
        &mut self,
        store: &Store,
        shared: &Shared,
        (entry, chunk, length): (u32, u64, u32),
        hash: &Hash,
        last: &mut LastFolder,
    ) -> Result<bool, Error> {
        let (sink, is_trial) = shared.choice.next();
        let began = if is_trial { thread_time() } else { 0 };
        let size = length as usize;
        let is_right = if sink == Sink::Splice && store.may_pass(entry)? {
            let (peer, taker) = (&mut self.peer, &mut self.taker);
            let pass = |file: &File, at| taker.pass(peer, size, file, at);
            store.take_unseen(entry, chunk, length, pass, last)?;
            true
        } else {
            let bytes = self.taker.read(&mut self.peer, size, shared.rules.chunk as usize)?;
            store.take(entry, chunk, hash, bytes, last)?
        };
        if is_trial {
            shared.choice.tried(sink, thread_time().saturating_sub(began), size);
        }
        Ok(is_right)
    }

    fn reply(&mut self, message: &Message) -> Result<(), Error> {
        wire::send(self.peer.get_mut(), message)
    }
}
