//! The right to make namespaces and interfaces: root's, or that of a user in a user namespace of
//! their own.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::{fs, io};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::stat::Mode;
use nix::unistd::{Gid, Uid, write};

use crate::Error;

/// The privilege that a lab is built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The process may administer networks in its user namespace.
    Root,
    /// The process is root of a user namespace that maps only its own user and group. It has no rights to BPF, to the
    /// machine's interfaces, or to limits of the whole machine.
    Rootless,
}

/// Bits of `CapEff` (include/uapi/linux/capability.h).
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;

/// The settings that can forbid users to create namespaces: file, forbidding value, and the command that allows it.
const BARS: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];

/// Gets the right to build a lab: the process's own right, or else a user namespace. The latter
/// needs a process that still has only one thread. If users may not create namespaces, the error
/// says how to allow it.
pub fn acquire() -> Result<Privilege, Error> {
    if may_administer()? {
        return Ok(Privilege::Root);
    }
    // Read before `unshare`: after it, the IDs read as the overflow IDs (`nobody`) until they are mapped.
    let (user, group) = (Uid::effective(), Gid::effective());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(refused)?;
    map("setgroups", "deny")?;
    map("uid_map", &format!("0 {user} 1"))?;
    map("gid_map", &format!("0 {group} 1"))?;
    Ok(Privilege::Rootless)
}

/// Tests, in a separate process, whether an unprivileged user may create a user namespace and has
/// capabilities in it. If this process is root, the test runs as `nobody`.
///
/// # Errors
/// As [`acquire`], which skips this test if the process has the rights itself.
pub fn users_may() -> Result<(), Error> {
    /// The user and group `nobody`.
    const NOBODY: u32 = 65_534;
    let mut command = Command::new("/bin/sh");
    command.args(["-c", ":"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if Uid::effective().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    // SAFETY: both calls are safe between fork and exec; neither allocates.
    unsafe { command.pre_exec(try_as_user) };
    let status = command.status().map_err(|error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES | libc::ENOSPC | libc::EUSERS) => forbidden(error),
        _ => Error::system("create a user namespace")(error),
    })?;
    if status.success() { Ok(()) } else { Err(forbidden(io::ErrorKind::PermissionDenied.into())) }
}

/// Creates a user namespace and does an operation there that needs capabilities in it. Runs between fork and exec.
fn try_as_user() -> io::Result<()> {
    // After setuid, /proc/self files are owned by root and not writable.
    prctl::set_dumpable(true)?;
    unshare(CloneFlags::CLONE_NEWUSER)?;
    let file = open("/proc/self/setgroups", OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    write(&file, b"deny")?;
    Ok(())
}

/// The commands for an administrator to let users create namespaces here; empty if no setting forbids it.
pub fn commands() -> Vec<&'static str> {
    commands_for(|path| fs::read_to_string(path).ok())
}

/// The commands for those settings that forbid namespaces to users, as read by `read`.
fn commands_for(read: impl Fn(&str) -> Option<String>) -> Vec<&'static str> {
    let bars = |path, value| read(path).is_some_and(|found| found.trim() == value);
    let lines = BARS.iter().filter(|(path, value, _)| bars(path, *value));
    lines.map(|&(_, _, line)| line).collect()
}

fn may_administer() -> Result<bool, Error> {
    const STATUS: &str = "/proc/thread-self/status";
    let status = fs::read_to_string(STATUS).map_err(Error::system(format!("read {STATUS}")))?;
    let needed = 1 << CAP_NET_ADMIN | 1 << CAP_SYS_ADMIN;
    Ok(effective(&status).is_some_and(|held| held & needed == needed))
}

/// The effective capabilities in a `status` file (proc(5)).
fn effective(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Writes one of the files that map the IDs of a user namespace (user_namespaces(7)).
fn map(file: &str, content: &str) -> Result<(), Error> {
    let path = format!("/proc/self/{file}");
    fs::write(&path, content).map_err(|error| match error.kind() {
        // AppArmor allows the namespace but grants no capabilities in it.
        io::ErrorKind::PermissionDenied => forbidden(error),
        _ => Error::system(format!("write {path}"))(error),
    })
}

fn refused(errno: Errno) -> Error {
    match errno {
        Errno::EPERM | Errno::EACCES | Errno::ENOSPC | Errno::EUSERS => forbidden(errno.into()),
        _ => Error::system("create a user namespace")(errno),
    }
}

fn forbidden(source: io::Error) -> Error {
    Error::lacking("create a user namespace", source, help(|path| fs::read_to_string(path).ok()))
}

/// The help text for the settings of this machine, as read by `read`.
fn help(read: impl Fn(&str) -> Option<String>) -> String {
    let lines: Vec<_> = commands_for(read).iter().map(|line| format!("`{line}`")).collect();
    match lines.as_slice() {
        [] => "run it as root".into(),
        lines => format!("run it as root, or let users create namespaces: {}", lines.join(" and ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_read_from_the_status_file() {
        let status = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:\t0000000000201000\n";
        assert_eq!(effective(status), Some(1 << 12 | 1 << 21));
        assert_eq!(effective("CapEff:\tx"), None);
    }

    #[test]
    fn the_help_names_what_bars_users_here() {
        let ubuntu = |path: &str| path.contains("apparmor").then(|| "1\n".to_owned());
        assert!(help(ubuntu).contains("apparmor_restrict_unprivileged_userns=0"));
        assert!(!help(ubuntu).contains("max_user_namespaces"));
        assert_eq!(help(|_| None), "run it as root");
    }
}
