//! The folder of built kernels: `suimon/linux` in this user's cache.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use base::Fault;
use traffic_kernel::version::VERSION;

use crate::{Error, Kernel, recipe};

/// The help text if the cache is unusable.
pub const HELP: &str = "name a folder of your own: export XDG_CACHE_HOME=FOLDER";

impl Kernel {
    /// The kernel built by this recipe in a folder from a version of Linux, whether it exists yet or not.
    pub fn named(folder: &Path, version: &str) -> Self {
        let name = format!("linux-{version}-{}", recipe::hash());
        Self { version: version.to_owned(), binary: folder.join(name) }
    }

    /// The name of its file: the Linux version and the hash of the recipe.
    pub fn name(&self) -> String {
        self.binary.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The complete configuration, kept beside the program.
    pub fn config(&self) -> PathBuf {
        self.beside(".config")
    }

    /// The folder that modules for it are compiled with.
    pub fn headers(&self) -> PathBuf {
        self.beside(".headers")
    }

    /// The module `sch_suimon` for it, of the same text as this program, whether it is compiled or not.
    pub fn module(&self) -> PathBuf {
        self.beside(&format!(".sch_suimon-{VERSION}.ko"))
    }

    fn beside(&self, extension: &str) -> PathBuf {
        let mut path = self.binary.clone().into_os_string();
        path.push(extension);
        path.into()
    }
}

/// The folder by the XDG base directory specification: in `$XDG_CACHE_HOME` unless that is relative, else `~/.cache`.
///
/// # Errors
/// If neither is set.
pub fn folder() -> Result<PathBuf, Error> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache =
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")));
    let what = "neither XDG_CACHE_HOME nor HOME names a folder for the guest kernel";
    Ok(cache.ok_or_else(|| Fault::lacking(what, HELP))?.join("suimon/linux"))
}

/// The newest built kernel of this recipe.
///
/// # Errors
/// If there is none.
pub fn required() -> Result<Kernel, Error> {
    let what = "no guest kernel is built, but a host of the scenario needs one";
    Ok(newest()?.ok_or_else(|| Fault::lacking(what, "suimon linux build"))?)
}

/// The newest built kernel of this recipe, if there is one.
///
/// # Errors
/// If this user has no cache.
pub fn newest() -> Result<Option<Kernel>, Error> {
    let folder = folder()?;
    let names = fs::read_dir(&folder).into_iter().flatten().flatten();
    let versions = names.filter_map(|entry| version(entry.file_name().to_str()?));
    let kernels = versions.map(|version| Kernel::named(&folder, &version));
    Ok(kernels.filter(|kernel| is_program(&kernel.binary)).max_by_key(|it| numbers(&it.version)))
}

/// The Linux version in the name of a file of this recipe.
fn version(name: &str) -> Option<String> {
    let version = name.strip_prefix("linux-")?.strip_suffix(&recipe::hash())?.strip_suffix('-')?;
    Some(version.to_owned())
}

/// The sort key of a version: 6.12.9 is before 6.12.10.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|number| number.parse().unwrap_or(0)).collect()
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}
