//! Our congestion control in the kernel, until it is taken back: pinned in a BPF file system of its own.

use std::io;
#[cfg(feature = "bpf")]
use std::path::{Path, PathBuf};

use congestion::{Algorithm, Config};

/// The mount point of the BPF file system.
#[cfg(feature = "bpf")]
const FOLDER: &str = "/run/suimon/host";

/// The prefix of our names in the kernel, and the length of a name (`TCP_CA_NAME_MAX` without its zero).
const PREFIX: &str = "sui_";
const NAME_MAX: usize = 15;

/// The name in the kernel of an algorithm with its parameters. Linux refuses a name with a hyphen (`bpf_obj_name_cpy`).
pub(super) fn name(config: &Config) -> String {
    let name = config.algorithm().name().replace('-', "_");
    format!("{PREFIX}{name}").chars().take(NAME_MAX).collect()
}

/// The algorithm with that name in the kernel, with the values of its parameters.
fn config(name: &str, values: &[u32]) -> io::Result<Config> {
    let unknown = || io::Error::other(format!("this version has no algorithm for {name}"));
    let mut all = Algorithm::all().iter();
    let found = all.find(|algorithm| self::name(&(*algorithm).into()) == name);
    let mut config = Config::from(found.ok_or_else(unknown)?);
    let names: Vec<_> = config.parameters().map(|(parameter, _)| parameter).collect();
    for (parameter, value) in names.iter().zip(values) {
        config.set(parameter.name(), *value).map_err(|_| unknown())?;
    }
    Ok(config)
}

#[cfg(feature = "bpf")]
mod kernel {
    use super::{FOLDER, PREFIX, Path, PathBuf, config, io};
    use crate::module::Module;
    use crate::runtime;
    use nix::mount::{MntFlags, MsFlags, mount, umount2};
    use std::fs;

    fn pin(name: &str) -> PathBuf {
        Path::new(FOLDER).join(name)
    }

    pub(in super::super) fn is_loaded(name: &str) -> bool {
        pin(name).exists()
    }

    /// Loads it and removes it again.
    pub(in super::super) fn try_load(name: &str, values: &[u32]) -> io::Result<()> {
        match is_loaded(name) {
            true => Ok(()),
            false => Module::load_as(&config(name, values)?, name.to_owned(), None).map(drop),
        }
    }

    pub(in super::super) fn load(name: &str, values: &[u32]) -> io::Result<()> {
        let folder = Path::new(FOLDER);
        runtime::make(Path::new(runtime::FOLDER))?;
        fs::create_dir_all(folder)?;
        if !is_mounted(folder)? {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            mount(Some("bpf"), folder, Some("bpf"), flags, Some("mode=0700"))?;
        }
        if is_loaded(name) {
            return Ok(());
        }
        Module::load_as(&config(name, values)?, name.to_owned(), None)?.pin(&pin(name))
    }

    pub(in super::super) fn unload(name: &str) -> io::Result<()> {
        match fs::remove_file(pin(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let folder = Path::new(FOLDER);
        if folder.is_dir() && is_mounted(folder)? && !has_pins(folder)? {
            umount2(folder, MntFlags::MNT_DETACH)?;
            fs::remove_dir(folder)?;
        }
        Ok(())
    }

    /// Whether an algorithm is pinned. The kernel has files of its own there, such as `maps.debug`.
    fn has_pins(folder: &Path) -> io::Result<bool> {
        let ours = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
        Ok(fs::read_dir(folder)?.filter_map(Result::ok).any(ours))
    }

    fn is_mounted(folder: &Path) -> io::Result<bool> {
        let text = fs::read_to_string("/proc/self/mounts")?;
        let at = folder.to_string_lossy();
        Ok(text.lines().any(|line| line.split(' ').nth(1) == Some(&at)))
    }
}

/// The loader in a build without BPF.
#[cfg(not(feature = "bpf"))]
mod kernel {
    use super::{config, io};

    fn not_built() -> io::Error {
        io::Error::other("this build has no BPF objects (feature `bpf`)")
    }

    pub(in super::super) fn is_loaded(_: &str) -> bool {
        false
    }

    pub(in super::super) fn try_load(name: &str, values: &[u32]) -> io::Result<()> {
        config(name, values).and(Err(not_built()))
    }

    pub(in super::super) fn load(_: &str, _: &[u32]) -> io::Result<()> {
        Err(not_built())
    }

    pub(in super::super) fn unload(_: &str) -> io::Result<()> {
        Ok(())
    }
}

pub(super) use kernel::{is_loaded, load, try_load, unload};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_takes_each_name_and_each_is_of_one_algorithm() {
        for algorithm in Algorithm::all() {
            let name = name(&algorithm.into());
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            assert!(name.len() <= NAME_MAX && name.chars().all(allowed), "{name}");
            let found = config(&name, &[]).expect("an algorithm");
            assert_eq!(found.algorithm().name(), algorithm.name());
        }
    }
}
