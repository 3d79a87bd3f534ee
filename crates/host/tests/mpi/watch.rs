//! Changes to a connection that no program can make: `watch.bpf.c`.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

use libbpf_rs::{Link, MapCore, MapFlags, Object, ObjectBuilder};

use crate::bpf;

const SET_THRESHOLD: i32 = 0x51f0;
const WRITE_STATE: i32 = 0x51f1;

/// The program at work.
pub(crate) struct Watch {
    object: Object,
    _link: Link,
}

impl Watch {
    pub(crate) fn new() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mpi/watch.bpf.c");
        let name = format!("watch-{}-{:?}.o", std::process::id(), std::thread::current().id());
        let path = std::env::temp_dir().join(name);
        bpf::compile(&source, &path, &[], &[]).unwrap_or_else(|error| panic!("{error}"));
        let open = ObjectBuilder::default().open_file(&path).expect("clang's object");
        let object = open.load().expect("the kernel takes it");
        fs::remove_file(&path).expect("it is ours");
        let cgroup =
            File::open(host::root_cgroup().expect("cgroup2 is mounted")).expect("a folder");
        let program = object.progs_mut().next().expect("there is one");
        let link = program.attach_cgroup(cgroup.as_raw_fd()).expect("root may");
        Self { object, _link: link }
    }

    pub(crate) fn set_threshold(&self, socket: BorrowedFd<'_>, packets: u32) {
        set(socket, SET_THRESHOLD, packets);
    }

    /// The state of the connection's algorithm.
    pub(crate) fn state(&self, socket: BorrowedFd<'_>) -> Vec<u8> {
        set(socket, WRITE_STATE, 0);
        let map = self.object.maps().find(|map| map.name() == "state").expect("it is there");
        let state = map.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).expect("it is there");
        state.expect("arrays are full")
    }
}

fn set(socket: BorrowedFd<'_>, option: i32, value: u32) {
    let (socket, from) = (socket.as_raw_fd(), (&raw const value).cast());
    // SAFETY: the value is read, and of four bytes.
    let result = unsafe { libc::setsockopt(socket, libc::SOL_TCP, option, from, 4) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}
