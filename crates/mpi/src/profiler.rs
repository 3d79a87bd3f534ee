//! The profiling library, compiled against the header of an MPI library of this machine.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, DirBuilder};
use std::hash::{Hash, Hasher};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use base::Fault;
use mpi_trace::Operation;
use record::folder::TemporaryFolder;

use crate::error::Error;
use crate::library::{self, Library};

/// The library's source; `profiler.h` describes the files.
const SOURCES: [(&str, &str); 9] = [
    ("profiler.h", include_str!("../profiler/profiler.h")),
    ("trace.c", include_str!("../profiler/trace.c")),
    ("computing.c", include_str!("../profiler/computing.c")),
    ("sockets.c", include_str!("../profiler/sockets.c")),
    ("communicators.c", include_str!("../profiler/communicators.c")),
    ("requests.c", include_str!("../profiler/requests.c")),
    ("calls.c", include_str!("../profiler/calls.c")),
    ("collectives.c", include_str!("../profiler/collectives.c")),
    ("communicator_calls.c", include_str!("../profiler/communicator_calls.c")),
];
/// The additional source for Open MPI.
const FORTRAN: (&str, &str) = ("fortran.c", include_str!("../profiler/fortran.c"));
/// The compiler flags.
const FLAGS: [&str; 6] = ["-std=gnu11", "-O2", "-fPIC", "-Wall", "-Wextra", "-c"];
/// The linker flags. With lazy binding, functions are bound at their first call.
const LINK_FLAGS: [&str; 4] = ["-shared", "-Wl,-z,lazy", "-o", FILE];
const FILE: &str = "profiler.so";
/// The dynamic linker's variable with the libraries to preload.
pub(crate) const PRELOAD: &str = "LD_PRELOAD";

/// The built profiling library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profiler {
    library: Library,
    path: PathBuf,
}

impl Profiler {
    /// Returns the library for an MPI library. It is compiled if this user's cache has none of this source and this
    /// compiler.
    ///
    /// # Errors
    /// If the compiler is missing or fails, or the cache is not writable.
    pub fn built(library: Library) -> Result<Self, Error> {
        let compiler = compiler(library)?;
        let cache = cache()?;
        let folder = cache.join(format!("{:016x}", key(library, &compiler)?));
        let path = folder.join(FILE);
        if !path.is_file() {
            fs::create_dir_all(&cache).map_err(Error::io(&cache))?;
            compile(library, &compiler, &cache, &folder)?;
        }
        Ok(Self { library, path })
    }

    /// The MPI library for which it was built.
    pub const fn library(&self) -> Library {
        self.library
    }

    /// Creates a command whose processes preload the library.
    pub(crate) fn command(&self, program: &str, arguments: &[String]) -> Command {
        let mut preloaded = OsString::from(&self.path);
        if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
            preloaded.push(":");
            preloaded.push(others);
        }
        let mut command = Command::new(program);
        command.args(arguments).env(PRELOAD, preloaded);
        command
    }
}

/// The cache by the XDG base directory specification: `$XDG_CACHE_HOME` unless that is relative, else `~/.cache`.
fn cache() -> Result<PathBuf, Error> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let what = "there is no folder for the profiling library";
    let none = || Fault::lacking(what, "name one: export XDG_CACHE_HOME=FOLDER");
    Ok(cache.ok_or_else(none)?.join("suimon/mpi"))
}

/// The compiler of the MPI library, not that of another library with the same name.
fn compiler(library: Library) -> Result<PathBuf, Error> {
    let found = library.compilers().into_iter().filter_map(library::find);
    let mut own = found.filter(|compiler| is_of(library, compiler));
    own.next().ok_or_else(|| {
        let (name, compilers) = (library.name(), library.compilers().join(" or "));
        let help = format!(
            "apt-get install {}, or if the library comes from elsewhere, put its `mpicc` into PATH",
            library.packages()
        );
        Fault::lacking(format!("the compiler of {name} is missing: {compilers}"), help).into()
    })
}

/// Whether a compiler is `library`'s. Open MPI's compilers support `--showme`; MPICH's pass it to the C compiler, which
/// rejects it.
fn is_of(library: Library, compiler: &Path) -> bool {
    let output = Command::new(compiler).arg("--showme:version").output();
    let open_mpi = output.is_ok_and(|output| output.status.success());
    open_mpi == (library == Library::OpenMpi)
}

/// The C enumeration of the operations in records.
fn operations() -> String {
    let mut text = "enum operation {\n".to_owned();
    for operation in Operation::ALL {
        // Writing to a string does not fail.
        let _ = writeln!(text, "\tOP_{operation},");
    }
    text + "};\n"
}

fn sources(library: Library) -> impl Iterator<Item = (&'static str, &'static str)> {
    SOURCES.into_iter().chain((library == Library::OpenMpi).then_some(FORTRAN))
}

/// The cache key. It changes with the source and with the compiler, which an upgrade of the MPI library replaces.
fn key(library: Library, compiler: &Path) -> Result<u64, Error> {
    let mut hasher = DefaultHasher::new();
    let file = compiler.canonicalize().map_err(Error::io(compiler))?;
    let metadata = file.metadata().map_err(Error::io(&file))?;
    sources(library).for_each(|source| source.hash(&mut hasher));
    operations().hash(&mut hasher);
    (FLAGS, LINK_FLAGS, library).hash(&mut hasher);
    (compiler, file, metadata.len(), metadata.mtime()).hash(&mut hasher);
    Ok(hasher.finish())
}

/// The prefix of the names of build folders.
const BUILD: &str = "suimon-build-";

/// Compiles the library in a temporary folder, then renames it to `folder` atomically, so that concurrent builds do not
/// conflict.
fn compile(library: Library, compiler: &Path, cache: &Path, folder: &Path) -> Result<(), Error> {
    let scratch = TemporaryFolder::new_in(cache, BUILD).map_err(Error::io(cache))?;
    // A subfolder is renamed, so that the lock file stays behind.
    let place = scratch.path().join("library");
    DirBuilder::new().mode(0o700).create(&place).map_err(Error::io(&place))?;
    let write = |name: &str, text: &str| {
        let path = place.join(name);
        fs::write(&path, text).map_err(Error::io(&path))
    };
    write("operations.h", &operations())?;
    sources(library).try_for_each(|(name, text)| write(name, text))?;
    let units: Vec<_> = sources(library).map(|it| it.0).filter(|it| it.ends_with(".c")).collect();
    run(Command::new(compiler).args(FLAGS).args(&units), compiler, &place)?;
    // The MPI library's compiler is not used here, because it would link with the MPI library.
    let objects = units.iter().map(|unit| unit.replace(".c", ".o"));
    let linker = Path::new("cc");
    run(Command::new(linker).args(objects).args(LINK_FLAGS), linker, &place)?;
    match fs::rename(&place, folder) {
        Err(error) if !folder.join(FILE).is_file() => Err(Error::io(folder)(error)),
        _ => Ok(()),
    }
}

fn run(command: &mut Command, compiler: &Path, folder: &Path) -> Result<(), Error> {
    let output = command.current_dir(folder).output().map_err(Error::io(compiler))?;
    if output.status.success() {
        return Ok(());
    }
    let output = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let message =
        format!("{} could not compile the profiling library: {output}", compiler.display());
    Err(Fault::lacking(message, "check that it compiles other programs").into())
}
