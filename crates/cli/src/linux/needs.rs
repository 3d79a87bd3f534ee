//! What a build needs of the machine, and Debian's packages that have it.

use std::env;
use std::path::{Path, PathBuf};

use guest::recipe::PACKAGE;

/// Where Debian's package puts the source.
const TARBALL: &str = "/usr/src/linux-source-6.12.tar.xz";

/// A program, and the packages that make it of use.
const PROGRAMS: [(&str, &str); 9] = [
    ("make", "make"),
    // With the static C library.
    ("gcc", "gcc libc6-dev"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("strip", "binutils"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// The programs that fetch the source without root.
const FETCH: [&str; 2] = ["apt-get", "dpkg-deb"];

/// What is not there.
#[derive(Debug)]
pub(super) struct Missing {
    pub(super) what: &'static str,
    pub(super) packages: &'static str,
}

/// Where the source comes from.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A tarball that is there.
    Tarball(PathBuf),
    /// Debian's package, to be fetched.
    Package,
}

impl Source {
    /// The tarball that was named, else the one that Debian's package installs, else that package.
    pub(super) fn of(named: Option<&Path>) -> Self {
        let installed = Path::new(TARBALL);
        match named.or_else(|| installed.is_file().then_some(installed)) {
            Some(path) => Self::Tarball(path.to_owned()),
            None => Self::Package,
        }
    }
}

/// What a build from that tarball, or from Debian's source, lacks.
pub(super) fn missing(named: Option<&Path>) -> Vec<Missing> {
    let programs = PROGRAMS.iter().filter(|(program, _)| !is_installed(program));
    let mut missing: Vec<Missing> =
        programs.map(|&(what, packages)| Missing { what, packages }).collect();
    if Source::of(named) == Source::Package && !FETCH.iter().all(|it| is_installed(it)) {
        missing.push(Missing { what: "Linux' source", packages: PACKAGE });
    }
    missing
}

/// What to type for it.
pub(super) fn command(missing: &[Missing]) -> String {
    let packages: Vec<&str> = missing.iter().map(|it| it.packages).collect();
    format!("sudo apt-get install {}", packages.join(" "))
}

/// Whether a folder of `PATH` has a program of that name.
fn is_installed(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}
