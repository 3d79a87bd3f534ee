//! The kernel as forwarder: IP forwarding into HTB, by a thread of its own on the forwarder's core.

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use lab::sysctl;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::bed::{Bed, FORWARDER, Generator, Result, arrived, pin, run};

/// The Ethernet address of the box's first interface.
pub(crate) const ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 9];
/// What the kernel does on the forwarder's core beside that thread.
const SOFT: &str = "ksoftirqd/0";

/// The maximum number of polls until a burst is through.
const POLLS_MAX: u32 = 200;

/// The threads that forward.
pub(crate) struct Kernel {
    threads: Vec<i32>,
}

impl Kernel {
    /// Has the box's kernel forward what is sent to [`ADDRESS`], with HTB on the way out if `htb`.
    pub(crate) fn new(bed: &Bed, htb: bool) -> Result<Self> {
        sysctl::set(&bed.middle, "net.ipv4.ip_forward", "1")?;
        for line in [
            "ip link set f0 address 02:00:00:00:00:09",
            "ip addr add 10.0.0.1/24 dev f0",
            "ip addr add 10.0.1.1/24 dev f1",
            // Not the sink's own, so that its kernel drops what it gets without a further look.
            "ip neigh add 10.0.1.2 lladdr 02:00:00:00:00:99 dev f1 nud permanent",
            // Without, a veth interface has no NAPI that a thread could run.
            "ethtool -K f0 gro on",
        ] {
            run(&bed.middle, line)?;
        }
        if htb {
            run(&bed.middle, "tc qdisc add dev f1 root handle 1: htb default 1")?;
            let class = "htb rate 100gbit ceil 100gbit burst 10mb cburst 10mb";
            run(&bed.middle, &format!("tc class add dev f1 parent 1: classid 1:1 {class}"))?;
        }
        let before = threads()?;
        bed.middle.within(become_threaded)??;
        let after = threads()?;
        let new =
            |thread: &&(i32, String)| !before.contains(thread) && thread.1.starts_with("napi/f0");
        let (napi, _) = after.iter().find(new).ok_or("no thread forwards")?;
        let (soft, _) = after.iter().find(|(_, name)| name == SOFT).ok_or("no softirq thread")?;
        pin(*napi, FORWARDER)?;
        Ok(Self { threads: vec![*napi, *soft] })
    }

    /// Returns the nanoseconds of CPU per packet, for each of `bursts` bursts of `frames`.
    pub(crate) fn measure(
        &self,
        bed: &Bed,
        generator: &mut Generator,
        bursts: u32,
        frames: u32,
    ) -> Result<Vec<f64>> {
        let mut costs = Vec::new();
        let (mut spent, mut had) = (self.spent()?, arrived(&bed.sink, "s0")?);
        for _ in 0..bursts {
            generator.send(frames)?;
            let mut has = had;
            for _ in 0..POLLS_MAX {
                // Longer than the kernel takes for them, and then until its threads sleep.
                sleep(Duration::from_micros(500));
                let before = has;
                has = arrived(&bed.sink, "s0")?;
                if has == before && has > had {
                    break;
                }
            }
            let spent_now = self.spent()?;
            // A burst that the interface dropped in part, or that is not through, is not counted.
            if has - had == u64::from(frames) && spent_now > spent {
                costs.push((spent_now - spent) as f64 / f64::from(frames));
            }
            (spent, had) = (spent_now, has);
        }
        if costs.len() < bursts as usize / 2 {
            return Err(format!("{} of {bursts} bursts were forwarded whole", costs.len()).into());
        }
        Ok(costs)
    }

    /// CPU time of its threads until now.
    fn spent(&self) -> Result<u64> {
        self.threads
            .iter()
            .map(|thread| {
                let told = fs::read_to_string(format!("/proc/{thread}/schedstat"))?;
                Ok(told.split_whitespace().next().ok_or("no time in schedstat")?.parse::<u64>()?)
            })
            .sum()
    }
}

/// Gives `f0` a thread for what it receives. The switch is a file of the namespace's own sysfs.
fn become_threaded() -> Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    let none = None::<&Path>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)?;
    mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), none)?;
    Ok(fs::write("/sys/class/net/f0/threaded", "1")?)
}

/// All threads that are processes, and what they are called.
fn threads() -> Result<Vec<(i32, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(Ok(id)) = entry.file_name().to_str().map(str::parse) else { continue };
        // It may have ended meanwhile.
        let Ok(name) = fs::read_to_string(entry.path().join("comm")) else { continue };
        found.push((id, name.trim().to_owned()));
    }
    Ok(found)
}
