//! TCP that cooperates with an MPI library, for this machine's programs: paced restart, a minimum retransmission
//! timeout and phases (M. Matsuda et al., "TCP Layer Adapted to MPI Library"), by two socket options.
//!
//! The loaded BPF programs stay for all users until they are disabled: they are pinned in their own BPF file system.
//! After that, sockets that use the algorithm keep it until they are closed.

#[cfg(feature = "bpf")]
mod kernel;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use congestion::Config;
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::error::Error;
use crate::runtime;

/// The mount point of the BPF file system.
pub const FOLDER: &str = "/run/suimon/mpi";

/// The name of the algorithm in the kernel.
pub const ALGORITHM: &str = "sui_mpi";

/// The pinned files, in the order of removal: the options first, so that no more sockets adopt the algorithm.
const PINS: [&str; 4] = [OPTIONS, ALGORITHM_PIN, PHASE, COUNTS];
const OPTIONS: &str = "options";
const ALGORITHM_PIN: &str = "algorithm";
const PHASE: &str = "phase";
const COUNTS: &str = "counts";

/// The loader in a build without BPF.
#[cfg(not(feature = "bpf"))]
mod kernel {
    use super::{Counts, Error, Path, Settings};

    fn not_built() -> Error {
        let help = "build with feature `bpf`, which requires clang, libelf and zlib";
        base::Fault::lacking("this build has no BPF objects", help).into()
    }

    pub(super) fn load(_: &Settings, _: &Path) -> Result<(), Error> {
        Err(not_built())
    }

    pub(super) fn counts(_: &Path) -> Result<Counts, Error> {
        Err(not_built())
    }
}

/// The settings to enable.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The congestion control that connections adopt, with its paced restart.
    pub congestion: Config,
    /// The minimum retransmission timeout that connections adopt; `None`: the kernel's.
    pub rto_min: Option<Duration>,
    /// The cgroup whose programs may use the options; `None`: all programs.
    pub cgroup: Option<PathBuf>,
}

/// The counters since the options were enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Entries of a connection into another phase.
    pub phases_entered: u64,
    /// Sockets that adopted the enabled settings.
    pub sockets: u64,
    /// Options that were refused.
    pub refused: u64,
}

/// Enables the options.
///
/// # Errors
/// If they are enabled already, or if the kernel or the user's rights do not allow it. Nothing is left behind then.
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
        // The error of `load` is reported, not that of the cleanup.
        let _ = disable();
    })
}

/// Disables the options and removes them from the kernel. Returns whether they were enabled.
///
/// # Errors
/// If this user lacks the rights.
pub fn disable() -> Result<bool, Error> {
    let folder = Path::new(FOLDER);
    if !is_mounted(folder)? {
        return Ok(false);
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Rights { what: "removing BPF programs", verb: "disable" });
    }
    // Another mount namespace may have a copy of the mount, which would keep the files alive.
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
    // Others use the parent folder too: it is removed only if empty.
    let _ = folder.parent().map(fs::remove_dir);
    Ok(true)
}

/// The counters; only root may read them.
///
/// # Errors
/// If the options are not enabled, or this user lacks the rights.
pub fn counts() -> Result<Counts, Error> {
    let folder = Path::new(FOLDER);
    if !is_mounted(folder)? {
        return Err(Error::NotEnabled);
    }
    if !nix::unistd::geteuid().is_root() {
        return Err(Error::Rights { what: "reading the BPF programs' counters", verb: "status" });
    }
    kernel::counts(folder)
}

/// Whether the options are enabled.
pub fn is_enabled() -> bool {
    is_mounted(Path::new(FOLDER)).unwrap_or(false)
}

/// Whether our BPF file system is mounted.
fn is_mounted(folder: &Path) -> Result<bool, Error> {
    let mounts = Path::new("/proc/self/mounts");
    let text = fs::read_to_string(mounts).map_err(Error::io("read", mounts))?;
    let at = folder.to_string_lossy();
    Ok(text.lines().any(|line| line.split(' ').nth(1) == Some(&at)))
}
