//! The errors of loading into the kernel and unloading from it.

use std::io;
use std::path::PathBuf;

/// An error of loading into the kernel or unloading from it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operation needs root's rights.
    #[error("{what} requires root\n  help: sudo suimon mpi {verb}")]
    Rights {
        /// The operation.
        what: &'static str,
        /// The subcommand that does it.
        verb: &'static str,
    },
    /// The options are enabled already.
    #[error("it is already enabled, at {}\n  help: run suimon mpi disable, then enable it again", .0.display())]
    Enabled(PathBuf),
    /// The options are not enabled.
    #[error("it is not enabled on this machine\n  help: sudo suimon mpi enable")]
    NotEnabled,
    /// This build has no BPF objects.
    #[error(
        "this build has no BPF objects\n  help: build with feature `bpf`, which requires clang, libelf and zlib"
    )]
    NotBuilt,
    /// The kernel refuses a part.
    #[error(
        "this kernel rejects {what}: {source}\n  help: it requires BTF, BPF struct_ops with links (Linux 6.4) and a cgroup2 hierarchy"
    )]
    Refused {
        /// The part.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel does not accept a setting.
    #[error("{message}\n  help: {help}")]
    Setting {
        /// The setting and the reason.
        message: String,
        /// The valid choice.
        help: &'static str,
    },
    /// A file or a mount of ours failed.
    #[error("{what} {}: {source}\n  help: check that it exists, and that nothing else uses it", path.display())]
    Io {
        /// The operation.
        what: &'static str,
        /// The file or mount.
        path: PathBuf,
        /// The system's error.
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
