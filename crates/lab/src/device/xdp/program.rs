//! The XDP program that passes an interface's frames to a socket. It is loaded without a library.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands of bpf(2) (linux/bpf.h, `enum bpf_cmd`).
mod command {
    pub(super) const MAP_CREATE: i32 = 0;
    pub(super) const MAP_UPDATE_ELEM: i32 = 2;
    pub(super) const PROG_LOAD: i32 = 5;
    pub(super) const LINK_CREATE: i32 = 28;
}

/// `BPF_MAP_TYPE_XSKMAP`: maps queues to sockets.
const SOCKET_MAP: u32 = 17;
/// `BPF_PROG_TYPE_XDP`.
const XDP_PROGRAM: u32 = 6;
/// `BPF_XDP`: the attach type of such a program.
const XDP_ATTACHED: u32 = 37;
/// `XDP_FLAGS_SKB_MODE`: the kernel runs it for the driver.
const GENERIC: u32 = 1 << 1;
/// `XDP_FLAGS_DRV_MODE`: the driver runs it.
const NATIVE: u32 = 1 << 2;

/// One instruction of the BPF machine (RFC 9669, section 3).
#[derive(Clone, Copy)]
#[repr(C)]
struct Instruction {
    code: u8,
    /// Destination register in the low four bits, source register in the high four.
    registers: u8,
    offset: i16,
    immediate: i32,
}

const fn instruction(code: u8, registers: u8, offset: i16, immediate: i32) -> Instruction {
    Instruction { code, registers, offset, immediate }
}

/// `return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS)`: passes a frame to the socket of its queue, or to
/// the kernel's stack if that queue has no socket.
fn to_socket(map: BorrowedFd) -> [Instruction; 6] {
    // LDX | MEM | W: r2 = *(u32 *)(r1 + 16), the queue's place in `struct xdp_md`.
    let queue = instruction(0x61, 0x12, 16, 0);
    // LD | IMM | DW, two slots; source 1 says that the number is a map's descriptor: r1 = map.
    let map = [instruction(0x18, 0x11, 0, map.as_raw_fd()), instruction(0, 0, 0, 0)];
    // ALU64 | MOV | K: r3 = XDP_PASS.
    let pass = instruction(0xb7, 0x03, 0, 2);
    // JMP | CALL: `bpf_redirect_map`; JMP | EXIT.
    let (redirect, exit) = (instruction(0x85, 0, 0, 51), instruction(0x95, 0, 0, 0));
    [queue, map[0], map[1], pass, redirect, exit]
}

/// A loaded program and its socket map.
#[derive(Debug)]
pub(super) struct Program {
    map: OwnedFd,
    program: OwnedFd,
}

/// A program attached to an interface; detached when dropped, or with the process.
#[derive(Debug)]
pub(super) struct Attached {
    _link: OwnedFd,
}

impl Program {
    /// Loads the program. Unprivileged users may not.
    pub(super) fn load() -> io::Result<Self> {
        let map = make_map()?;
        let program = load(map.as_fd())?;
        Ok(Self { map, program })
    }

    /// Attaches the program, so that frames of the interface's first queue go to `socket`.
    pub(super) fn attach(
        &self,
        interface: u32,
        socket: BorrowedFd,
        native: bool,
    ) -> io::Result<Attached> {
        put(self.map.as_fd(), socket)?;
        let mode = if native { NATIVE } else { GENERIC };
        let program = self.program.as_raw_fd() as u32;
        let link = bpf(command::LINK_CREATE, [program, interface, XDP_ATTACHED, mode])?;
        Ok(Attached { _link: owned(link) })
    }
}

fn make_map() -> io::Result<OwnedFd> {
    let (key, value, entries) = (4_u32, 4_u32, 1_u32);
    bpf(command::MAP_CREATE, [SOCKET_MAP, key, value, entries]).map(owned)
}

/// Enters `socket` in the map for the first queue.
fn put(map: BorrowedFd, socket: BorrowedFd) -> io::Result<()> {
    #[repr(C)]
    struct Update {
        map: u32,
        _pad: u32,
        key: u64,
        value: u64,
        flags: u64,
    }
    let (queue, socket) = (0_u32, socket.as_raw_fd());
    let (key, value) = ((&raw const queue) as u64, (&raw const socket) as u64);
    let update = Update { map: map.as_raw_fd() as u32, _pad: 0, key, value, flags: 0 };
    bpf(command::MAP_UPDATE_ELEM, update).map(drop)
}

fn load(map: BorrowedFd) -> io::Result<OwnedFd> {
    #[repr(C)]
    struct Load {
        kind: u32,
        count: u32,
        instructions: u64,
        license: u64,
    }
    let program = to_socket(map);
    bpf(
        command::PROG_LOAD,
        Load {
            kind: XDP_PROGRAM,
            count: program.len() as u32,
            instructions: program.as_ptr() as u64,
            license: c"Dual MIT/GPL".as_ptr() as u64,
        },
    )
    .map(owned)
}

/// Calls bpf(2) with the first fields of the command's attributes. The kernel sets the others to zero.
fn bpf<T>(command: i32, attributes: T) -> io::Result<i32> {
    // SAFETY: the kernel reads `size_of::<T>()` bytes of attributes and the memory that they point to; all of it
    // outlives the call.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, &raw const attributes, size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

/// Takes ownership of a descriptor that the kernel has just returned.
fn owned(fd: i32) -> OwnedFd {
    // SAFETY: bpf(2) returned it as new, so it has no other owner.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
