//! The init program of a guest kernel, which is Linux on the simulator's clock. It has the same hosts, programs and
//! agents as the lab, but the simulator provides the network between the hosts, behind the guest's network cards.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time;

use base::{Fault, Instant};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use record::folder::PROGRAMS;
use record::guest::{ASSIGNMENT, Assignment, Ended, MESSAGES, Message, SCENARIO, START};
use scenario::{Document, Errors, Plan, capability};

use crate::agents::{self, Agents, Sample};
use crate::capability::CAPABILITIES;
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::hosts::Hosts;
use crate::programs::Programs;
use crate::{Error, readiness};

mod command;
mod module;
mod terminal;

/// The interval of checks for the start, in the guest's time.
const POLL_INTERVAL: time::Duration = time::Duration::from_millis(1);
/// The interval of checks of the programs.
const TURN: base::Duration = base::Duration::from_ms(1);

/// The usual mounts of a Linux system. The root file system is the machine's, read-only.
const MOUNTS: [(&str, &str); 6] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
];

/// The folder with the programs' own folders. It is in memory: files in the shared folder belong to the user who runs
/// the simulator, whichever user of the guest creates them.
const OWN: &str = "/run";

/// Carries out the files in `folder`, writes the results there, and ends the guest. Must run as the guest's init.
///
/// # Errors
/// If this process is not init, or cannot power off.
pub fn run(folder: &Path) -> Result<(), Error> {
    if std::process::id() != 1 {
        let help = "the simulator starts it for a host with `kernel`: suimon run FILE";
        return Err(Error::unfit("this is only for init of a guest kernel", help));
    }
    let path = folder.join(MESSAGES);
    let file = File::create(&path).map_err(Error::system(format!("write {}", path.display())))?;
    let messages = Arc::new(Mutex::new(BufWriter::new(file)));
    let ended = match run_agents(folder, &messages) {
        Ok(ended) => Message::Ended(Box::new(ended)),
        Err(error) => {
            let Fault { message, help, .. } = error.into();
            Message::Failed { message, help }
        }
    };
    send(&messages, &ended, true);
    reboot(RebootMode::RB_POWER_OFF).map_err(Error::system("power off"))?;
    Ok(())
}

/// The uptime of a guest when its hosts' programs start. If the clock shows less than a second, ping assumes that it
/// was never read.
const AGE: time::Duration = time::Duration::from_secs(1);

/// The file for messages to the simulator.
type Messages = Mutex<BufWriter<File>>;

/// Writes a message. A failed write is ignored: the simulator notices that the message is missing.
fn send(messages: &Messages, message: &Message, flush: bool) {
    let mut messages = messages.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = message.write(&mut *messages);
    if flush {
        let _ = io::Write::flush(&mut *messages);
    }
}

fn run_agents(folder: &Path, messages: &Arc<Messages>) -> Result<Ended, Error> {
    for (kind, place) in MOUNTS {
        // A folder of the machine may be missing; a program that needs it reports that.
        let _ = fs::create_dir(place);
        let _ = mount(Some(kind), place, Some(kind), MsFlags::empty(), None::<&str>);
    }
    give_memory_to_tcp()?;
    let (plan, assignment) = read(folder)?;
    let plan = if assignment.command.is_some() { plan.by_hand() } else { plan };
    capability::check(CAPABILITIES, &plan)?;
    module::load(&plan, &assignment, folder)?;
    let hosts = Hosts::of_cards(&plan, &assignment.cards)?;
    let own = Path::new(OWN);
    fs::create_dir(own.join(PROGRAMS)).map_err(Error::system("make a folder"))?;
    if assignment.command.is_none() {
        // The wait is before the programs start, so that their time and the run's begin together.
        thread::sleep(AGE);
    }
    let mut programs = Programs::start(&plan, &hosts, Some(folder), Some(own))?;
    programs.wait_until_ready(readiness::VIRTUAL_READY_TIMEOUT, || false)?;
    send(messages, &Message::Ready, true);
    let clock = start(folder)?;
    if let Some(command) = &assignment.command {
        let status = command::run(&plan, &hosts, folder, command, clock)?;
        programs.states()?;
        let failed_programs = programs.failures();
        send(messages, &Message::Exited { status: status.into_raw(), failed_programs }, true);
        return Ok(Ended::default());
    }
    let congestion = Congestion::built_in(&plan)?;
    let written = Arc::clone(messages);
    let samples = move |Sample { now, flow, ends }: Sample| {
        send(&written, &Message::Sample { now, flow: flow.0, ends: Box::new(ends) }, false);
    };
    let agents = Agents::start(&plan, &hosts.namespaces, clock, &congestion, samples)?;
    let end = Instant::ZERO + plan.duration;
    let works = plan.commands().next().is_some();
    thread::sleep(clock.until(Instant::ZERO));
    loop {
        let now = clock.now();
        programs.serve(&plan, &hosts, now)?;
        if now >= end {
            break;
        }
        thread::sleep(clock.until(if works { end.min(now + TURN) } else { end }));
    }
    let agents::Ended { mut flows, snapshots, changes, .. } = agents.finish()?;
    let found = programs.finish(end, &mut flows)?;
    if works {
        // The files are in memory, so the memory size limits them.
        let limit = nix::sys::sysinfo::sysinfo().map_or(u64::MAX, |info| info.ram_total());
        record::folder::copy(&own.join(PROGRAMS), &folder.join(PROGRAMS), limit, &|| false)
            .map_err(Error::system("store the programs' output"))?;
    }
    let notes = [congestion.notes(), found.notes, out_of_memory()].concat();
    Ok(Ended { flows, snapshots, changes, notes, failed_programs: found.failures })
}

