//! The readiness of a host's programs: whether they listen, from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time;

use crate::clock::Clock;
use crate::error::Error;
use crate::program::Program;

/// The poll interval.
const POLL_INTERVAL: time::Duration = time::Duration::from_millis(20);
/// The time without activity after which a program's start counts as complete: it waits for something else.
const IDLE: base::Duration = base::Duration::from_ms(300);
/// The timeout for a busy program on this machine, which may first have to be read from disk.
pub(crate) const READY_TIMEOUT: base::Duration = base::Duration::from_ms(10_000);
/// The timeout where computing takes no time: a program that is still active by then already does its regular work.
pub(crate) const VIRTUAL_READY_TIMEOUT: base::Duration = base::Duration::from_ms(1_000);

/// The state of a started program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// The program listens on these TCP and UDP ports.
    Listens(Vec<u16>),
    /// The program has ended.
    Ended,
    /// The program is idle and listens on no port.
    Idle,
    /// The program was busy until the timeout.
    Busy,
}

/// A program's processes and their CPU times, which change as long as they work.
type Work = BTreeMap<u32, u64>;

/// Waits until each of `programs` listens, has ended or is idle, for at most `timeout`, or until `cancelled` returns
/// true.
///
/// # Errors
/// If the system fails.
pub(crate) fn wait(
    programs: &mut [&mut Program],
    timeout: base::Duration,
    cancelled: impl Fn() -> bool,
) -> Result<Vec<Readiness>, Error> {
    let clock = Clock::starting_in(time::Duration::ZERO);
    let mut known = vec![(Work::new(), clock.now()); programs.len()];
    let mut found: Vec<Option<Readiness>> = vec![None; programs.len()];
    loop {
        let now = clock.now();
        let processes = processes();
        for (number, program) in programs.iter_mut().enumerate() {
            if found[number].is_none() {
                let mine = program.space().and_then(|space| processes.get(&space));
                found[number] = look(program, mine, &mut known[number], now)?;
            }
        }
        let late = now >= base::Instant::ZERO + timeout || cancelled();
        if late || found.iter().all(Option::is_some) {
            return Ok(found.into_iter().map(|it| it.unwrap_or(Readiness::Busy)).collect());
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The state of a program, once it is known; `known` is its work when that last changed.
fn look(
    program: &mut Program,
    processes: Option<&Vec<u32>>,
    known: &mut (Work, base::Instant),
    now: base::Instant,
) -> Result<Option<Readiness>, Error> {
    if program.try_wait()?.is_some_and(|status| !status.success()) {
        return Ok(Some(Readiness::Ended));
    }
    let processes = processes.map(Vec::as_slice).unwrap_or_default();
    let ports = ports(processes);
    if !ports.is_empty() {
        return Ok(Some(Readiness::Listens(ports.into_iter().collect())));
    }
    if program.try_wait()?.is_some() {
        return Ok(Some(Readiness::Ended));
    }
    match processes.iter().map(|&pid| Some((pid, slept(pid)?))).collect::<Option<Work>>() {
        Some(work) if work == known.0 => {
            Ok((now >= known.1 + IDLE && !work.is_empty()).then_some(Readiness::Idle))
        }
        work => {
            *known = (work.unwrap_or_default(), now);
            Ok(None)
        }
    }
}

/// The processes of this machine by their PID namespace.
fn processes() -> BTreeMap<u64, Vec<u32>> {
    let mut found = BTreeMap::<u64, Vec<u32>>::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if let Some(space) = pid_namespace(pid) {
            found.entry(space).or_default().push(pid);
        }
    }
    found
}

/// The number of a process' PID namespace.
pub(crate) fn pid_namespace(pid: u32) -> Option<u64> {
    let link = fs::read_link(format!("/proc/{pid}/ns/pid")).ok()?;
    number(link.to_str()?, "pid:[")
}

/// The number in a link like `pid:[4026531836]`.
fn number(link: &str, kind: &str) -> Option<u64> {
    link.strip_prefix(kind)?.strip_suffix(']')?.parse().ok()
}

/// The CPU time of a sleeping process, in clock ticks; `None` if it runs.
fn slept(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name before may contain spaces and parentheses (proc(5)).
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let user: u64 = fields.nth(10)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    matches!(state, "S" | "T" | "t" | "Z" | "I").then_some(user + system)
}

/// The ports on which any of these processes, of one host, listens.
fn ports(processes: &[u32]) -> BTreeSet<u16> {
    let sockets: BTreeSet<u64> = processes.iter().flat_map(|&pid| sockets(pid)).collect();
    let Some(&pid) = processes.first().filter(|_| !sockets.is_empty()) else {
        return BTreeSet::new();
    };
    let mut found = BTreeSet::new();
    for (table, listens) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            if let Some((port, state, socket)) = entry(line)
                && state == listens
                && sockets.contains(&socket)
            {
                found.insert(port);
            }
        }
    }
    found
}

/// Port, state and socket of a line of `/proc/net/tcp` or `udp`.
fn entry(line: &str) -> Option<(u16, &str, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let port = u16::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
    Some((port, fields.get(3)?, fields.get(9)?.parse().ok()?))
}

fn sockets(pid: u32) -> Vec<u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(|link| number(link.to_str()?, "socket:[")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernels_table_has_port_state_and_socket() {
        let line = "   0: 00000000:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000 \
                    65534        0 74251 1 0000000000000000 100 0 0 10 0";
        assert_eq!(entry(line), Some((5201, "0A", 74251)));
        assert_eq!(entry("  sl  local_address"), None);
        assert_eq!(number("pid:[4026531836]", "pid:["), Some(4_026_531_836));
    }
}
