//! The features of this machine for a lab. Each feature is tried as a run would use it, and released again.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use base::{Bytes, Rate};
use nix::sys::mman::{mlock, munlock};
use scenario::plan::Node;
use traffic::Packets;

use crate::buffers::Buffers;
use crate::default_congestion::DefaultCongestion;
use crate::device::{Device, Kind};
use crate::privilege::{self, Privilege};
use crate::veth::{self, Cable, Line, Routes, Segmentation, Settings};
use crate::{Error, Namespace, congestion, threads};

/// The availability of a feature, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Available as a lab needs it.
    Ok,
    /// Available in part: a lab works, but does less.
    Limited,
    /// Not available.
    Missing,
}

/// The result for a feature that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The feature.
    pub what: &'static str,
    /// Its availability.
    pub state: State,
    /// What was found, or why the feature is not available.
    pub why: String,
    /// The command that makes it available; empty if it is.
    pub command: String,
}

/// The command to check again as root, if a user lacks the rights.
const AS_ROOT: &str = "sudo suimon doctor";
/// The command that installs a Debian kernel, which has all features.
const KERNEL: &str = "sudo apt-get install linux-image-amd64";
/// The type information of the running kernel.
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// The magic number at its start (include/uapi/linux/btf.h).
const BTF_MAGIC: u16 = 0xeb9f;
/// The number of buffers of a small run, and their size in bytes: 64 MiB, which AF_XDP locks in memory.
const BUFFERS: (u32, u32) = (1 << 15, 2048);

impl Finding {
    fn ok(what: &'static str, why: impl Into<String>) -> Self {
        Self { what, state: State::Ok, why: why.into(), command: String::new() }
    }

    fn limited(what: &'static str, why: impl Into<String>, command: impl Into<String>) -> Self {
        Self { what, state: State::Limited, why: why.into(), command: command.into() }
    }

    fn missing(what: &'static str, why: impl Into<String>, command: impl Into<String>) -> Self {
        Self { what, state: State::Missing, why: why.into(), command: command.into() }
    }

    /// Creates a finding: available, with the text `seen`, or not, with the reason.
    fn of<T>(
        what: &'static str,
        seen: &str,
        tried: &Result<T, Error>,
        command: impl FnOnce(&Error) -> String,
    ) -> Self {
        match tried {
            Ok(_) => Self::ok(what, seen),
            Err(error) => Self::missing(what, error.to_string(), command(error)),
        }
    }
}

/// This machine, with the rights that a lab gets.
#[derive(Debug)]
pub struct Machine {
    users: Result<(), Error>,
    rights: Result<Privilege, Error>,
    ground: Result<Ground, Error>,
}

/// Two namespaces and a cable between them. Dropping this value removes them.
#[derive(Debug)]
struct Ground {
    host: Namespace,
    fabric: Namespace,
    cable: Result<Cable, Error>,
}

impl Machine {
    /// Acquires the rights that the process can get, and installs a cable. Must be called in a single-threaded process
    /// that does nothing else: without root, it is in a user namespace afterwards.
    pub fn enter() -> Self {
        let users = privilege::users_may();
        Self { users, rights: privilege::acquire(), ground: Ground::new() }
    }

    /// The features that every run in the lab needs: rights, namespaces, cables, their rates, frames, CPUs.
    pub fn lab(&self) -> Vec<Finding> {
        vec![
            self.rights(),
            self.users(),
            Finding::of("network namespaces", "created two", &self.ground, namespaces),
            self.veth(),
            self.shaper(),
            self.packet(),
            self.default_congestion(),
            processors(),
        ]
    }

