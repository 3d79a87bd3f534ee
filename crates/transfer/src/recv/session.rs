//! A transfer under way: the threads of its streams, and what they share.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, poll};

use super::stream::{READ, Stream};
use super::{Notice, TICK, TICK_MS};
use crate::channel::{Channel, lost};
use crate::choice::Choice;
use crate::error::Error;
use crate::message::{Message, SessionId};
use crate::meter::Meter;
use crate::root::Root;
use crate::sink::Sink;
use crate::socket::{self, Buffer};
use crate::store::{Rules, Store, lock};
use crate::wire;

/// How long what is still under way from a lost sender is waited for.
const DRAIN: Duration = Duration::from_secs(5);

/// A transfer under way. Dropped, it is broken off, and its threads have ended.
pub(super) struct Session {
    shared: Arc<Shared>,
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

/// What its streams share.
pub(super) struct Shared {
    id: SessionId,
    streams: usize,
    pub(super) rules: Rules,
    pub(super) choice: Choice<Sink>,
    root: Arc<Root>,
    pub(super) meter: Arc<Meter>,
    /// Once it is known what comes.
    store: Mutex<Option<Arc<Store>>>,
    ready: Condvar,
    over: AtomicBool,
    /// Bytes that each socket's buffer should have room for.
    buffer: AtomicU64,
    notices: Sender<Notice>,
}

impl Session {
    pub(super) fn new(
        id: SessionId,
        streams: u16,
        rules: Rules,
        choice: Choice<Sink>,
        root: Arc<Root>,
        meter: &Arc<Meter>,
        notices: &Sender<Notice>,
    ) -> Self {
        let shared = Arc::new(Shared {
            id,
            streams: streams.into(),
            rules,
            choice,
            root,
            meter: Arc::clone(meter),
            store: Mutex::new(None),
            ready: Condvar::new(),
            over: AtomicBool::new(false),
            buffer: AtomicU64::new(0),
            notices: notices.clone(),
        });
        Self { shared, sockets: Vec::new(), threads: Vec::new() }
    }

    /// Which transfer it is.
    pub(super) fn id(&self) -> SessionId {
        self.shared.id
    }

    /// Another stream; the first one has the wish for a socket buffer.
    pub(super) fn add(&mut self, channel: Channel, first: Option<u64>) -> Result<(), Error> {
        if self.threads.len() >= self.shared.streams {
            return Err(Error::Protocol("more streams than it said"));
        }
        if let Some(buffer) = first {
            self.shared.buffer.store(buffer, Ordering::Relaxed);
        }
        self.sockets.push(channel.socket().try_clone().map_err(Error::Lost)?);
        let shared = Arc::clone(&self.shared);
        self.threads.push(thread::spawn(move || shared.serve(channel, first)));
        Ok(())
    }

    /// Takes what has come already, until nothing more does, or for five seconds.
    #[expect(clippy::disallowed_methods, reason = "a real connection has real deadlines")]
    pub(super) fn drain(self) {
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
        let mut stream = Stream::new(channel);
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
