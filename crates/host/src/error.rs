//! Why something cannot be put into the kernel, or taken out of it.

use std::io;
use std::path::PathBuf;

/// Why something cannot be put into the kernel, or taken out of it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What takes root's rights.
    #[error("{what} takes root's rights\n  help: sudo suimon mpi {verb}")]
    Rights {
        /// What.
        what: &'static str,
        /// The verb that does it.
        verb: &'static str,
    },
    /// It is there already.
    #[error("it is enabled already, at {}\n  help: suimon mpi disable, then enable it as you want it", .0.display())]
    Enabled(PathBuf),
    /// It is not there.
    #[error("it is not enabled on this machine\n  help: sudo suimon mpi enable")]
    NotEnabled,
    /// This build has no BPF objects.
    #[error(
        "this build has no BPF objects\n  help: build with feature `bpf`, which takes clang, libelf and zlib"
    )]
    NotBuilt,
    /// The kernel refuses.
    #[error(
        "this kernel does not take {what}: {source}\n  help: it takes BTF, BPF struct_ops with links (Linux 6.4) and a cgroup2 hierarchy"
    )]
    Refused {
        /// What.
        what: &'static str,
        /// What it said.
        source: io::Error,
    },
    /// A setting that the kernel does not take.
    #[error("{message}\n  help: {help}")]
    Setting {
        /// Which, and why.
        message: String,
        /// What to choose.
        help: &'static str,
    },
    /// A file or a mount of ours failed.
    #[error("{what} {}: {source}\n  help: see that it is there, and that nothing else uses it", path.display())]
    Io {
        /// What was to be done.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Error {
    /// Whether this machine lacks something; otherwise the command is wrong.
    pub const fn is_lacking(&self) -> bool {
        !matches!(self, Self::Enabled(_) | Self::NotEnabled | Self::Setting { .. })
    }

    pub(crate) fn io<'a>(
        what: &'static str,
        path: &'a std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}
