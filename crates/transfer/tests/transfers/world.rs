//! A sender's folder, a receiver's, and transfers from one to the other.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tempfile::TempDir;
use transfer::message::{Message, VERSION};
use transfer::{
    Code, Entry, Error, Event, Kind, Meter, Name, Received, Receiver, ReceiverSettings,
    ReceiverTrust, SenderSettings, SenderTrust, Sent, Sink, Tree, send,
};

/// Bytes of a chunk, so that small files have many.
pub(crate) const CHUNK: u32 = 64 << 10;

/// Two folders.
pub(crate) struct World {
    pub(crate) source: TempDir,
    pub(crate) target: TempDir,
    pub(crate) overwrite: bool,
    pub(crate) into: Option<Sink>,
    /// The time that the receiver lets its sender be silent.
    pub(crate) timeout: Duration,
}

/// A receiver at work.
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    pub(crate) stop: Arc<AtomicBool>,
    events: Arc<Mutex<Vec<Event>>>,
    thread: JoinHandle<Result<Received, Error>>,
}

impl Listening {
    /// The result of the transfer, and its events.
    pub(crate) fn end(self) -> (Result<Received, Error>, Vec<Event>) {
        let received = self.thread.join().expect("the receiver");
        (received, std::mem::take(&mut self.events.lock().expect("the events")))
    }

    /// Waits until it has noticed that its sender is gone.
    pub(crate) fn wait_until_broken(&self) {
        for _ in 0..1000 {
            let events = self.events.lock().expect("the events");
            if events.iter().any(|event| matches!(event, Event::Disconnected(_))) {
                return;
            }
            drop(events);
            thread::sleep(Duration::from_millis(10));
        }
        panic!("nothing broke");
    }

    /// Stops the receiver.
    pub(crate) fn stop(self) -> (Result<Received, Error>, Vec<Event>) {
        self.stop.store(true, Ordering::Relaxed);
        self.end()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = || tempfile::tempdir().expect("a folder");
        let timeout = Duration::from_secs(20);
        Self { source: folder(), target: folder(), overwrite: false, into: None, timeout }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.source.path().join(name)
    }

    /// A file of pseudo-random bytes.
    pub(crate) fn file(&self, name: &str, size: usize) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes(size, name.len() as u64 + 1)).expect("written");
        path
    }

    /// A file of a hole with some data in its middle.
    pub(crate) fn sparse(&self, name: &str, size: u64) -> PathBuf {
        let path = self.path(name);
        let file = fs::File::create(&path).expect("a file");
        file.set_len(size).expect("its length");
        file.write_all_at(&bytes(5000, 9), size / 2).expect("written");
        path
    }

    pub(crate) fn listen(&self, trust: ReceiverTrust) -> Listening {
        let receiver = Receiver::new(ReceiverSettings {
            directory: self.target.path().to_owned(),
            listen: "127.0.0.1:0".into(),
            trust,
            overwrite: self.overwrite,
            into: self.into,
            timeout: self.timeout,
        });
        let receiver = receiver.expect("a receiver");
        let address = receiver.address().expect("an address");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let events = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&events);
        let thread = thread::spawn(move || {
            receiver.run(&Arc::new(Meter::default()), &stopped, |event| {
                seen.lock().expect("the events").push(event);
            })
        });
        Listening { address, stop, events, thread }
    }

    /// Sends `paths` by what `change` makes of the ordinary settings.
    pub(crate) fn send(
        &self,
        address: SocketAddr,
        trust: SenderTrust,
        paths: &[PathBuf],
        change: impl FnOnce(&mut SenderSettings),
    ) -> Result<Sent, Error> {
        self.send_until(address, trust, paths, change, &AtomicBool::new(false))
    }

    pub(crate) fn send_until(
        &self,
        address: SocketAddr,
        trust: SenderTrust,
        paths: &[PathBuf],
        change: impl FnOnce(&mut SenderSettings),
        stop: &AtomicBool,
    ) -> Result<Sent, Error> {
        let mut settings = settings(address, trust);
        change(&mut settings);
        let tree = Tree::of(paths)?;
        send(&settings, &tree, &Meter::default(), stop)
    }

    /// Checks that both folders have the files at `paths`, with permissions and times, and the receiver's
    /// nothing else.
    pub(crate) fn assert_same(&self, paths: &[PathBuf]) {
        let mut sent = BTreeMap::new();
        for path in paths {
            list(path, path.parent().expect("a folder"), &mut sent);
        }
        let mut received = BTreeMap::new();
        for entry in fs::read_dir(self.target.path()).expect("a folder") {
            list(&entry.expect("an entry").path(), self.target.path(), &mut received);
        }
        let names = |all: &BTreeMap<PathBuf, _>| all.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&received), names(&sent));
        for (name, what) in &sent {
            assert!(received[name] == *what, "{} differs", name.display());
        }
    }
}

