//! Loading and pinning of the BPF objects.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use base::Fault;
use congestion::PHASES_BPF_OBJECT;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder};

use super::{ALGORITHM, ALGORITHM_PIN, COUNTS, Counts, OPTIONS, PHASE, Settings};
use crate::error::Error;
use crate::module::{self, Module, SHARED, io_error, unnamed};
use crate::option::{self, Adopt};

/// The section with the values to adopt, as in `phases/kernel.c`: a name, and microseconds.
const ADOPTED: &str = ".rodata.adopted";
const NAME_BYTES: usize = 16;

/// Loads all objects and pins them as files in `folder`.
pub(super) fn load(settings: &Settings, folder: &Path) -> Result<(), Error> {
    let mut phases = open(settings).map_err(refused("the socket options"))?;
    let pin = |name: &str| folder.join(name);
    let mut link = module::register(&mut phases, "sui_phase").map_err(refused("the phases"))?;
    let pinned = link.pin(pin(PHASE)).map_err(io_error);
    pinned.map_err(Error::io("write", &pin(PHASE)))?;
    let shared = map(&phases, SHARED).map_err(refused("the algorithm"))?;
    let mut algorithm =
        Module::load_as(&settings.congestion, ALGORITHM.to_owned(), Some(shared.as_fd()))
            .map_err(refused("the algorithm"))?;
    algorithm.pin(&pin(ALGORITHM_PIN)).map_err(Error::io("write", &pin(ALGORITHM_PIN)))?;
    let pinned = map(&phases, COUNTS).and_then(|mut map| map.pin(pin(COUNTS)).map_err(io_error));
    pinned.map_err(Error::io("write", &pin(COUNTS)))?;
    let cgroup = match &settings.cgroup {
        Some(cgroup) => cgroup.clone(),
        None => crate::root_cgroup().map_err(refused("programs of a cgroup"))?,
    };
    let program = phases.progs_mut().find(|program| program.name() == OsStr::new("options"));
    let directory = File::open(&cgroup).map_err(Error::io("open", &cgroup))?;
    let link = program.ok_or_else(unnamed);
    let link =
        link.and_then(|program| program.attach_cgroup(directory.as_raw_fd()).map_err(io_error));
    let mut link = link.map_err(refused("programs of a cgroup"))?;
    link.pin(pin(OPTIONS)).map_err(io_error).map_err(Error::io("write", &pin(OPTIONS)))?;
    // Options for a cgroup cannot be tested by this process, which may be in another one.
    if settings.cgroup.is_some() {
        return Ok(());
    }
    check(settings)?;
    // Resets the counters, because the test changed them.
    let zero = |map: MapHandle| {
        (0..3_u32).try_for_each(|number| {
            map.update(&number.to_ne_bytes(), &0_u64.to_ne_bytes(), MapFlags::ANY).map_err(io_error)
        })
    };
    map(&phases, COUNTS).and_then(zero).map_err(refused("the counts"))
}

/// Loads the object of the socket options, with the values to adopt.
fn open(settings: &Settings) -> io::Result<Object> {
    libbpf_rs::set_print(None);
    let mut open = ObjectBuilder::default().open_memory(PHASES_BPF_OBJECT).map_err(io_error)?;
    let mut maps = open.maps_mut();
    let mut found = maps.find(|map| map.name() == OsStr::new(ADOPTED)).ok_or_else(unnamed)?;
    let value = found.initial_value_mut().ok_or_else(unnamed)?;
    let (name, rto_min) = value.split_at_mut_checked(NAME_BYTES).ok_or_else(unnamed)?;
    name.fill(0);
    name[..ALGORITHM.len()].copy_from_slice(ALGORITHM.as_bytes());
    let us = settings.rto_min.map_or(0, |time| u32::try_from(time.as_micros()).unwrap_or(u32::MAX));
    rto_min.first_chunk_mut().ok_or_else(unnamed).map(|field| *field = us.to_ne_bytes())?;
    drop(maps);
    open.load().map_err(io_error)
}

fn map(object: &Object, name: &str) -> io::Result<MapHandle> {
    let map = object.maps().find(|map| map.name() == OsStr::new(name)).ok_or_else(unnamed)?;
    MapHandle::try_from(&map).map_err(io_error)
}

/// Tests whether a socket can adopt the settings.
fn check(settings: &Settings) -> Result<(), Error> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let socket = socket.map_err(refused("a socket"))?;
    let congestion = Adopt { congestion: true, rto_min: false };
    option::adopt(socket.as_fd(), congestion).map_err(refused("the socket options"))?;
    option::adopt(socket.as_fd(), Adopt::ALL).map_err(|error| {
        let message = format!(
            "the kernel rejects {:?} as the minimum retransmission timeout: {error}",
            settings.rto_min.unwrap_or_default()
        );
        Error::Setting(Fault::usage(message, "use three clock ticks (12 ms at 250 Hz) to 200 ms"))
    })
}

/// Reads the counters.
pub(super) fn counts(folder: &Path) -> Result<Counts, Error> {
    let path = folder.join(COUNTS);
    let read = |map: &MapHandle, number: u32| {
        let value = map.lookup(&number.to_ne_bytes(), MapFlags::ANY).map_err(io_error)?;
        let value = value.as_deref().and_then(<[u8]>::first_chunk).ok_or_else(unnamed)?;
        Ok::<_, io::Error>(u64::from_ne_bytes(*value))
    };
    let counts = MapHandle::from_pinned_path(&path).map_err(io_error).and_then(|map| {
        let [phases_entered, sockets, refused] = [0, 1, 2].map(|number| read(&map, number));
        Ok(Counts { phases_entered: phases_entered?, sockets: sockets?, refused: refused? })
    });
    counts.map_err(Error::io("read", &path))
}

fn refused(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| {
        let help = "it requires BTF, BPF struct_ops with links (Linux 6.4) and a cgroup2 hierarchy";
        Fault::lacking(format!("this kernel rejects {what}: {source}"), help).into()
    }
}
