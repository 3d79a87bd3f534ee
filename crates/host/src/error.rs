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
    /// The kernel does not accept a setting.
    #[error(transparent)]
    Setting(Fault),
    /// Any other, with what helps.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Error {
    pub(crate) fn io<'a>(
        what: &'static str,
        path: &'a std::path::Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| {
            let help = "check that it exists, and that nothing else uses it";
            Fault::lacking(format!("{what} {}: {source}", path.display()), help).into()
        }
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
            Error::Setting(fault) | Error::Fault(fault) => fault,
        }
    }
}
