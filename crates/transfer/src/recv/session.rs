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
use crate::finish::run_with_ticks;
use crate::message::{Message, SessionId};
use crate::meter::Meter;
use crate::root::Root;
use crate::sink::Sink;
use crate::socket::{self, Buffer};
use crate::store::{Rules, Store, lock};
use crate::wire;

/// The longest silence towards a sender that waits for an answer.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// How long to wait for data still under way from a lost sender.
const DRAIN: Duration = Duration::from_secs(5);

/// A transfer under way. Dropping it breaks the transfer off and waits for its threads.
pub(super) struct Session {
    shared: Arc<Shared>,
    sockets: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
    is_broken: bool,
}

/// The start of a transfer's first stream.
pub(super) struct First {
    /// Bytes that each socket's buffer should have room for; 0 leaves it to the system.
    pub(super) buffer: u64,
    /// The session that this one replaces.
    pub(super) before: Option<Session>,
}

/// How far a transfer has come.
enum Stage {
    /// Its sender announces the files; the session that it replaces holds its own data until then.
    Announcing(Option<Session>),
    /// The session continues from the data of that session.
    Begun,
    /// Another session has taken its place before it began.
    Superseded,
}

/// The shared state of its streams.
pub(super) struct Shared {
    id: SessionId,
    streams: usize,
    pub(super) rules: Rules,
    pub(super) choice: Choice<Sink>,
    root: Arc<Root>,
    pub(super) meter: Arc<Meter>,
    /// Set once the files are announced.
    store: Mutex<Option<Arc<Store>>>,
    ready: Condvar,
    over: AtomicBool,
    stage: Mutex<Stage>,
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
            stage: Mutex::new(Stage::Announcing(None)),
            buffer: AtomicU64::new(0),
            notices: notices.clone(),
        });
        Self { shared, sockets: Vec::new(), threads: Vec::new(), is_broken: false }
    }

    /// Which transfer it is.
    pub(super) fn id(&self) -> SessionId {
        self.shared.id
    }

    /// The first stream.
    pub(super) fn add_first(&mut self, channel: Channel, first: First) -> Result<(), Error> {
        self.shared.buffer.store(first.buffer, Ordering::Relaxed);
        *lock(&self.shared.stage) = Stage::Announcing(first.before);
        self.start(channel, true)
    }

    /// Returns the session that a new one continues: this one, or the one before it if this one has only received the
    /// announcement. A sender that reconnects again and again thus has one session at work and one that begins.
    pub(super) fn supersede(self) -> Option<Self> {
        let mut stage = lock(&self.shared.stage);
        match &mut *stage {
            Stage::Announcing(before) => {
                let before = before.take();
                *stage = Stage::Superseded;
                before
            }
            Stage::Begun => {
                drop(stage);
                Some(self)
            }
            Stage::Superseded => None,
        }
    }

    /// Another stream.
    pub(super) fn add(&mut self, channel: Channel) -> Result<(), Error> {
        if self.threads.len() >= self.shared.streams {
            return Err(Error::Protocol("more streams than announced"));
        }
        self.start(channel, false)
    }

    fn start(&mut self, channel: Channel, is_first: bool) -> Result<(), Error> {
        self.sockets.push(channel.socket().try_clone().map_err(Error::Lost)?);
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().spawn(move || shared.serve(channel, is_first));
        // Out of threads: its sender reconnects.
        self.threads.push(thread.map_err(Error::Lost)?);
        Ok(())
    }

    /// Takes the data that has arrived, until no more comes, or for five seconds; then ends. Calls `tick` meanwhile.
    #[expect(clippy::disallowed_methods, reason = "a real connection has real deadlines")]
    fn drain(self, tick: &mut impl FnMut() -> Result<(), Error>) -> Result<(), Error> {
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
            tick()?;
        }
        // One may wait for the disk.
        run_with_ticks(|| drop(self), tick)
    }

    /// Ends everything that can be ended at once. A thread that waits for the disk goes on for at most one file.
    pub(super) fn break_off(&mut self) {
        self.is_broken = true;
        self.shared.over.store(true, Ordering::Relaxed);
        if let Some(store) = &*lock(&self.shared.store) {
            store.give_up();
        }
        for socket in &self.sockets {
            // It may be closed already.
            let _ = socket.shutdown(Shutdown::Both);
        }
        self.shared.ready.notify_all();
    }

    /// Whether it was broken off.
    pub(super) const fn is_broken(&self) -> bool {
        self.is_broken
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.break_off();
        for thread in self.threads.drain(..) {
            // A thread that panicked has reported that.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// A stream's thread, from its first message on.
    fn serve(&self, channel: Channel, is_first: bool) {
        let mut stream = Stream::new(channel);
        let wanted = self.buffer.load(Ordering::Relaxed);
        let has = socket::provide(stream.peer.get_ref().socket(), Buffer::Receive, wanted);
        let done = if is_first { self.begin(&mut stream, has) } else { self.wait() };
        if is_first && done.is_err() {
            // The new session failed, so nothing continues from the session before it.
            let before = std::mem::replace(&mut *lock(&self.stage), Stage::Begun);
            drop(before);
        }
        let done = done.and_then(|store| stream.take_all(&store, self, is_first));
        let outcome = match done {
            // Only the first stream ends the session with success.
            Ok(None) => return,
            Ok(Some(received)) => Ok(received),
            // The peer notices by itself that the connection is lost, and reconnects.
            Err(error @ Error::Lost(_)) => Err(error),
            Err(error) => {
                // The peer gets the reason, if it still listens.
                let why = error.in_one_line();
                let _ = wire::send(stream.peer.get_mut(), &Message::Failed { why });
                Err(error)
            }
        };
        if !self.over.swap(true, Ordering::Relaxed) {
            self.ready.notify_all();
            let _ = self.notices.send(Notice::Ended(self.id, outcome));
        }
    }

    /// Reads the announcement, and reports what is there already; `has` is the room in the socket's buffer.
    fn begin(&self, stream: &mut Stream, has: u64) -> Result<Arc<Store>, Error> {
        let entries = stream.read_entries()?;
        let before = match std::mem::replace(&mut *lock(&self.stage), Stage::Begun) {
            Stage::Announcing(before) => before,
            Stage::Begun => None,
            Stage::Superseded => return Err(Error::broken_off()),
        };
        let mut answer = Answer::new(stream.peer.get_mut());
        if let Some(before) = before {
            before.drain(&mut || answer.send(&Message::Busy, &self.over))?;
        }
        let store = Arc::new(Store::new(Arc::clone(&self.root), entries, self.rules));
        self.meter.set_total(store.total(), store.file_count());
        store.look(|message| answer.send(&message, &self.over))?;
        self.meter.set_kept(store.kept());
        answer.send(&Message::HaveEnd { buffer: has }, &self.over)?;
        answer.flush()?;
        *lock(&self.store) = Some(Arc::clone(&store));
        self.ready.notify_all();
        Ok(store)
    }

    /// Waits until the files are announced.
    fn wait(&self) -> Result<Arc<Store>, Error> {
        let mut store = lock(&self.store);
        loop {
            if self.over.load(Ordering::Relaxed) {
                return Err(Error::broken_off());
            }
            if let Some(store) = &*store {
                return Ok(Arc::clone(store));
            }
            let waited = self.ready.wait_timeout(store, TICK);
            store = waited.unwrap_or_else(std::sync::PoisonError::into_inner).0;
        }
    }
}

/// The receiver's answer about what it has, sent in parts, with a sign of life at least each second.
struct Answer<'a> {
    channel: &'a mut Channel,
    outgoing: Vec<u8>,
    flushed: Instant,
}

