//! What a build needs on this machine, and the Debian packages that provide it.

use std::env;
use std::path::{Path, PathBuf};

use crate::recipe::PACKAGE;

/// The path of the source in Debian's package.
const TARBALL: &str = "/usr/src/linux-source-6.12.tar.xz";

/// A program, and the packages that provide it and what it needs.
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

/// What is missing.
#[derive(Debug)]
pub struct Missing {
    /// The program, or the source.
    pub what: &'static str,
    /// The Debian packages that provide it, with spaces between them.
    pub packages: &'static str,
}

/// The origin of the source.
#[derive(Debug, PartialEq, Eq)]
pub enum Source {
    /// An existing tarball.
    Tarball(PathBuf),
    /// Debian's package, still to be fetched.
    Package,
}

impl Source {
    /// The named tarball, else the one that Debian's package installs, else that package.
    pub fn of(named: Option<&Path>) -> Self {
        let installed = Path::new(TARBALL);
        match named.or_else(|| installed.is_file().then_some(installed)) {
            Some(path) => Self::Tarball(path.to_owned()),
            None => Self::Package,
        }
    }
}

/// What is missing for a build from that tarball, or from Debian's source.
pub fn missing(named: Option<&Path>) -> Vec<Missing> {
    let programs = PROGRAMS.iter().filter(|(program, _)| !is_installed(program));
    let mut missing: Vec<Missing> =
        programs.map(|&(what, packages)| Missing { what, packages }).collect();
    if Source::of(named) == Source::Package && !FETCH.iter().all(|it| is_installed(it)) {
        missing.push(Missing { what: "Linux source", packages: PACKAGE });
    }
    missing
}

/// The command that installs it.
pub fn command(missing: &[Missing]) -> String {
    let packages: Vec<&str> = missing.iter().map(|it| it.packages).collect();
    format!("sudo apt-get install {}", packages.join(" "))
}

/// Whether a folder of `PATH` has a program of that name.
fn is_installed(program: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(program).is_file())
}