/// The ordinary settings of a sender.
pub(crate) fn settings(address: SocketAddr, trust: SenderTrust) -> SenderSettings {
    SenderSettings {
        address: address.to_string(),
        trust,
        streams: 1,
        chunk: CHUNK,
        verified: true,
        rate: None,
        congestion: None,
        path: None,
        encryption: None,
        timeout: Duration::from_secs(20),
    }
}

/// Mode, time and content of all that is at `path`.
type Listed = BTreeMap<PathBuf, (u32, i64, i64, Option<Vec<u8>>)>;

fn list(path: &Path, base: &Path, into: &mut Listed) {
    let metadata = fs::symlink_metadata(path).expect("it is there");
    let content = metadata.is_file().then(|| fs::read(path).expect("readable"));
    let name = path.strip_prefix(base).expect("below").to_owned();
    into.insert(name, (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), content));
    if metadata.is_dir() {
        for entry in fs::read_dir(path).expect("a folder") {
            list(&entry.expect("an entry").path(), base, into);
        }
    }
}

/// Pseudo-random bytes (xorshift64).
pub(crate) fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}

pub(crate) fn code() -> (ReceiverTrust, SenderTrust) {
    let code = Code::generate().expect("random numbers");
    (ReceiverTrust::Code(code.clone()), SenderTrust::Code(code))
}

/// A relay to `target` that hands what the sender writes to `change`, with how many bytes went before; if that
/// returns false, it breaks the connection.
pub(crate) fn relay(
    target: SocketAddr,
    change: impl Fn(u64, &mut [u8]) -> bool + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let change = Arc::new(change);
    thread::spawn(move || {
        for from in listener.incoming() {
            let from = from.expect("a connection");
            let Ok(to) = TcpStream::connect(target) else { return };
            let (back, forth) =
                (to.try_clone().expect("a socket"), from.try_clone().expect("a socket"));
            thread::spawn(move || pass(back, forth, |_, _| true));
            let change = Arc::clone(&change);
            thread::spawn(move || pass(from, to, |before, bytes| change(before, bytes)));
        }
    });
    address
}

fn pass(mut from: TcpStream, mut to: TcpStream, change: impl Fn(u64, &mut [u8]) -> bool) {
    use std::io::Read;
    let mut buffer = vec![0; 32 << 10];
    let mut before = 0;
    while let Ok(read) = from.read(&mut buffer) {
        if read == 0
            || !change(before, &mut buffer[..read])
            || to.write_all(&buffer[..read]).is_err()
        {
            break;
        }
        before += read as u64;
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}

/// The first message of a transfer with one stream.
pub(crate) fn hello(chunk: u32) -> Message {
    Message::Hello {
        version: VERSION,
        session: [7; 16],
        streams: 1,
        chunk,
        verified: true,
        buffer: 0,
    }
}

/// A sender's entry for a file.
pub(crate) fn file(name: &str, size: u64) -> Entry {
    let name = Name::new(name.as_bytes()).expect("a name");
    Entry { name, kind: Kind::File { size, sparse: false }, mode: 0o644, seconds: 0, nanos: 0 }
}

/// The number of a file's pages that are only in memory (cachestat(2), Linux 6.5); 0 if the kernel does not
/// say.
pub(crate) fn dirty(path: &Path) -> u64 {
    const CACHESTAT: libc::c_long = 451;
    let file = fs::File::open(path).expect("a file");
    // The whole file: offset and length 0. The results: cached, dirty, writeback, evicted, recently evicted.
    let (range, mut told) = ([0_u64; 2], [0_u64; 5]);
    // SAFETY: the kernel reads two numbers at the first pointer and writes five at the second.
    let done =
        unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), told.as_mut_ptr(), 0) };
    if done == 0 { told[1] + told[2] } else { 0 }
}
