//! An algorithm in the kernel, by BPF struct_ops.

use std::ffi::OsStr;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use congestion::Config;
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder, OpenObject};

/// The bytes of the name in `struct tcp_congestion_ops` of `cc_kernel.h`, with the terminating zero (Linux's
/// TCP_CA_NAME_MAX).
const NAME: std::ops::Range<usize> = 48..64;

/// The section with the values of the parameters.
const VALUES: &str = ".rodata.values";

/// The map of `cc_kernel.h` that cooperating objects share.
pub(crate) const SHARED: &str = "cc_kept";

/// A registered algorithm. Closing the link removes it from the kernel's list; connections that use it keep it.
#[derive(Debug)]
pub struct Module {
    name: String,
    link: Link,
    _object: Object,
}

impl Module {
    /// Loads and registers an algorithm with its parameters under a unique name.
    ///
    /// # Errors
    /// The error of libbpf, if the kernel or the user's rights do not allow it.
    pub fn load(config: &Config) -> io::Result<Self> {
        Self::load_as(config, own_name(config.algorithm().name()), None)
    }

    /// Loads and registers an algorithm under `name`, of at most 15 characters, with a shared map if given.
    pub(crate) fn load_as(
        config: &Config,
        name: String,
        shared: Option<BorrowedFd<'_>>,
    ) -> io::Result<Self> {
        // The error contains the relevant part of what libbpf would print.
        libbpf_rs::set_print(None);
        let algorithm = config.algorithm();
        let mut open =
            ObjectBuilder::default().open_memory(algorithm.bpf_object()).map_err(io_error)?;
        rename(&mut open, algorithm.kernel_name(), &name)?;
        if !algorithm.parameters().is_empty() {
            set(&mut open, config)?;
        }
        if let Some(shared) = shared {
            let map = open.maps_mut().find(|map| map.name() == OsStr::new(SHARED));
            map.ok_or_else(unnamed)?.reuse_fd(shared).map_err(io_error)?;
        }
        let mut object = open.load().map_err(io_error)?;
        let link = register(&mut object, algorithm.kernel_name())?;
        Ok(Self { name, link, _object: object })
    }

    /// The algorithm's name in the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Pins it as a file of a BPF file system, so that it stays registered after this process.
    pub(crate) fn pin(&mut self, path: &Path) -> io::Result<()> {
        self.link.pin(path).map_err(io_error)
    }
}

/// Registers the algorithm described by the struct_ops map `name` of a loaded object.
pub(crate) fn register(object: &mut Object, name: &str) -> io::Result<Link> {
    let map = object.maps_mut().find(|map| map.name() == OsStr::new(name));
    map.ok_or_else(unnamed)?.attach_struct_ops().map_err(io_error)
}

/// A name that no other run uses, of at most 15 characters, the kernel's limit. `cubic.2x9k01` encodes this process
/// and a number within it. Linux refuses a hyphen (`bpf_obj_name_cpy`).
fn own_name(name: &str) -> String {
    /// The numbers per process. PIDs are below 2^22 (PID_MAX_LIMIT), so both fit six characters.
    const EACH: u32 = 1 << 8;
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed) % EACH;
    let mut left = std::process::id() % (1 << 22) * EACH + number;
    let mut mark = String::new();
    for _ in 0..6 {
        mark.extend(char::from_digit(left % 36, 36));
        left /= 36;
    }
    let short: String = name.replace('-', "_").chars().take(8).collect();
    format!("{short}.{mark}")
}

/// Writes `name` into the object as the algorithm's name.
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

/// Writes the values of the parameters into the section of `cc_kernel.h`.
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

/// Converts an error of libbpf, with its causes.
pub(crate) fn io_error(error: libbpf_rs::Error) -> io::Error {
    io::Error::other(format!("{error:#}"))
}

fn unset() -> io::Error {
    io::Error::other("the BPF object takes no parameters")
}

/// The error for an object of ours that lacks an expected part.
pub(crate) fn unnamed() -> io::Error {
    io::Error::other("the BPF object does not hold the algorithm")
}