    /// The features of AF_XDP, the faster access to frames.
    pub fn xdp(&self) -> Vec<Finding> {
        let help = |error: &Error| match code(error) {
            Some(libc::EPERM | libc::EACCES) => AS_ROOT.into(),
            Some(libc::ENOBUFS) => "sudo prlimit --memlock=unlimited --pid $$".into(),
            _ => KERNEL.into(),
        };
        let opened = self.open(Kind::Xdp { native: false });
        let socket = Finding::of("AF_XDP", "opened a socket, generic mode", &opened, help);
        vec![socket, locked()]
    }

    /// The features for our congestion control in the kernel.
    pub fn congestion(&self) -> Vec<Finding> {
        let types = kernel_types();
        let seen = "loaded and unloaded `newreno`";
        let tried = congestion::try_load();
        let lacks_types = types.state == State::Missing;
        let help = |_: &Error| match (congestion::IS_BUILT_IN, lacks_types, &self.rights) {
            (false, ..) => "cargo install --path crates/cli --features bpf".into(),
            (true, true, _) => KERNEL.into(),
            (true, false, Ok(Privilege::Root)) => "sudo sysctl -w net.core.bpf_jit_enable=1".into(),
            (true, false, _) => AS_ROOT.into(),
        };
        vec![types, Finding::of("BPF struct_ops", seen, &tried, help)]
    }

    fn rights(&self) -> Finding {
        const WHAT: &str = "rights";
        match &self.rights {
            Ok(Privilege::Root) => Finding::ok(WHAT, "root: the full lab"),
            Ok(Privilege::Rootless) => {
                let why = "no root: no AF_XDP, only the kernel's own congestion control";
                Finding::limited(WHAT, why, "sudo suimon run FILE --on lab")
            }
            Err(error) => Finding::missing(WHAT, error.to_string(), AS_ROOT),
        }
    }

    fn users(&self) -> Finding {
        const WHAT: &str = "user namespaces";
        match &self.users {
            Ok(()) => Finding::ok(WHAT, "a user without root can run the lab"),
            Err(error) => {
                let lines = privilege::commands().into_iter().map(|line| format!("sudo {line}"));
                let lines = lines.collect::<Vec<_>>().join(" && ");
                let command = if lines.is_empty() { AS_ROOT.into() } else { lines };
                Finding::missing(WHAT, error.to_string(), command)
            }
        }
    }

    fn cable(&self) -> Result<&Cable, String> {
        let ground = self.ground.as_ref().map_err(|_| "not tried without a namespace")?;
        ground.cable.as_ref().map_err(ToString::to_string)
    }

    fn veth(&self) -> Finding {
        match self.cable() {
            Ok(_) => Finding::ok("veth", "connected them by a veth pair"),
            Err(why) => Finding::missing("veth", why, "sudo modprobe veth"),
        }
    }

    fn shaper(&self) -> Finding {
        const LOAD: &str = "sudo modprobe sch_tbf";
        match self.cable() {
            Ok(cable) if cable.shaped => Finding::ok("TBF", "limits a host to its link rate"),
            Ok(_) => {
                Finding::missing("TBF", "not in this kernel: hosts send without a rate limit", LOAD)
            }
            Err(why) => Finding::missing("TBF", why, LOAD),
        }
    }

    fn packet(&self) -> Finding {
        let opened = self.open(Kind::Packet { vnet: false });
        Finding::of("AF_PACKET", "opened a socket", &opened, |error| match code(error) {
            Some(libc::EAFNOSUPPORT) => "sudo modprobe af_packet".into(),
            _ => AS_ROOT.into(),
        })
    }

    /// The default congestion control of programs in hosts.
    fn default_congestion(&self) -> Finding {
        const WHAT: &str = "congestion control";
        let Ok(ground) = &self.ground else {
            return Finding::missing(WHAT, "not tried without a namespace", AS_ROOT);
        };
        match DefaultCongestion::set(&[&ground.host]) {
            Ok(set) => match set.source() {
                Ok(seen) => Finding::ok(WHAT, seen),
                Err(why) => Finding::limited(WHAT, why, format!("sudo {}", set.command())),
            },
            Err(error) => Finding::missing(WHAT, error.to_string(), AS_ROOT),
        }
    }

