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

/// By what right a lab is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// The process may administer networks where it is.
    Root,
    /// The process is root of a user namespace that holds nothing but its own user and group. It
    /// has no right to BPF, to the machine's own interfaces or to limits of the whole machine.
    Rootless,
}

/// Bits of `CapEff` (include/uapi/linux/capability.h).
const CAP_NET_ADMIN: u32 = 12;
const CAP_SYS_ADMIN: u32 = 21;

/// Where a machine may forbid users to make namespaces, the value by which it does, and what to
/// type.
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

/// Gets the right to build a lab: the one that the process has, or else a user namespace. The
/// latter needs a process that has only one thread yet. Where users may not make namespaces, the
/// error tells how they may.
pub fn acquire() -> Result<Privilege, Error> {
    if may_administer()? {
        return Ok(Privilege::Root);
    }
    // Read before: afterwards the process is nobody until it is mapped.
    let (user, group) = (Uid::effective(), Gid::effective());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(refused)?;
    map("setgroups", "deny")?;
    map("uid_map", &format!("0 {user} 1"))?;
    map("gid_map", &format!("0 {group} 1"))?;
    Ok(Privilege::Rootless)
}

/// Tries whether a user without rights may make a user namespace and rule in it, by a process that does
/// nothing else. As root it is `nobody` who tries.
///
/// # Errors
/// As [`acquire`], which asks nothing of this where the process has the rights itself.
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

/// Makes a user namespace, and does in it what only who rules it may. For a process about to be another.
fn try_as_user() -> io::Result<()> {
    // Whose files in /proc are another's, having changed its user, may not write them.
    prctl::set_dumpable(true)?;
    unshare(CloneFlags::CLONE_NEWUSER)?;
    let file = open("/proc/self/setgroups", OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    write(&file, b"deny")?;
    Ok(())
}

/// What an administrator types so that users may make namespaces here; nothing if no setting bars them.
pub fn commands() -> Vec<&'static str> {
    barring(|path| fs::read_to_string(path).ok())
}

/// The commands against the settings that `read` finds to bar users.
fn barring(read: impl Fn(&str) -> Option<String>) -> Vec<&'static str> {
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

/// The effective capabilities that a `status` file of proc(5) tells.
fn effective(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// Writes one of the files by which a user namespace gets its users (user_namespaces(7)).
fn map(file: &str, content: &str) -> Result<(), Error> {
    let path = format!("/proc/self/{file}");
    fs::write(&path, content).map_err(|error| match error.kind() {
        // AppArmor lets the namespace be made, but gives no capabilities in it.
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

/// What to type, by the settings that `read` finds on this machine.
fn help(read: impl Fn(&str) -> Option<String>) -> String {
    let lines: Vec<_> = barring(read).iter().map(|line| format!("`{line}`")).collect();
    match lines.as_slice() {
        [] => "run it as root".into(),
        lines => format!("run it as root, or let users make namespaces: {}", lines.join(" and ")),
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
