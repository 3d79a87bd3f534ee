//! The errors of loading into the kernel and unloading from it.

use std::io;
use std::path::PathBuf;

use base::Fault;

/// An error of loading into the kernel or unloading from it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operation needs root's rights.
    #[error("{what} requires root")]
    Rights {
        /// The operation.
        what: &'static str,
        /// The subcommand that does it.
        verb: &'static str,
    },
    /// The options are enabled already.
    #[error("it is already enabled, at {}", .0.display())]
    Enabled(PathBuf),
    /// The options are not enabled.
    #[error("it is not enabled on this machine")]
    NotEnabled,
    /// This build has no BPF objects.
    #[error("this build has no BPF objects")]
    NotBuilt,
    /// The kernel refuses a part.
    #[error("this kernel rejects {what}: {source}")]
    Refused {
        /// The part.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel does not accept a setting.
    #[error("{message}")]
    Setting {
        /// The setting and the reason.
        message: String,
        /// The valid choice.
        help: &'static str,
    },
    /// A file or a mount of ours failed.
    #[error("{what} {}: {source}", path.display())]
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
    pub(crate) fn io<'a>(
        what: &'static str,
        path: &'a std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Rights { verb, .. } => Self::lacking(message, format!("sudo suimon mpi {verb}")),
            Error::Enabled(_) => {
                Self::usage(message, "run suimon mpi disable, then enable it again")
            }
            Error::NotEnabled => Self::usage(message, "sudo suimon mpi enable"),
            Error::NotBuilt => Self::lacking(
                message,
                "build with feature `bpf`, which requires clang, libelf and zlib",
            ),
            Error::Refused { .. } => Self::lacking(
                message,
                "it requires BTF, BPF struct_ops with links (Linux 6.4) and a cgroup2 hierarchy",
            ),
            Error::Setting { help, .. } => Self::usage(message, help),
            Error::Io { .. } => {
                Self::lacking(message, "check that it exists, and that nothing else uses it")
            }
        }
    }
}
