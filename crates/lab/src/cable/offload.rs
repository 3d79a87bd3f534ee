//! What a cable's ends leave to each other: segmentation, merging and checksums, set as ethtool(8)
//! does.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use crate::{Error, Namespace};

/// Commands of include/uapi/linux/ethtool.h that set one feature.
const TX_CHECKSUM: (u32, &str) = (0x17, "transmit checksums");
const TSO: (u32, &str) = (0x1f, "TCP segmentation");
const GSO: (u32, &str) = (0x24, "generic segmentation");
const GRO: (u32, &str) = (0x2c, "generic receive");

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// Host's end: with `gso` everything is left to who reads the frames, else every frame is whole.
pub(super) fn set_host(host: &Namespace, name: &str, gso: bool) -> Result<(), Error> {
    let features = [TX_CHECKSUM, TSO, GSO, GRO];
    host.within(|| features.into_iter().try_for_each(|feature| set(name, feature, gso)))?
}

/// Fabric's end: what came in as packets stays so.
pub(super) fn set_fabric(fabric: &Namespace, name: &str) -> Result<(), Error> {
    fabric.within(|| set(name, GRO, false))?
}

/// Sets a feature of an interface in this thread's namespace.
fn set(name: &str, (command, feature): (u32, &str), on: bool) -> Result<(), Error> {
    let what = || format!("turn the offload of {feature} {}", if on { "on" } else { "off" });
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .map_err(|error| Error::system(what())(error))?;
    ethtool(&socket, name, Value { command, data: on.into() }).map_err(Error::system(what()))
}

fn ethtool(socket: &OwnedFd, name: &str, mut value: Value) -> io::Result<()> {
    // SAFETY: every field of `ifreq` is an integer, a byte array or a pointer, for which zero is
    // valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    let room = request.ifr_name.len() - 1;
    for (to, from) in request.ifr_name.iter_mut().take(room).zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL reads `ifr_name`, ended by a zero, and at `ifru_data` the `ethtool_value`
    // that outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
