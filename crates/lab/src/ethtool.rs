//! The requests of ethtool(8) about an interface in the calling thread's namespace.

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Commands (include/uapi/linux/ethtool.h).
pub(crate) mod command {
    pub(crate) const SET_TX_CHECKSUM: u32 = 0x17;
    pub(crate) const SET_TSO: u32 = 0x1f;
    pub(crate) const SET_GSO: u32 = 0x24;
    pub(crate) const GET_FLAGS: u32 = 0x25;
    pub(crate) const SET_FLAGS: u32 = 0x26;
    pub(crate) const GET_GRO: u32 = 0x2b;
    pub(crate) const SET_GRO: u32 = 0x2c;
    pub(super) const GET_DRIVER: u32 = 0x03;
    pub(super) const GET_CHANNELS: u32 = 0x3c;
}

/// Sets one value of an interface.
pub(crate) fn set(name: &str, command: u32, value: u32) -> io::Result<()> {
    // `struct ethtool_value`.
    ask(name, &mut [command, value])
}

/// Reads one value of an interface.
pub(crate) fn get(name: &str, command: u32) -> io::Result<u32> {
    let mut request = [command, 0];
    ask(name, &mut request).map(|()| request[1])
}

/// The number of receive queues of an interface.
pub(crate) fn receive_queues(name: &str) -> io::Result<u32> {
    // `struct ethtool_channels`: the command, four maximum counts, and the current counts for receiving, sending,
    // other uses, and combined.
    let mut channels = [command::GET_CHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    ask(name, &mut channels)?;
    let [.., receiving, _, _, both] = channels;
    Ok(receiving + both)
}

/// The name of an interface's driver; for a virtual interface of the kernel, its kind.
pub(crate) fn driver(name: &str) -> io::Result<String> {
    // `struct ethtool_drvinfo`: the command, then the driver's name in 32 bytes.
    const WORDS: usize = 49;
    let mut request = [0; WORDS];
    request[0] = command::GET_DRIVER;
    ask(name, &mut request)?;
    let bytes = request[1..9].iter().flat_map(|word| word.to_ne_bytes());
    let name: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    Ok(String::from_utf8_lossy(&name).into_owned())
}

/// Sends a request with one of the kernel's structs. They all consist of words and begin with the command.
fn ask<const WORDS: usize>(name: &str, words: &mut [u32; WORDS]) -> io::Result<()> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: every field of `ifreq` is an integer, a byte array or a pointer, for which zero is
    // valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().take(room).zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: SIOCETHTOOL reads `ifr_name`, ended by a zero, and reads and writes at `ifru_data` the
    // command's struct, which is as long as `words` and outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
