//! TCP that cooperates with an MPI library, for the programs of this machine: paced restart, a floor of the retransmission
//! timeout and phases (M. Matsuda et al., "TCP Layer Adapted to MPI Library"), by two socket options.
//!
//! What is loaded stays for whoever runs programs, until it is disabled: the files of a BPF file system of its own hold it.
//! Sockets that use it then keep the algorithm until they are closed.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use congestion::{Config, PHASES_BPF_OBJECT};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder};
use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::error::Error;
use crate::module::{self, Module, SHARED, told, unnamed};
use crate::option::{self, Adopt};

/// Where it is, unless said otherwise.
pub const FOLDER: &str = "/run/suimon/mpi";

/// What the kernel knows the algorithm by.
pub const ALGORITHM: &str = "sui_mpi";

/// What is adopted, as `phases/kernel.c` has it: a name, and microseconds.
const ADOPTED: &str = ".rodata.adopted";
const NAME_BYTES: usize = 16;

/// What stays, in the order in which it goes: the options first, so that nothing comes in any more.
const PINS: [&str; 4] = [OPTIONS, ALGORITHM_PIN, PHASE, COUNTS];
const OPTIONS: &str = "options";
const ALGORITHM_PIN: &str = "algorithm";
const PHASE: &str = "phase";
const COUNTS: &str = "counts";

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
    fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("bpf"), folder, Some("bpf"), flags, Some("mode=0755"))
        .map_err(|errno| Error::io("mount a BPF file system at", folder)(errno.into()))?;
    load(settings, folder).inspect_err(|_| {
        // What failed is what is told.
        let _ = disable();
    })
}

fn load(settings: &Settings, folder: &Path) -> Result<(), Error> {
    let mut phases = open(settings).map_err(Error::refused("the socket options"))?;
    let pin = |name: &str| folder.join(name);
    let mut link =
        module::register(&mut phases, "sui_phase").map_err(Error::refused("the phases"))?;
    let pinned = link.pin(pin(PHASE)).map_err(told);
    pinned.map_err(Error::io("write", &pin(PHASE)))?;
    let shared = map(&phases, SHARED).map_err(Error::refused("the algorithm"))?;
    let mut algorithm =
        Module::load_as(&settings.congestion, ALGORITHM.to_owned(), Some(shared.as_fd()))
            .map_err(Error::refused("the algorithm"))?;
    algorithm.pin(&pin(ALGORITHM_PIN)).map_err(Error::io("write", &pin(ALGORITHM_PIN)))?;
    let pinned = map(&phases, COUNTS).and_then(|mut map| map.pin(pin(COUNTS)).map_err(told));
    pinned.map_err(Error::io("write", &pin(COUNTS)))?;
    let cgroup = match &settings.cgroup {
        Some(cgroup) => cgroup.clone(),
        None => crate::root_cgroup().map_err(Error::refused("programs of a cgroup"))?,
    };
    let program = phases.progs_mut().find(|program| program.name() == OsStr::new("options"));
    let directory = File::open(&cgroup).map_err(Error::io("open", &cgroup))?;
    let link = program.ok_or_else(unnamed);
    let link = link.and_then(|program| program.attach_cgroup(directory.as_raw_fd()).map_err(told));
    let mut link = link.map_err(Error::refused("programs of a cgroup"))?;
    link.pin(pin(OPTIONS)).map_err(told).map_err(Error::io("write", &pin(OPTIONS)))?;
    // Where it is for another cgroup, this process is no witness.
    if settings.cgroup.is_none() { check(settings) } else { Ok(()) }
}

/// The socket options and what they are made of, with what is to be adopted.
fn open(settings: &Settings) -> io::Result<Object> {
    libbpf_rs::set_print(None);
    let mut open = ObjectBuilder::default().open_memory(PHASES_BPF_OBJECT).map_err(told)?;
    let mut maps = open.maps_mut();
    let mut found = maps.find(|map| map.name() == OsStr::new(ADOPTED)).ok_or_else(unnamed)?;
    let value = found.initial_value_mut().ok_or_else(unnamed)?;
    let (name, rto_min) = value.split_at_mut_checked(NAME_BYTES).ok_or_else(unnamed)?;
    name.fill(0);
    name[..ALGORITHM.len()].copy_from_slice(ALGORITHM.as_bytes());
    let us = settings.rto_min.map_or(0, |time| u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    rto_min.first_chunk_mut().ok_or_else(unnamed).map(|field| *field = us.to_ne_bytes())?;
    drop(maps);
    open.load().map_err(told)
}

fn map(object: &Object, name: &str) -> io::Result<MapHandle> {
    let map = object.maps().find(|map| map.name() == OsStr::new(name)).ok_or_else(unnamed)?;
    MapHandle::try_from(&map).map_err(told)
}

/// Whether a socket can adopt it.
fn check(settings: &Settings) -> Result<(), Error> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let socket = socket.map_err(Error::refused("a socket"))?;
    let congestion = Adopt { congestion: true, rto_min: false };
    option::adopt(socket.as_fd(), congestion).map_err(Error::refused("the socket options"))?;
    option::adopt(socket.as_fd(), Adopt::ALL).map_err(|error| Error::Setting {
        message: format!(
            "the kernel does not take {:?} for the floor of the retransmission timeout: {error}",
            settings.rto_min.unwrap_or_default()
        ),
        help: "choose between three of its clock's ticks, 12 ms at 250 Hz, and 200 ms",
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
    let path = folder.join(COUNTS);
    let read = |map: &MapHandle, number: u32| {
        let value = map.lookup(&number.to_ne_bytes(), MapFlags::ANY).map_err(told)?;
        let value = value.as_deref().and_then(<[u8]>::first_chunk).ok_or_else(unnamed)?;
        Ok::<_, io::Error>(u64::from_ne_bytes(*value))
    };
    let counts = MapHandle::from_pinned_path(&path).map_err(told).and_then(|map| {
        let [phases_entered, sockets, refused] = [0, 1, 2].map(|number| read(&map, number));
        Ok(Counts { phases_entered: phases_entered?, sockets: sockets?, refused: refused? })
    });
    counts.map_err(Error::io("read", &path))
}

/// Whether a BPF file system of ours is there.
fn is_mounted(folder: &Path) -> Result<bool, Error> {
    let mounts = Path::new("/proc/self/mounts");
    let text = fs::read_to_string(mounts).map_err(Error::io("read", mounts))?;
    let at = folder.to_string_lossy();
    Ok(text.lines().any(|line| line.split(' ').nth(1) == Some(&at)))
}