impl<'a> Answer<'a> {
    #[expect(clippy::disallowed_methods, reason = "a real peer waits for a real time")]
    fn new(channel: &'a mut Channel) -> Self {
        Self { channel, outgoing: Vec::new(), flushed: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "a real peer waits for a real time")]
    fn send(&mut self, message: &Message, is_over: &AtomicBool) -> Result<(), Error> {
        if is_over.load(Ordering::Relaxed) {
            return Err(Error::broken_off());
        }
        if *message != Message::Busy {
            message.encode(&mut self.outgoing);
        }
        if self.outgoing.len() < READ && self.flushed.elapsed() < SILENCE_MAX {
            return Ok(());
        }
        if self.outgoing.is_empty() {
            Message::Busy.encode(&mut self.outgoing);
        }
        self.flushed = Instant::now();
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.channel.write_all(&self.outgoing).and_then(|()| self.channel.flush()).map_err(lost)?;
        self.outgoing.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_sender_gets_a_sign_of_life_each_second() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut channel = Channel::plain(TcpStream::connect(address).expect("a connection"));
        let (mut sender, _) = listener.accept().expect("a connection");
        let (over, mut answer) = (AtomicBool::new(false), Answer::new(&mut channel));
        for step in 0..25 {
            // Of what is found, too, it hears no later.
            let message = if step == 12 { Message::Complete { entry: 7 } } else { Message::Busy };
            answer.send(&message, &over).expect("sent");
            thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(wire::read(&mut sender).expect("a message"), Message::Busy);
        assert_eq!(wire::read(&mut sender).expect("a message"), Message::Complete { entry: 7 });
        sender.set_nonblocking(true).expect("a setting");
        assert!(wire::read(&mut sender).is_err(), "twice in 2.5 seconds");
        over.store(true, Ordering::Relaxed);
        assert!(answer.send(&Message::Busy, &over).is_err());
    }
}
