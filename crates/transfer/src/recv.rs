//! The receiver: listens, authenticates its sender, and continues until one transfer is whole.
//!
//! One thread accepts connections, one more for each authenticates the peer, and one for each stream receives its
//! chunks. The resources that an unknown peer can use are bounded: [`PENDING_PEERS_MAX`] connections, ten seconds each,
//! and no allocation beyond TLS before the peer is authenticated.

mod session;
mod stream;

use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, poll};
use rustls::ServerConfig;

use crate::channel::{Channel, HANDSHAKE};
use crate::choice::Choice;
use crate::error::Error;
use crate::message::{Message, STREAMS_MAX, SessionId, VERSION};
use crate::meter::Meter;
use crate::root::Root;
use crate::sink::Sink;
use crate::store::Rules;
use crate::trust::ReceiverTrust;
use crate::{tls, wire};

use session::{First, Session};

/// The most peers that may be in the handshake at once, with room for all streams of a transfer beside unknown peers;
/// more are rejected.
pub const PENDING_PEERS_MAX: usize = 16 + STREAMS_MAX as usize;

/// The interval of the checks whether it is to end.
const TICK: Duration = Duration::from_millis(TICK_MS as u64);
const TICK_MS: u8 = 200;

/// The settings of a receiver.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where files go.
    pub directory: PathBuf,
    /// Where it listens, as `ADDRESS:PORT`.
    pub listen: String,
    /// The senders that it trusts.
    pub trust: ReceiverTrust,
    /// Whether files that are there may be replaced.
    pub overwrite: bool,
    /// How bytes go into files; chosen by the cost of each way unless given.
    pub into: Option<Sink>,
    /// How long a sender may be silent.
    pub timeout: Duration,
}

/// An event, for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A peer is authenticated, and its transfer has begun.
    Began(SocketAddr),
    /// A peer was rejected, and why.
    Rejected(SocketAddr, String),
    /// The transfer broke off, and why; the sender may reconnect.
    Disconnected(String),
}

/// The result of a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Files that are in their place, those that were there before included.
    pub files: u64,
    /// Files and folders that are not in their place: the receiver refused them, or the sender could not send them
    /// whole.
    pub missing: u64,
    /// Bytes that were verified and written.
    pub bytes: u64,
    /// Chunks that arrived wrong and were retransmitted.
    pub again: u64,
    /// Whether each chunk had its hash.
    pub verified: bool,
    /// How most bytes went into files.
    pub into: Sink,
    /// The cost of each way that was tried, in nanoseconds of a processor for 2^20 bytes.
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

/// A notice from one of the threads.
enum Notice {
    /// A peer is authenticated; its first message.
    Authenticated(Channel, SocketAddr, Message),
    /// A peer is rejected.
    Rejected(SocketAddr, Error),
    /// A session has ended.
    Ended(SessionId, Result<Received, Error>),
}

/// The role of an authenticated peer's connection.
enum Admitted {
    /// The first one of a transfer; `again` if it replaced one before that one's loss was noticed.
    First { again: bool },
    /// One more stream.
    Stream,
}

impl Receiver {
    /// Listens, and locks the directory.
    ///
    /// # Errors
    /// If the address or the directory is not available.
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

    /// Returns the address that it listens on.
    ///
    /// # Errors
    /// If the system does not report it.
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
            let outcome = self.run_sessions(&inbox, &notices, meter, stop, &mut event);
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

    /// Accepts connections until the transfer has ended.
    fn accept(&self, notices: &Sender<Notice>, ended: &AtomicBool) {
        let pending = Arc::new(AtomicUsize::new(0));
        while !ended.load(Ordering::Relaxed) {
            let mut polled = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            if !poll(&mut polled, TICK_MS).is_ok_and(|ready| ready > 0) {
                continue;
            }
            let Ok((socket, address)) = self.listener.accept() else {
                // Out of descriptors, for example: other connections may close theirs.
                thread::sleep(TICK);
                continue;
            };
            if pending.fetch_add(1, Ordering::Relaxed) >= PENDING_PEERS_MAX {
                pending.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (tls, notices, ended) = (self.tls.clone(), notices.clone(), Arc::clone(&pending));
            let timeout = self.settings.timeout;
            let spawned = thread::Builder::new().spawn(move || {
                let notice = match handshake(socket, tls.as_ref(), timeout) {
                    Ok((channel, first)) => Notice::Authenticated(channel, address, first),
                    Err(error) => Notice::Rejected(address, error),
                };
                ended.fetch_sub(1, Ordering::Relaxed);
                // The receiver of the notices is gone once the transfer is over.
                let _ = notices.send(notice);
            });
            if spawned.is_err() {
                // Out of threads: other connections may end theirs.
                pending.fetch_sub(1, Ordering::Relaxed);
                thread::sleep(TICK);
            }
        }
    }

    /// Starts sessions and hands streams to them, until one is whole.
    fn run_sessions(
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
                Ok(Notice::Authenticated(channel, address, first)) => {
                    match self.admit(channel, first, &mut session, notices, meter) {
                        Ok(Admitted::First { again }) => {
                            if again {
                                event(Event::Disconnected("its sender has reconnected".into()));
                            }
                            event(Event::Began(address));
                        }
                        Ok(Admitted::Stream) => {}
                        Err(error) => event(Event::Rejected(address, error.to_string())),
                    }
                }
                Ok(Notice::Rejected(address, error)) => {
                    event(Event::Rejected(address, error.to_string()));
                }
                Ok(Notice::Ended(id, outcome)) => {
                    if session.as_ref().is_none_or(|session| session.id() != id) {
                        continue;
                    }
                    match outcome {
                        Ok(received) => return Ok(received),
                        Err(error) if error.is_local() => return Err(error),
                        Err(error) => event(Event::Disconnected(error.to_string())),
                    }
                    // One of its threads may wait for the disk: a sender that reconnects is kept waiting until then.
                    if let Some(broken) = &mut session {
                        broken.break_off();
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
    }

    /// Admits an authenticated peer.
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
                let why = format!("protocol version {version}, but this end has version {VERSION}");
                wire::send(&mut channel, &Message::Failed { why: why.clone() })?;
                Err(Error::Peer(why))
            }
            Message::Hello { session: id, streams, chunk, verified, buffer, .. } => {
                // The sender may reconnect before the loss of its connection was noticed. The old session ends first,
                // as two sessions would write the same files, and what it has received need not be retransmitted.
                let again = session.as_ref().is_some_and(|before| !before.is_broken());
                let before = session.take().and_then(Session::supersede);
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
                let root = Arc::clone(&self.root);
                let new = Session::new(id, streams, rules, choice, root, meter, notices);
                let started = session.insert(new);
                started.add_first(channel, First { buffer, before })?;
                Ok(Admitted::First { again })
            }
            Message::Join { session: id } => {
                let known = session.as_mut().filter(|known| known.id() == id && !known.is_broken());
                let session = known.ok_or(Error::Protocol("a stream of an unknown transfer"))?;
                session.add(channel)?;
                Ok(Admitted::Stream)
            }
            _ => Err(Error::Protocol("the first message is not hello")),
        }
    }
}

/// Authenticates a peer and reads its first message.
fn handshake(
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
