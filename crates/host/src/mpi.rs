//! TCP that cooperates with an MPI library, for the programs of this machine: paced restart, a floor of the retransmission
//! timeout and phases (M. Matsuda et al., "TCP Layer Adapted to MPI Library"), by two socket options.
//!
//! What is loaded stays for whoever runs programs, until it is disabled: the files of a BPF file system of its own hold it.
//! Sockets that use it then keep the algorithm until they are closed.

#[cfg(feature = "bpf")]
mod kernel;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use congestion::Config;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::error::Error;
use crate::runtime;

/// Where it is.
pub const FOLDER: &str = "/run/suimon/mpi";

/// What the kernel knows the algorithm by.
pub const ALGORITHM: &str = "sui_mpi";

/// What stays, in the order in which it goes: the options first, so that nothing comes in any more.
const PINS: [&str; 4] = [OPTIONS, ALGORITHM_PIN, PHASE, COUNTS];
const OPTIONS: &str = "options";
const ALGORITHM_PIN: &str = "algorithm";
const PHASE: &str = "phase";
const COUNTS: &str = "counts";

/// What loads it, where this build can.
#[cfg(not(feature = "bpf"))]
mod kernel {
    use super::{Counts, Error, Path, Settings};

    pub(super) fn load(_: &Settings, _: &Path) -> Result<(), Error> {
        Err(Error::NotBuilt)
    }

    pub(super) fn counts(_: &Path) -> Result<Counts, Error> {
        Err(Error::NotBuilt)
    }
}

/// What is enabled.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The congestion control that connections adopt, with its paced restart.
    pub congestion: Config,
    /// The floor of the retransmission timeout that they adopt; the kernel's own if there is none.
    pub rto_min: Option<Duration>,
    /// The cgroup whose programs may have it; all unless given.
    pub cgroup: Option<PathBuf>,
}

/// What was done since it was enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Entries of a connection into another phase.
    pub phases_entered: u64,
    /// Sockets that adopted what is enabled.
    pub sockets: u64,
    /// Options that were refused.
    pub refused: u64,
}

/// Enables it.
///
/// # Errors
/// If it is enabled already, or the kernel or this user cannot; nothing is left behind then.
pub fn enable(settings: &Settings) -> Result<(), Error> {
    let folder = Path::new(FOLDER);
    if is_mounted(folder)? {
        return Err(Error::Enabled(folder.to_owned()));
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Rights { what: "loading BPF programs", verb: "enable" });
    }
    let runtime = Path::new(runtime::FOLDER);
    runtime::make(runtime).map_err(Error::io("create", runtime))?;
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("bpf"), folder, Some("bpf"), flags, Some("mode=0755"))
        .map_err(|errno| Error::io("mount a BPF file system at", folder)(errno.into()))?;
    kernel::load(settings, folder).inspect_err(|_| {
        // What failed is what is told.
        let _ = disable();
    })
}

/// Takes it out of the kernel. Returns whether there was anything.
///
/// # Errors
/// If this user cannot.
pub fn disable() -> Result<bool, Error> {
    let folder = Path::new(FOLDER);
    if !is_mounted(folder)? {
        return Ok(false);
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Rights { what: "taking BPF programs out", verb: "disable" });
    }
    // Another mount namespace may have a copy of the mount, which holds what is not removed.
    for pin in PINS.map(|name| folder.join(name)) {
        match fs::remove_file(&pin) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &pin)(error));
            }
            _ => {}
        }
    }
    umount2(folder, MntFlags::MNT_DETACH)
        .map_err(|errno| Error::io("unmount", folder)(errno.into()))?;
    fs::remove_dir(folder).map_err(Error::io("remove", folder))?;
    // The folder above is others' too: it goes if it is empty.
    let _ = folder.parent().map(fs::remove_dir);
    Ok(true)
}

/// What was done; root alone may read it.
///
/// # Errors
/// If it is not enabled, or this user may not.
pub fn counts() -> Result<Counts, Error> {
    let folder = Path::new(FOLDER);
    if !is_mounted(folder)? {
        return Err(Error::NotEnabled);
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Rights { what: "reading what BPF programs counted", verb: "status" });
    }
    kernel::counts(folder)
}

/// Whether a BPF file system of ours is there.
fn is_mounted(folder: &Path) -> Result<bool, Error> {
    let mounts = Path::new("/proc/self/mounts");
    let text = fs::read_to_string(mounts).map_err(Error::io("read", mounts))?;
    let at = folder.to_string_lossy();
    Ok(text.lines().any(|line| line.split(' ').nth(1) == Some(&at)))
}