/// Sets TCP's memory limit to half of the memory (tcp(7), `tcp_mem`), so that sockets get as much as on a large
/// machine. The guest has the memory for that.
fn give_memory_to_tcp() -> Result<(), Error> {
    const FILE: &str = "/proc/sys/net/ipv4/tcp_mem";
    let set = || {
        let meminfo = fs::read_to_string("/proc/meminfo")?;
        let total = meminfo.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
        let pages = total.ok_or(io::ErrorKind::InvalidData)? / 4 / 2;
        fs::write(FILE, format!("{pages} {pages} {pages}"))
    };
    set().map_err(Error::system(format!("write {FILE}")))
}

/// A note that the guest ran out of memory and its kernel killed processes, if any (`oom_kill` of /proc/vmstat).
fn out_of_memory() -> Vec<String> {
    let vmstat = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    let killed = vmstat.lines().find_map(|line| line.strip_prefix("oom_kill ")?.parse().ok());
    match killed.unwrap_or(0_u64) {
        0 => Vec::new(),
        killed => {
            let memory = nix::sys::sysinfo::sysinfo().map_or(0, |info| info.ram_total() >> 20);
            vec![format!(
                "a guest with {memory} MiB was out of memory, and its kernel killed {killed} of its processes: \
                 its console shows their names; help: give their host more, memory = \"1 GiB\""
            )]
        }
    }
}

fn read(folder: &Path) -> Result<(Plan, Assignment), Error> {
    let text = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(Error::system(format!("read {}", path.display())))
    };
    let unfit = |what: &str, why: String| {
        let help = "the guest must run the same suimon that started it";
        Error::unfit(format!("{what} from the simulator: {why}"), help)
    };
    let invalid = |errors: Errors| unfit("the scenario", errors.to_string());
    let mut document = Document::parse(SCENARIO, &text(SCENARIO)?).map_err(invalid)?;
    for name in document.traces() {
        let path = folder.join(&name);
        let file = fs::read(&path).map_err(Error::system(format!("read {}", path.display())))?;
        let supply = |trace| document.supply_trace(name.clone(), Arc::new(trace));
        let supplied = scenario::read_trace(&name, &file).and_then(supply);
        supplied.map_err(|why| unfit(&format!("the trace {name}"), why))?;
    }
    let plan = document.plan().map_err(invalid)?;
    let assignment = serde_json::from_str(&text(ASSIGNMENT)?);
    Ok((plan, assignment.map_err(|error| unfit("what to do", error.to_string()))?))
}

/// Waits until the simulator says when the run starts.
fn start(folder: &Path) -> Result<Clock, Error> {
    let path = folder.join(START);
    loop {
        thread::sleep(POLL_INTERVAL);
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let at: Option<u64> = text.trim().parse().ok();
        let clock = at.and_then(|at| Clock::starting_when(time::Duration::from_nanos(at)));
        return clock.ok_or_else(|| {
            let why = format!("{}: {text}", path.display());
            Error::System { what: "start in time".into(), source: io::Error::other(why) }
        });
    }
}
