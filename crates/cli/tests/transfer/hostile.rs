//! The memory that peers can make a receiver use: no more than docs/explanation/transfer.md says.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use testbed::{PATIENCE, eventually, lacks};
use transfer::message::{ENTRIES_MAX, Entry, Kind, Message, NAMES_MAX, VERSION};
use transfer::{Name, PENDING_PEERS_MAX};

use crate::typed::SUIMON;
use crate::typed_at::{CODE, free_port};

/// A user that nothing else on the machine is of.
const USER: u32 = 61_234;

/// A receiver in a folder, killed in the end.
struct Receiver {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Receiver {
    fn start(words: &[&str]) -> Self {
        Self::of(Command::new(SUIMON), words, None)
    }

    /// A receiver run by a user of its own, with at most `threads` threads.
    fn with_threads(threads: u32) -> Self {
        let mut command = Command::new("bash");
        command.args(["-c", &format!("ulimit -u {threads} && exec \"$0\" \"$@\""), SUIMON]);
        command.uid(USER).gid(USER);
        Self::of(command, &[], Some(USER))
    }

    fn of(mut command: Command, words: &[&str], owner: Option<u32>) -> Self {
        let (folder, port) = (tempfile::tempdir().expect("a folder"), free_port());
        chown(folder.path(), owner, owner).expect("a folder of that user");
        command.args(["recv", "there", "--quiet", "--listen", &format!("127.0.0.1:{port}")]);
        command.args(words).env("SUIMON_CODE", CODE).current_dir(folder.path());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the program starts");
        eventually("recv listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { child, port, folder }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).expect("a connection")
    }

    /// The most memory that it had so far, in bytes.
    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its peak");
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kibibytes << 10
    }

    /// The bytes that its peers have sent and it has not read.
    fn unread(&self) -> u64 {
        let table = fs::read_to_string("/proc/net/tcp").expect("a kernel with TCP");
        let port = format!(":{:04X}", self.port);
        let of_socket = |line: &str| {
            // Number, local and remote address, state (01 is ESTABLISHED), length of both queues (proc_pid_net(5)).
            let fields: Vec<_> = line.split_whitespace().collect();
            let [_, local, _, "01", queues, ..] = fields[..] else { return None };
            let (_, received) = queues.split_once(':')?;
            local.ends_with(&port).then(|| u64::from_str_radix(received, 16).ok())?
        };
        table.lines().filter_map(of_socket).sum()
    }

    /// Nothing came of it.
    fn has_nothing(&self) -> bool {
        let there = fs::read_dir(self.folder.path().join("there")).expect("a folder");
        let names = there.map(|entry| entry.expect("an entry").file_name());
        names.eq([".suimon-recv"])
    }
}

/// Whether the receiver has closed a connection that does not block.
fn is_closed(socket: &mut TcpStream) -> bool {
    match socket.read(&mut [0; 64]) {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A peer that is known names all that it may, and more: names as long as they may be together, as many as there may be.
#[test]
fn endless_names_take_what_is_said_and_no_more() {
    let receiver = Receiver::start(&["--insecure-plain"]);
    let mut socket = receiver.connect();
    let (session, buffer) = ([7; 16], 0);
    let hello = Message::Hello {
        version: VERSION,
        session,
        streams: 1,
        chunk: 4096,
        verified: true,
        buffer,
    };
    let bytes_of = |message: Message| {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        bytes
    };
    socket.write_all(&bytes_of(hello)).expect("written");
    let length = NAMES_MAX / ENTRIES_MAX;
    let entry = |number: usize| {
        let name = Name::new(format!("{number:0length$}").as_bytes()).expect("a name");
        let kind = Kind::File { size: u64::MAX >> 1, sparse: true };
        Entry { name, kind, mode: 0o644, seconds: 0, nanos: 0 }
    };
    // Sends one message repeatedly; duplicate names are detected only later.
    let entries = bytes_of(Message::Entries((0..1000).map(entry).collect()));
    let mut times = 0;
    while times <= ENTRIES_MAX / 1000 + 10 && socket.write_all(&entries).is_ok() {
        times += 1;
    }
    assert!((times + 2) * 1000 > ENTRIES_MAX, "it was ended after {times} messages");
    let mut said = Vec::new();
    let _ = socket.read_to_end(&mut said);
    // Names, and what an entry takes beside its name, in a vector that doubles.
    let bound = NAMES_MAX as u64 + 2 * ENTRIES_MAX as u64 * size_of::<Entry>() as u64;
    let peak = receiver.peak();
    assert!(peak < bound + (64 << 20), "{} MiB", peak >> 20);
    assert!(receiver.has_nothing());
}

/// Strangers that begin a handshake with all that TLS lets them, and wait.
#[test]
fn strangers_take_little() {
    let receiver = Receiver::start(&[]);
    let before = receiver.peak();
    // A record of 16 KiB that begins a ClientHello of 64 KiB (RFC 8446, section 5.1).
    let mut hello = vec![22, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff];
    hello.resize(5 + 0x4000, 0);
    let mut sockets = Vec::new();
    for _ in 0..5 * PENDING_PEERS_MAX {
        let mut socket = receiver.connect();
        socket.set_nonblocking(true).expect("a setting");
        for _ in 0..4 {
            // Those beyond the bound are closed.
            let _ = socket.write(&hello);
        }
        sockets.push(socket);
    }
    eventually("the strangers beyond the bound are closed, and the others read", || {
        let closed = sockets.iter_mut().map(is_closed).filter(|is_closed| *is_closed).count();
        closed >= 4 * PENDING_PEERS_MAX && receiver.unread() == 0
    });
    let grown = receiver.peak() - before;
    assert!(grown < 16 << 20, "{} KiB for {} strangers", grown >> 10, sockets.len());
    assert!(receiver.has_nothing());
}

/// If the system permits no more threads, unknown peers are rejected, and the receiver continues.
#[test]
fn strangers_end_no_receiver_that_is_out_of_threads() {
    if lacks("a receiver out of threads", &["bash"]) {
        return;
    }
    let mut receiver = Receiver::with_threads(5);
    let mut strangers: Vec<_> = (0..20).map(|_| receiver.connect()).collect();
    strangers.iter().for_each(|stranger| stranger.set_nonblocking(true).expect("a setting"));
    eventually("the strangers beyond its threads are turned away", || {
        strangers.iter_mut().map(is_closed).filter(|is_closed| *is_closed).count() >= 15
    });
    assert_eq!(receiver.child.try_wait().expect("a child"), None);
    drop(strangers);
    eventually("a peer is answered", || {
        let mut socket = receiver.connect();
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        // No TLS: the answer is an alert (RFC 8446, section 6).
        socket.write_all(b"GET / HTTP/1.1\r\n\r\n").is_ok()
            && socket.read(&mut [0; 16]).is_ok_and(|bytes| bytes > 0)
    });
}

/// If the system permits no thread at all, the receiver ends with an error that says so.
#[test]
fn a_receiver_without_threads_says_so() {
    if lacks("a receiver without threads", &["bash"]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (user, listen) = (USER + 1, format!("127.0.0.1:{}", free_port()));
    chown(folder.path(), Some(user), Some(user)).expect("a folder of that user");
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -u 1 && exec \"$0\" \"$@\"", SUIMON]);
    command.args(["recv", "there", "--quiet", "--listen", &listen]);
    let output = command.uid(user).gid(user).current_dir(folder.path()).output();
    let output = output.expect("it starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("error: the system refuses to start a thread\n  help: "), "{told}");
}
