//! `suimon linux build`: fetches, patches, configures and compiles the source in a temporary folder of the
//! cache; renames the result last, and removes the rest.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use clap::Args;
use experiment::format;
use guest::needs::{self, Source};
use guest::recipe::{self, CONFIG, PACKAGE, PATCHES, SERIES};
use guest::{Kernel, built};
use nix::fcntl::{Flock, FlockArg};

use super::child::{Runner, Stop};
use super::headers;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::progress::Progress;
use crate::{interruption, output};

/// Arguments of `linux build`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Build it even if it is already built
    #[arg(long)]
    rebuild: bool,
    /// A tarball of the Linux 6.12 source [default: Debian's package, fetched unless it is installed]
    #[arg(long, value_name = "TARBALL")]
    source: Option<PathBuf>,
    /// Number of files to compile at once [default: the number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
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

/// Builds the kernel if it is not built, and prints its path.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if !cfg!(target_arch = "x86_64") {
        let message = "user-mode Linux runs on x86-64 only";
        return Err(Failure::lacking(message, "build it on an x86-64 machine"));
    }
    let built = built::newest()?.filter(|_| !arguments.rebuild);
    if let Some(kernel) = built {
        arguments.note("already built; --rebuild builds it again");
        return arguments.print(&kernel);
    }
    let missing = needs::missing(arguments.source.as_deref());
    if !missing.is_empty() {
        let what: Vec<&str> = missing.iter().map(|it| it.what).collect();
        let message = format!("to build Linux, this machine lacks {}", what.join(", "));
        return Err(Failure::lacking(message, needs::command(&missing)));
    }
    let interrupted = interruption::watch()?;
    let folder = built::folder()?;
    let _lock = claim(&folder)?;
    let scratch = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&folder);
    let scratch = scratch.map_err(|error| refused(&folder, &error))?;
    let runner = Runner { folder: scratch.path(), interrupted: &interrupted };
    match (Build { arguments, runner, folder: &folder }).build() {
        Ok(kernel) => arguments.print(&kernel),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Interrupted) => {
            output::note("interrupted: the build was removed");
            Ok(Exit::Interrupted)
        }
    }
}

impl Arguments {
    fn note(&self, text: &str) {
        if !self.quiet {
            output::note(text);
        }
    }

    fn print(&self, kernel: &Kernel) -> Result<Exit, Failure> {
        if self.json {
            output::print_json(&super::document(Some(kernel), &[])?)?;
        } else {
            output::print(&format!("{}\n", kernel.binary.display()))?;
        }
        Ok(Exit::Fine)
    }
}

fn refused(folder: &Path, error: &io::Error) -> Failure {
    Failure::lacking(format!("{}: {error}", folder.display()), built::HELP)
}

/// Makes the folder if it is missing, and locks it against other builds. Removes the remains of killed builds.
fn claim(folder: &Path) -> Result<Flock<File>, Failure> {
    let refused = |error: &io::Error| refused(folder, error);
    fs::create_dir_all(folder).map_err(|error| refused(&error))?;
    let file = File::create(folder.join("lock")).map_err(|error| refused(&error))?;
    let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|(_, errno)| {
        let error = io::Error::from(errno);
        if error.kind() != ErrorKind::WouldBlock {
            return refused(&error);
        }
        let message = format!("{}: another build is in progress", folder.display());
        Failure::lacking(message, "wait until it ends")
    })?;
    let entries = fs::read_dir(folder).map_err(|error| refused(&error))?.flatten();
    for entry in entries.filter(|it| it.file_name().to_string_lossy().starts_with(PREFIX)) {
        fs::remove_dir_all(entry.path()).map_err(|error| refused(&error))?;
    }
    Ok(lock)
}