    /// Opens and closes the fabric's end of the cable.
    fn open(&self, kind: Kind) -> Result<(), Error> {
        let (Ok(ground), Ok(cable)) = (&self.ground, self.cable()) else {
            return Err(Error::unfit("not tried without a veth pair", ""));
        };
        let (count, size) = BUFFERS;
        let (buffers, mut packets) = (Buffers::new(count, size)?, Packets::with_places(count));
        let open = || Device::open(cable.fabric_index, kind, &buffers, &mut packets, None);
        let device = ground.fabric.within(open)??;
        device.close(&mut packets);
        Ok(())
    }
}

impl Ground {
    fn new() -> Result<Self, Error> {
        let (host, fabric) = (Namespace::new()?, Namespace::new()?);
        let rate = Rate::from_bits_per_second(1_000_000_000).unwrap_or(Rate::MIN);
        let settings = Settings {
            interface: 0,
            fabric_interface: "p0",
            mac: Node::ethernet_address(0),
            mtu: 1500,
            address: [10, 0, 0, 1].into(),
            own_address: None,
            own_ports: &[],
            routes: Routes::Everything,
            qdisc: None,
            line: Some(Line {
                rate,
                overhead: 24,
                limit: Bytes(1 << 20),
                punctual: false,
                burst: None,
            }),
            segmentation: Segmentation::Tcp,
            receive_cpus: &[],
        };
        let cable = veth::lay(&host, &fabric, &settings);
        Ok(Self { host, fabric, cable })
    }
}

fn namespaces(error: &Error) -> String {
    match code(error) {
        Some(libc::ENOSPC) => "sudo sysctl -w user.max_net_namespaces=10000".into(),
        Some(libc::EINVAL) => KERNEL.into(),
        _ => AS_ROOT.into(),
    }
}

fn processors() -> Finding {
    const WHAT: &str = "processors";
    let layout = threads::Layout::of_this_machine();
    match layout.fabric {
        Some(_) => {
            let why = format!("one for the fabric, {} for hosts", layout.others.len());
            Finding::ok(WHAT, why)
        }
        None => Finding::limited(
            WHAT,
            "only one: fabric and hosts share it, and frames are late",
            "taskset --cpu-list 0-1 suimon run FILE --on lab",
        ),
    }
}

/// Whether the process may lock the buffers of a small run in memory, as AF_XDP does.
fn locked() -> Finding {
    const WHAT: &str = "locked memory";
    let tried = Buffers::new(BUFFERS.0, BUFFERS.1).and_then(|buffers| {
        let (start, length) = buffers.region();
        // SAFETY: the region is the buffers', which outlive both calls; nothing is written.
        unsafe { mlock(start.cast(), length).and_then(|()| munlock(start.cast(), length)) }
            .map_err(Error::system("lock 64 MiB"))
    });
    let unlimited = "sudo prlimit --memlock=unlimited --pid $$";
    Finding::of(WHAT, "locked 64 MiB", &tried, |_| unlimited.into())
}

/// Whether the kernel provides type information (BTF), which BPF programs need to access its structures.
fn kernel_types() -> Finding {
    let mut magic = [0; 2];
    let read = File::open(Path::new(BTF)).and_then(|mut file| file.read_exact(&mut magic));
    match read {
        Ok(()) if u16::from_ne_bytes(magic) == BTF_MAGIC => Finding::ok("BTF", BTF),
        Ok(()) => Finding::missing("BTF", format!("{BTF} has an unknown format"), KERNEL),
        Err(error) => Finding::missing("BTF", format!("{BTF}: {error}"), KERNEL),
    }
}

fn code(error: &Error) -> Option<i32> {
    match error {
        Error::Lacking { source, .. } | Error::System { source, .. } => source.raw_os_error(),
        Error::Unfit { .. } => None,
    }
}
