//! The build of the guest kernel: fetches, patches, configures and compiles the source in a temporary folder of the
//! cache; renames the result last, and removes the rest.

mod child;
mod headers;

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::thread;

use base::Fault;
use nix::fcntl::{Flock, FlockArg};
use record::error;

use crate::needs::{self, Source};
use crate::recipe::{self, CONFIG, PACKAGE, PATCHES, SERIES};
use crate::{Kernel, built};
use child::Runner;

pub use child::Stop;

/// What to build, and where its progress goes.
pub struct Request<'a> {
    /// A tarball of the source, instead of Debian's package.
    pub source: Option<&'a Path>,
    /// Number of files to compile at once; by default the number of CPUs.
    pub jobs: Option<u16>,
    /// Set by a signal that ends the build.
    pub interrupted: &'a AtomicBool,
    /// Takes a line about each step.
    pub note: &'a (dyn Fn(&str) + Sync),
    /// Called after each of the [`files`].
    pub compiled: &'a (dyn Fn() + Sync),
}

/// Prefix of the build's folder.
const PREFIX: &str = "build-";
/// Number of files that this configuration compiles, our own excluded, for the progress bar.
const OBJECTS: usize = 807;

/// Parts of the source that this configuration does not compile: half of the disk space. Their Kconfig files
/// stay.
const UNUSED: [&str; 10] = [
    "*/Documentation/*.rst",
    "*/arch/*/boot/dts/*",
    "*/drivers/gpu/*.[ch]",
    "*/drivers/infiniband/*.[ch]",
    "*/drivers/media/*.[ch]",
    "*/drivers/net/ethernet/*.[ch]",
    "*/drivers/net/wireless/*.[ch]",
    "*/drivers/scsi/*.[ch]",
    "*/drivers/staging/*.[ch]",
    "*/sound/*.[ch]",
];

/// Variables that would change the kernel if they came from the user's environment or from the calling make.
const VARIABLES: [&str; 10] = [
    "ARCH",
    "CROSS_COMPILE",
    "KBUILD_OUTPUT",
    "KCFLAGS",
    "CFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "MAKELEVEL",
    "MAKEOVERRIDES",
    "MFLAGS",
];

/// The kernel's log shows when, where and by whom it was built: the same values for everybody.
const BUILT_BY: [(&str, &str); 5] = [
    ("KBUILD_BUILD_TIMESTAMP", "1970-01-01 00:00:00 UTC"),
    ("KBUILD_BUILD_USER", "suimon"),
    ("KBUILD_BUILD_HOST", "suimon"),
    ("KBUILD_BUILD_VERSION", "1"),
    ("LC_ALL", "C"),
];

/// The number of files that a build compiles.
pub fn files() -> usize {
    OBJECTS + recipe::makefile_lines().lines().count()
}

/// Builds the kernel.
///
/// # Errors
/// What this machine lacks, a step that failed, and an interruption: then nothing is left of the build.
pub fn build(request: &Request<'_>) -> Result<Kernel, Stop> {
    let missing = needs::missing(request.source);
    if !missing.is_empty() {
        let what: Vec<&str> = missing.iter().map(|it| it.what).collect();
        let message = format!("to build Linux, this machine lacks {}", what.join(", "));
        return Err(Fault::lacking(message, needs::command(&missing)).into());
    }
    let folder = built::folder().map_err(Fault::from)?;
    let _lock = claim(&folder)?;
    let scratch = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&folder);
    let scratch = scratch.map_err(|error| refused(&folder, &error))?;
    let runner = Runner { folder: scratch.path(), interrupted: request.interrupted };
    Build { request, runner, folder: &folder }.build()
}

fn refused(folder: &Path, error: &io::Error) -> Fault {
    Fault::lacking(format!("{}: {error}", folder.display()), built::HELP)
}

