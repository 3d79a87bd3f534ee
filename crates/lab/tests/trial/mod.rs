//! Runs tests one after the other in a process that may have made itself a user namespace.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, exit};
use std::{env, fs, process};

use lab::privilege::{self, Privilege};
use lab::{Error, Namespace};

/// A test and its name.
pub(crate) type Trial = (&'static str, fn());

/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

/// Runs the trials whose names contain one of the arguments (with `--exact`: equal one), or all if there are
/// none; as root, then again as an unprivileged user. `--list` prints them as the usual harness does, for
/// runners that start each separately.
pub(crate) fn main(trials: &[Trial]) {
    let (options, filters): (Vec<_>, Vec<_>) =
        env::args().skip(1).partition(|word| word.starts_with('-'));
    let asks = |option: &str| options.iter().any(|word| word == option);
    if asks("--list") {
        // None is ignored.
        let listed = trials.iter().filter(|_| !asks("--ignored"));
        return listed.for_each(|(name, _)| println!("{name}: test"));
    }
    let is_named = |name: &str, part: &String| match asks("--exact") {
        true => name == part,
        false => name.contains(part),
    };
    let chosen = |name: &str| filters.is_empty() || filters.iter().any(|part| is_named(name, part));
    let privilege = match privilege::acquire() {
        Ok(privilege) => privilege,
        Err(error @ Error::Lacking { .. }) => {
            return testbed::skip("namespaces", &error.to_string());
        }
        Err(error) => panic!("{error}"),
    };
    if let Err(error @ Error::Lacking { .. }) = Namespace::new() {
        return testbed::skip("namespaces", &error.to_string());
    }
    for (name, trial) in trials.iter().filter(|(name, _)| chosen(name)) {
        println!("test {name} as {privilege:?} ...");
        trial();
    }
    match privilege {
        Privilege::Root if is_root() => as_nobody(&options, &filters),
        Privilege::Root => {}
        Privilege::Rootless => without_any_right(),
    }
    println!("all passed as {privilege:?}");
}

fn is_root() -> bool {
    // Only in the first user namespace is there another user to become.
    let all = fs::read_to_string("/proc/self/uid_map").unwrap();
    all.split_whitespace().last() != Some("1")
}

/// Runs a copy of this program as an unprivileged user, from a place that the user can read.
fn as_nobody(options: &[String], filters: &[String]) {
    let copy = Copy::new();
    let mut command = Command::new(&copy.0);
    let status =
        command.args(options).args(filters).uid(NOBODY).gid(NOBODY).current_dir("/").status();
    drop(copy);
    match status {
        Ok(status) if status.success() => {}
        Ok(_) => exit(1),
        Err(error) => {
            testbed::skip("a user's namespaces", &format!("a copy of this does not start: {error}"))
        }
    }
}

struct Copy(PathBuf);

impl Copy {
    fn new() -> Self {
        let path = env::temp_dir().join(format!("suimon-namespaces-{}", process::id()));
        fs::copy("/proc/self/exe", &path).unwrap();
        Self(path)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// In a user namespace that allows no further one, and without capabilities, both errors say what
/// to do.
fn without_any_right() {
    fs::write("/proc/sys/user/max_user_namespaces", "0").unwrap();
    drop_capabilities();
    let error = Namespace::new().unwrap_err();
    assert!(matches!(error, Error::Lacking { .. }), "{error}");
    let error = privilege::acquire().unwrap_err();
    let Error::Lacking { help, .. } = &error else { panic!("{error}") };
    assert!(help.contains("sysctl -w user.max_user_namespaces=10000"), "{error}: {help}");
}

fn drop_capabilities() {
    // `struct __user_cap_header_struct` of version 3 for this thread, and two empty sets of data.
    let (header, none) = ([0x2008_0522u32, 0], [0u32; 6]);
    // SAFETY: capset reads both, which are of the sizes that version 3 says.
    let result = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}
