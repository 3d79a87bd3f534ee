//! The requests of ethtool(8) about an interface in the calling thread's namespace.

use std::io;
use std::os::fd::AsRawFd;

use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// Commands (include/uapi/linux/ethtool.h).
pub mod command {
    /// Transmit checksums.
    pub const SET_TX_CHECKSUM: u32 = 0x17;
    /// TCP segmentation.
    pub const SET_TSO: u32 = 0x1f;
    /// Segmentation by the kernel.
    pub const SET_GSO: u32 = 0x24;
    /// LRO and VLAN tags of an interface.
    pub const GET_FLAGS: u32 = 0x25;
    /// Changes them.
    pub const SET_FLAGS: u32 = 0x26;
    /// Merging by the kernel.
    pub const GET_GRO: u32 = 0x2b;
    /// Changes it.
    pub const SET_GRO: u32 = 0x2c;
    pub(super) const GET_DRIVER: u32 = 0x03;
    pub(super) const GET_PAUSE: u32 = 0x12;
    pub(super) const SET_PAUSE: u32 = 0x13;
    pub(super) const GET_STRINGS: u32 = 0x1b;
    pub(super) const GET_FEATURES: u32 = 0x3a;
    pub(super) const SET_FEATURES: u32 = 0x3b;
    pub(super) const GET_CHANNELS: u32 = 0x3c;
    pub(super) const SET_CHANNELS: u32 = 0x3d;
}

/// Sets one value of an interface.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the interface does not have it.
pub fn set(name: &str, command: u32, value: u32) -> io::Result<()> {
    // `struct ethtool_value`.
    ask(name, &mut [command, value])
}

/// Reads one value of an interface.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the interface does not have it.
pub fn get(name: &str, command: u32) -> io::Result<u32> {
    let mut request = [command, 0];
    ask(name, &mut request).map(|()| request[1])
}

/// The queues of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// For receiving only.
    pub receiving: u32,
    /// For sending only.
    pub sending: u32,
    /// For other uses.
    pub other: u32,
    /// For receiving and sending.
    pub combined: u32,
}

/// The queues of an interface.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the interface does not report them.
pub fn channels(name: &str) -> io::Result<Channels> {
    // `struct ethtool_channels`: the command, four maximum counts, and the current counts for receiving, sending,
    // other uses, and combined.
    let mut request = [command::GET_CHANNELS, 0, 0, 0, 0, 0, 0, 0, 0];
    ask(name, &mut request)?;
    let [.., receiving, sending, other, combined] = request;
    Ok(Channels { receiving, sending, other, combined })
}

/// Changes the queues of an interface.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the interface has no other number of them.
pub fn set_channels(name: &str, channels: Channels) -> io::Result<()> {
    let Channels { receiving, sending, other, combined } = channels;
    let mut request = [command::SET_CHANNELS, 0, 0, 0, 0, receiving, sending, other, combined];
    ask(name, &mut request)
}

/// The number of receive queues of an interface.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the interface does not have it.
pub fn receive_queues(name: &str) -> io::Result<u32> {
    channels(name).map(|channels| channels.receiving + channels.combined)
}

/// The name of an interface's driver; for a virtual interface of the kernel, its kind.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the interface does not have it.
pub fn driver(name: &str) -> io::Result<String> {
    // `struct ethtool_drvinfo`: the command, then the driver's name in 32 bytes.
    const WORDS: usize = 49;
    let mut request = [0; WORDS];
    request[0] = command::GET_DRIVER;
    ask(name, &mut request)?;
    Ok(text(&request[1..9]))
}

/// The PAUSE frames of an interface (IEEE 802.3, annex 31B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Whether it negotiates them with the far end.
    pub negotiates: bool,
    /// Whether it stops for those that it receives.
    pub receives: bool,
    /// Whether it sends them.
    pub sends: bool,
}

/// The PAUSE settings of an interface.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the interface does not have it.
pub fn pause(name: &str) -> io::Result<Pause> {
    // `struct ethtool_pauseparam`.
    let mut request = [command::GET_PAUSE, 0, 0, 0];
    ask(name, &mut request)?;
    let [_, negotiates, receives, sends] = request.map(|word| word != 0);
    Ok(Pause { negotiates, receives, sends })
}

/// Changes the PAUSE settings of an interface.
///
/// # Errors
/// The kernel's refusal; `EOPNOTSUPP` if the interface does not have it.
pub fn set_pause(name: &str, pause: Pause) -> io::Result<()> {
    let Pause { negotiates, receives, sends } = pause;
    ask(name, &mut [command::SET_PAUSE, negotiates.into(), receives.into(), sends.into()])
}

/// 32 features at most in each word, and this many words: Linux has fewer than 128 features.
const FEATURE_WORDS: usize = 4;

/// The features (offloads) of an interface, one bit each, by the number of [`feature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Those that may be changed.
    pub changeable: [u32; FEATURE_WORDS],
    /// Those that are asked for. One may be inactive nevertheless, because it needs another.
    pub wanted: [u32; FEATURE_WORDS],
    /// Those in use.
    pub active: [u32; FEATURE_WORDS],
    /// The words that this kernel has.
    words: u32,
}

/// The features of an interface.
///
/// # Errors
/// The kernel's refusal.
pub fn features(name: &str) -> io::Result<Features> {
    // `struct ethtool_gfeatures`: the command, the number of blocks, and for each block what may be changed, what is
    // asked for, what is active, and what never changes.
    let mut request = [0; 2 + 4 * FEATURE_WORDS];
    request[..2].copy_from_slice(&[command::GET_FEATURES, FEATURE_WORDS as u32]);
    ask(name, &mut request)?;
    let word = |at: usize| std::array::from_fn(|block| request[2 + 4 * block + at]);
    let words = request[1].min(FEATURE_WORDS as u32);
    Ok(Features { changeable: word(0), wanted: word(1), active: word(2), words })
}

/// Asks for the feature with that number, or no longer.
///
/// # Errors
/// The kernel's refusal.
pub fn set_feature(name: &str, number: u32, on: bool) -> io::Result<()> {
    let words = features(name)?.words;
    if number >= 32 * words {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // `struct ethtool_sfeatures`: the command, the number of blocks, which must be the kernel's, and for each block
    // what to change and its value.
    let mut request = [0; 2 + 2 * FEATURE_WORDS];
    request[..2].copy_from_slice(&[command::SET_FEATURES, words]);
    let (bit, block) = (1 << (number % 32), 2 + 2 * (number / 32) as usize);
    request[block] = bit;
    request[block + 1] = if on { bit } else { 0 };
    ask(name, &mut request)
}

/// The number of the feature of that name, as `ethtool -k` spells it in full; `None` if this kernel has none.
///
/// # Errors
/// The kernel's refusal.
pub fn feature(name: &str, feature: &str) -> io::Result<Option<u32>> {
    /// `ETH_SS_FEATURES` and `ETH_GSTRING_LEN`.
    const SET: u32 = 4;
    const LENGTH: usize = 32;
    const WORDS: usize = LENGTH / size_of::<u32>();
    // `struct ethtool_gstrings`: the command, the set, the number of strings, and the strings.
    let mut request = [0; 3 + 32 * FEATURE_WORDS * WORDS];
    request[..2].copy_from_slice(&[command::GET_STRINGS, SET]);
    ask(name, &mut request)?;
    let count = (request[2] as usize).min(32 * FEATURE_WORDS);
    let strings = request[3..].chunks(WORDS).take(count).map(text);
    let number = strings.into_iter().position(|string| string == feature);
    Ok(number.map(|number| number as u32))
}

/// The text in words, up to a zero.
fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
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