/// Makes the folder if it is missing, and locks it against other builds. Removes the remains of killed builds.
fn claim(folder: &Path) -> Result<Flock<File>, Fault> {
    let refused = |error: &io::Error| refused(folder, error);
    fs::create_dir_all(folder).map_err(|error| refused(&error))?;
    let file = File::create(folder.join("lock")).map_err(|error| refused(&error))?;
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| {
        let error = io::Error::from(errno);
        if error.kind() != ErrorKind::WouldBlock {
            return refused(&error);
        }
        let message = format!("{}: another build is in progress", folder.display());
        Fault::lacking(message, "wait until it ends")
    })?;
    let entries = fs::read_dir(folder).map_err(|error| refused(&error))?.flatten();
    for entry in entries.filter(|it| it.file_name().to_string_lossy().starts_with(PREFIX)) {
        fs::remove_dir_all(entry.path()).map_err(|error| refused(&error))?;
    }
    Ok(lock)
}

/// A build in progress.
struct Build<'a> {
    request: &'a Request<'a>,
    runner: Runner<'a>,
    /// Folder of its results.
    folder: &'a Path,
}

impl Build<'_> {
    fn build(&self) -> Result<Kernel, Stop> {
        let tree = self.unpacked(&self.tarball()?)?;
        let version = version(&tree)?;
        self.patch(&tree)?;
        self.configure(&tree)?;
        let jobs = self.request.jobs.map_or_else(processors, usize::from);
        let files = if jobs == 1 { "file" } else { "files" };
        self.note(&format!("compiling Linux {version}, {jobs} {files} at once"));
        self.compile(&tree, jobs)?;
        let (objects, headers) = (self.path("objects"), self.path("headers"));
        fs::copy(objects.join(".config"), self.path("config")).map_err(error::file(&objects))?;
        headers::gather(&tree, &objects, &headers)?;
        Ok(self.keep(&Kernel::named(self.folder, &version))?)
    }

    fn note(&self, text: &str) {
        (self.request.note)(text);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.runner.folder.join(name)
    }

    /// The source, fetched if necessary; a fetched source is removed with the build.
    fn tarball(&self) -> Result<PathBuf, Stop> {
        if let Source::Tarball(path) = Source::of(self.request.source) {
            return Ok(path);
        }
        self.note(&format!("fetching Debian's {PACKAGE}, about 150 MB"));
        let fetched = self.path("package");
        make_folder(&fetched)?;
        let mut fetch = Command::new("apt-get");
        self.runner.run(fetch.args(["download", "--quiet", PACKAGE]).current_dir(&fetched))?;
        let mut entries = fs::read_dir(&fetched).map_err(error::folder(&fetched))?.flatten();
        let package = entries.next().map(|entry| entry.path());
        let package = package.ok_or_else(|| {
            let message = format!("`apt-get download {PACKAGE}` downloaded no package");
            Fault::lacking(message, format!("sudo apt-get install {PACKAGE}"))
        })?;
        let mut unpack = Command::new("dpkg-deb");
        self.runner.run(unpack.arg("--extract").arg(&package).arg(&fetched))?;
        fs::remove_file(&package).map_err(error::unwritten(&package))?;
        Ok(fetched.join(format!("usr/src/{PACKAGE}.tar.xz")))
    }

    fn unpacked(&self, tarball: &Path) -> Result<PathBuf, Stop> {
        self.note(&format!("unpacking {}", tarball.display()));
        let tree = self.path("tree");
        make_folder(&tree)?;
        let mut tar = Command::new("tar");
        tar.args(UNUSED.map(|pattern| format!("--exclude={pattern}")));
        tar.args(["--strip-components=1", "--extract", "--file"]).arg(tarball);
        self.runner.run(tar.arg("--directory").arg(&tree))?;
        Ok(tree)
    }

    fn patch(&self, tree: &Path) -> Result<(), Stop> {
        for (name, text) in PATCHES {
            let file = self.written(name, text)?;
            let mut patch = Command::new("patch");
            patch.args(["--strip=1", "--batch", "--forward", "--fuzz=0", "--input"]).arg(file);
            self.runner.run(patch.current_dir(tree))?;
        }
        let folder = tree.join("net/ipv4");
        for (name, text) in recipe::tcp_files() {
            let path = folder.join(name);
            fs::write(&path, text).map_err(error::unwritten(&path))?;
        }
        let makefile = folder.join("Makefile");
        let lines = fs::read_to_string(&makefile).map_err(error::file(&makefile))?;
        let lines = lines + &recipe::makefile_lines();
        Ok(fs::write(&makefile, lines).map_err(error::unwritten(&makefile))?)
    }

    /// It is an error if the kernel drops a setting because another one is missing.
    fn configure(&self, tree: &Path) -> Result<(), Stop> {
        let wanted = self.written("wanted", CONFIG)?;
        let mut make = self.make(tree)?;
        self.runner.run(make.arg("allnoconfig").env("KCONFIG_ALLCONFIG", wanted))?;
        let path = self.path("objects/.config");
        let complete = fs::read_to_string(&path).map_err(error::file(&path))?;
        let refused: Vec<&str> =
            recipe::settings().filter(|wanted| !complete.lines().any(|it| it == *wanted)).collect();
        if refused.is_empty() {
            return Ok(());
        }
        let message = format!("this source does not support: {}", refused.join(", "));
        Err(Fault::lacking(message, format!("use another version of {SERIES}: --source")).into())
    }

    fn compile(&self, tree: &Path, jobs: usize) -> Result<(), Stop> {
        let mut make = self.make(tree)?;
        self.runner.watch(make.arg(format!("-j{jobs}")).args(["linux", "modules"]), |line| {
            if line.starts_with("  CC ") || line.starts_with("  AS ") {
                (self.request.compiled)();
            }
        })?;
        self.runner.run(Command::new("strip").arg(self.path("objects/linux")))
    }

    /// Runs the kernel's make for a program of this machine, outside the source tree.
    fn make(&self, tree: &Path) -> Result<Command, Fault> {
        let objects = self.path("objects");
        make_folder(&objects)?;
        let mut make = Command::new("make");
        for name in VARIABLES {
            make.env_remove(name);
        }
        make.envs(BUILT_BY).arg("ARCH=um").arg(format!("O={}", objects.display()));
        make.current_dir(tree);
        Ok(make)
    }

    /// Renames the results into place, the program last and atomically.
    fn keep(&self, kernel: &Kernel) -> Result<Kernel, Fault> {
        let headers = kernel.headers();
        if headers.exists() {
            fs::remove_dir_all(&headers).map_err(error::unwritten(&headers))?;
        }
        fs::rename(self.path("headers"), &headers).map_err(error::unwritten(&headers))?;
        let files = [("config", kernel.config()), ("objects/linux", kernel.binary.clone())];
        for (from, to) in files {
            let from = self.path(from);
            File::open(&from).and_then(|it| it.sync_all()).map_err(error::file(&from))?;
            fs::rename(&from, &to).map_err(error::unwritten(&to))?;
        }
        Ok(kernel.clone())
    }

    /// Writes a file of the build.
    fn written(&self, name: &str, text: &str) -> Result<PathBuf, Fault> {
        let path = self.path(name);
        fs::write(&path, text).map_err(error::unwritten(&path))?;
        Ok(path)
    }
}

fn make_folder(path: &Path) -> Result<(), Fault> {
    fs::create_dir_all(path).map_err(error::folder(path))
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The version in the source's Makefile; another series is refused.
fn version(tree: &Path) -> Result<String, Fault> {
    let path = tree.join("Makefile");
    let text = fs::read_to_string(&path).map_err(error::file(&path))?;
    let number = |name: &str| {
        let line = text.lines().find(|line| line.split('=').next().map(str::trim) == Some(name));
        line.and_then(|line| line.split('=').nth(1)).unwrap_or_default().trim()
    };
    let (major, minor, patch) = (number("VERSION"), number("PATCHLEVEL"), number("SUBLEVEL"));
    let series = format!("{major}.{minor}");
    if series != SERIES {
        let message = format!("the source is Linux {series}, not {SERIES}");
        return Err(Fault::usage(message, format!("use a tarball of Linux {SERIES}: --source")));
    }
    Ok(format!("{series}.{patch}"))
}
