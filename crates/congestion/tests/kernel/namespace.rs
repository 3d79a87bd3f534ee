//! Two network namespaces joined by a veth pair.
//!
//! They have no name: the kernel drops them, and all in them, with the last file that holds them,
//! however the test ends.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, ObjectBuilder};
use nix::sched::{CloneFlags, setns, unshare};

use crate::object;

/// Fast enough to finish soon, slow enough to queue: up to 16 ms of packets.
const QUEUE: &str = "tbf rate 200mbit burst 32kb limit 400kb";
/// Almost stopped; the queue keeps its packets.
const STALLED: &str = "tbf rate 8kbit burst 32kb limit 400kb";
/// Longer than Linux's minimum RTO, so that it fires for packets that are not lost.
const STALL: Duration = Duration::from_millis(450);

/// A network namespace, as long as this lives.
struct Namespace(File);

impl Namespace {
    fn new() -> Self {
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("root may make a namespace");
            File::open("/proc/thread-self/ns/net").expect("the new namespace")
        });
        Self(made.join().expect("the thread that made the namespace"))
    }

    /// Runs `work` in this namespace, on a thread of its own.
    fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).expect("root may enter a namespace");
                work()
            });
            inside.join().expect("the work inside the namespace")
        })
    }

    /// Runs one command line; it must succeed.
    fn run(&self, line: &str) {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().expect("a command"));
        command.args(words);
        let output = self.within(|| command.output()).expect("the command starts");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// A sender's and a receiver's namespace, `a0` in the one joined to `b0` in the other.
pub(crate) struct Pair {
    sender: Namespace,
    receiver: Namespace,
}

/// An XDP program that sees packets on the way to the receiver, as long as this lives.
pub(crate) struct Entrance {
    numbers: MapHandle,
    _link: Link,
}

impl Entrance {
    /// The first of the numbers that the program keeps.
    pub(crate) fn first_number(&self) -> u32 {
        let numbers = self.numbers.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY);
        let numbers = numbers.expect("a map that is read").expect("the program's numbers");
        u32::from_ne_bytes(*numbers.first_chunk().expect("at least one"))
    }
}

/// The receiver's address.
pub(crate) const RECEIVER: &str = "10.77.0.2";

impl Pair {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = (Namespace::new(), Namespace::new());
        let path = format!("/proc/{}/fd/{}", std::process::id(), receiver.0.as_raw_fd());
        sender.run(&format!("ip link add a0 type veth peer name b0 netns {path}"));
        sender.run("ip addr add 10.77.0.1/24 dev a0");
        sender.run("ip link set a0 up");
        receiver.run(&format!("ip addr add {RECEIVER}/24 dev b0"));
        receiver.run("ip link set b0 up");
        Self { sender, receiver }
    }

    /// Runs `work` where the sender is.
    pub(crate) fn at_sender<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.sender.within(work)
    }

    /// Runs `work` where the receiver is.
    pub(crate) fn at_receiver<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.receiver.within(work)
    }

    /// Puts a slow queue before the wire: the RTT varies, and the full queue is local congestion.
    pub(crate) fn limit_rate(&self) {
        self.sender.run(&format!("tc qdisc add dev a0 root {QUEUE}"));
    }

    /// Stops the queue for a while, so that a timeout fires for nothing and is undone.
    pub(crate) fn stall_at(&self, when: Duration) {
        thread::sleep(when);
        self.sender.run(&format!("tc qdisc change dev a0 root {STALLED}"));
        thread::sleep(STALL);
        self.sender.run(&format!("tc qdisc change dev a0 root {QUEUE}"));
    }

    /// Drops packets on their way into the receiver while it lives.
    pub(crate) fn drop_some(&self) -> Entrance {
        self.at_entrance("drop")
    }

    /// Marks packets on their way into the receiver while it lives, and counts them.
    pub(crate) fn mark_some(&self) -> Entrance {
        self.at_entrance("mark")
    }

    /// Attaches the XDP program of `NAME.bpf.c` in front of the receiver.
    fn at_entrance(&self, name: &str) -> Entrance {
        let file = format!("tests/kernel/{name}.bpf.c");
        let program = object::build(Path::new(&file), name, &[]);
        self.receiver.within(|| {
            let open = ObjectBuilder::default().open_memory(&program).expect("the XDP object");
            let object = open.load().expect("the kernel takes the XDP program");
            let numbers = object.maps().find(|map| map.name().to_string_lossy().ends_with(".bss"));
            let numbers =
                numbers.and_then(|map| MapHandle::try_from(&map).ok()).expect("its numbers");
            let program = object.progs_mut().next().expect("one program");
            let index = nix::net::if_::if_nametoindex("b0").expect("b0");
            let link = program.attach_xdp(index as i32).expect("veth takes XDP");
            Entrance { numbers, _link: link }
        })
    }
}