/// A build in progress.
#[derive(Debug)]
struct Build<'a> {
    arguments: &'a Arguments,
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
        let jobs = self.arguments.jobs.map_or_else(processors, usize::from);
        let files = format::count(jobs, "file");
        self.note(&format!("compiling Linux {version}, {files} at once"));
        self.compile(&tree, jobs)?;
        let (objects, headers) = (self.path("objects"), self.path("headers"));
        fs::copy(objects.join(".config"), self.path("config")).map_err(failure::file(&objects))?;
        headers::gather(&tree, &objects, &headers)?;
        Ok(self.keep(&Kernel::named(self.folder, &version))?)
    }

    fn note(&self, text: &str) {
        self.arguments.note(text);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.runner.folder.join(name)
    }

    /// The source, fetched if necessary; a fetched source is removed with the build.
    fn tarball(&self) -> Result<PathBuf, Stop> {
        if let Source::Tarball(path) = Source::of(self.arguments.source.as_deref()) {
            return Ok(path);
        }
        self.note(&format!("fetching Debian's {PACKAGE}, about 150 MB"));
        let fetched = self.path("package");
        make_folder(&fetched)?;
        let mut fetch = Command::new("apt-get");
        self.runner.run(fetch.args(["download", "--quiet", PACKAGE]).current_dir(&fetched))?;
        let mut entries = fs::read_dir(&fetched).map_err(failure::folder(&fetched))?.flatten();
        let package = entries.next().map(|entry| entry.path());
        let package = package.ok_or_else(|| {
            let message = format!("`apt-get download {PACKAGE}` downloaded no package");
            Failure::lacking(message, format!("sudo apt-get install {PACKAGE}"))
        })?;
        let mut unpack = Command::new("dpkg-deb");
        self.runner.run(unpack.arg("--extract").arg(&package).arg(&fetched))?;
        fs::remove_file(&package).map_err(failure::unwritten(&package))?;
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
            fs::write(&path, text).map_err(failure::unwritten(&path))?;
        }
        let makefile = folder.join("Makefile");
        let lines = fs::read_to_string(&makefile).map_err(failure::file(&makefile))?;
        let lines = lines + &recipe::makefile_lines();
        Ok(fs::write(&makefile, lines).map_err(failure::unwritten(&makefile))?)
    }

    /// It is an error if the kernel drops a setting because another one is missing.
    fn configure(&self, tree: &Path) -> Result<(), Stop> {
        let wanted = self.written("wanted", CONFIG)?;
        let mut make = self.make(tree)?;
        self.runner.run(make.arg("allnoconfig").env("KCONFIG_ALLCONFIG", wanted))?;
        let path = self.path("objects/.config");
        let complete = fs::read_to_string(&path).map_err(failure::file(&path))?;
        let refused: Vec<&str> =
            recipe::settings().filter(|wanted| !complete.lines().any(|it| it == *wanted)).collect();
        if refused.is_empty() {
            return Ok(());
        }
        let message = format!("this source does not support: {}", refused.join(", "));
        Err(Failure::lacking(message, format!("use another version of {SERIES}: --source")).into())
    }

    fn compile(&self, tree: &Path, jobs: usize) -> Result<(), Stop> {
        let objects = OBJECTS + recipe::makefile_lines().lines().count();
        let progress = Progress::of_work("compiling Linux", objects, self.arguments.quiet);
        let mut make = self.make(tree)?;
        let compiled =
            self.runner.watch(make.arg(format!("-j{jobs}")).args(["linux", "modules"]), |line| {
                if line.starts_with("  CC ") || line.starts_with("  AS ") {
                    progress.step();
                }
            });
        progress.finish();
        compiled?;
        self.runner.run(Command::new("strip").arg(self.path("objects/linux")))
    }

    /// Runs the kernel's make for a program of this machine, outside the source tree.
    fn make(&self, tree: &Path) -> Result<Command, Failure> {
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
    fn keep(&self, kernel: &Kernel) -> Result<Kernel, Failure> {
        let headers = kernel.headers();
        if headers.exists() {
            fs::remove_dir_all(&headers).map_err(failure::unwritten(&headers))?;
        }
        fs::rename(self.path("headers"), &headers).map_err(failure::unwritten(&headers))?;
        let files = [("config", kernel.config()), ("objects/linux", kernel.binary.clone())];
        for (from, to) in files {
            let from = self.path(from);
            File::open(&from).and_then(|it| it.sync_all()).map_err(failure::file(&from))?;
            fs::rename(&from, &to).map_err(failure::unwritten(&to))?;
        }
        Ok(kernel.clone())
    }

    /// Writes a file of the build.
    fn written(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.path(name);
        fs::write(&path, text).map_err(failure::unwritten(&path))?;
        Ok(path)
    }
}

fn make_folder(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(failure::folder(path))
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// The version in the source's Makefile; another series is refused.
fn version(tree: &Path) -> Result<String, Failure> {
    let path = tree.join("Makefile");
    let text = fs::read_to_string(&path).map_err(failure::file(&path))?;
    let number = |name: &str| {
        let line = text.lines().find(|line| line.split('=').next().map(str::trim) == Some(name));
        line.and_then(|line| line.split('=').nth(1)).unwrap_or_default().trim()
    };
    let (major, minor, patch) = (number("VERSION"), number("PATCHLEVEL"), number("SUBLEVEL"));
    let series = format!("{major}.{minor}");
    if series != SERIES {
        let message = format!("the source is Linux {series}, not {SERIES}");
        return Err(Failure::usage(message, format!("use a tarball of Linux {SERIES}: --source")));
    }
    Ok(format!("{series}.{patch}"))
}
