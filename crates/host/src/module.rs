//! One algorithm in the kernel, by struct_ops.

use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use congestion::Config;
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder, OpenObject};

/// Where the kernel's name lies in `struct tcp_congestion_ops` of `cc_kernel.h`, and its length with the
/// terminating zero (Linux's TCP_CA_NAME_MAX).
const NAME: std::ops::Range<usize> = 48..64;

/// The section with the values of the parameters.
const VALUES: &str = ".rodata.values";

/// The map of `cc_kernel.h` that what works together shares.
pub(crate) const SHARED: &str = "cc_kept";

/// A registered algorithm. The link takes it off the kernel's list when it is closed; connections that use
/// it keep it for themselves.
#[derive(Debug)]
pub struct Module {
    name: String,
    link: Link,
    _object: Object,
}

impl Module {
    /// Loads and registers an algorithm with its parameters under a name of its own.
    ///
    /// # Errors
    /// What libbpf says if this kernel or this user cannot.
    pub fn load(config: &Config) -> io::Result<Self> {
        Self::load_as(config, own_name(config.algorithm().name()), None)
    }

    /// Under that name, of 15 characters at most, and with the map that it shares.
    pub(crate) fn load_as(
        config: &Config,
        name: String,
        shared: Option<BorrowedFd<'_>>,
    ) -> io::Result<Self> {
        // What libbpf would print is in the error as far as it matters.
        libbpf_rs::set_print(None);
        let algorithm = config.algorithm();
        let mut open =
            ObjectBuilder::default().open_memory(algorithm.bpf_object()).map_err(told)?;
        rename(&mut open, algorithm.kernel_name(), &name)?;
        if !algorithm.parameters().is_empty() {
            set(&mut open, config)?;
        }
        if let Some(shared) = shared {
            let map = open.maps_mut().find(|map| map.name() == OsStr::new(SHARED));
            map.ok_or_else(unnamed)?.reuse_fd(shared).map_err(told)?;
        }
        let mut object = open.load().map_err(told)?;
        let link = register(&mut object, algorithm.kernel_name())?;
        Ok(Self { name, link, _object: object })
    }

    /// What the kernel knows it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Keeps it registered, as a file of a BPF file system, after this process.
    pub(crate) fn pin(&mut self, path: &Path) -> io::Result<()> {
        self.link.pin(path).map_err(told)
    }
}

/// Registers the algorithm of a loaded object that its struct_ops map `name` describes.
pub(crate) fn register(object: &mut Object, name: &str) -> io::Result<Link> {
    let map = object.maps_mut().find(|map| map.name() == OsStr::new(name));
    map.ok_or_else(unnamed)?.attach_struct_ops().map_err(told)
}

/// A name that no other run has: the kernel takes 15 characters. `cubic.2x9k01` is the one of this process
/// and, within it, of that number.
fn own_name(name: &str) -> String {
    /// Processes have numbers below 2^22 (PID_MAX_LIMIT); with these, six characters.
    const EACH: u32 = 1 << 8;
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed) % EACH;
    let mut left = std::process::id() % (1 << 22) * EACH + number;
    let mut mark = String::new();
    for _ in 0..6 {
        mark.extend(char::from_digit(left % 36, 36));
        left /= 36;
    }
    let short: String = name.chars().take(8).collect();
    format!("{short}.{mark}")
}

/// Writes `name` where the object says what it is called.
fn rename(object: &mut OpenObject, map: &str, name: &str) -> io::Result<()> {
    let mut maps = object.maps_mut();
    let mut found =
        maps.find(|candidate| candidate.name() == OsStr::new(map)).ok_or_else(unnamed)?;
    let field =
        found.initial_value_mut().and_then(|value| value.get_mut(NAME)).ok_or_else(unnamed)?;
    field.fill(0);
    for (place, byte) in field.iter_mut().zip(name.bytes().take(NAME.len() - 1)) {
        *place = byte;
    }
    Ok(())
}

/// Writes the values of the parameters where `cc_kernel.h` has them.
fn set(object: &mut OpenObject, config: &Config) -> io::Result<()> {
    let mut maps = object.maps_mut();
    let mut found = maps.find(|map| map.name() == OsStr::new(VALUES)).ok_or_else(unset)?;
    let values = found.initial_value_mut().ok_or_else(unset)?;
    let words = values.as_chunks_mut().0.iter_mut();
    if words.len() < config.values().len() {
        return Err(unset());
    }
    words.zip(config.values()).for_each(|(word, value)| *word = value.to_ne_bytes());
    Ok(())
}

/// What libbpf says, with what it comes from.
pub(crate) fn told(error: libbpf_rs::Error) -> io::Error {
    io::Error::other(format!("{error:#}"))
}

fn unset() -> io::Error {
    io::Error::other("the BPF object takes no parameters")
}

/// An object of ours without what it is named by.
pub(crate) fn unnamed() -> io::Error {
    io::Error::other("the BPF object does not hold the algorithm")
}
