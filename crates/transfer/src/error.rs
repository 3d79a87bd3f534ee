//! Why a transfer, or something it needs, failed.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use base::Fault;

use crate::message::MalformedMessage;
use crate::name::{Name, NameError, shown};

/// Why a transfer failed. Verified data is kept, and the same command resumes there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An operation on a local file or folder failed.
    #[error("{what} {}: {source}", shown(path))]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// Its file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The peer cannot be reached.
    #[error("{address}: {source}")]
    Connect {
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The port is not available.
    #[error("listen on {address}: {source}")]
    Listen {
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The connection broke.
    #[error("the connection was lost: {0}")]
    Lost(#[source] io::Error),
    /// TLS failed for another reason than the peer's key.
    #[error("TLS: {0}")]
    Tls(rustls::Error),
    /// The peer does not have the expected key.
    #[error("the peer does not have the expected key")]
    Untrusted,
    /// The peer sent something that is not a message.
    #[error("the peer sent something that is not a message of this protocol: {0}")]
    Malformed(#[from] MalformedMessage),
    /// The peer sent a message at the wrong time.
    #[error("the peer violated the protocol: {0}")]
    Protocol(&'static str),
    /// The peer sent more than is accepted.
    #[error("the peer exceeded a limit: {0}")]
    Limit(&'static str),
    /// The error that the peer reported.
    #[error("the peer ended the transfer: {0}")]
    Peer(String),
    /// A path cannot be sent under its name.
    #[error("{}: {source}", shown(path))]
    Name {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: NameError,
    },
    /// Two paths have the same name.
    #[error("two files would be `{0}` at the receiver")]
    Twice(Name),
    /// The file changed while it was sent.
    #[error("`{0}` changed while it was sent")]
    Changed(Name),
    /// Chunks arrived wrong repeatedly.
    #[error("`{0}` arrived corrupted {1} times")]
    Corrupted(Name, u32),
    /// Another receiver uses that directory.
    #[error("{}: in use by another `suimon recv`", shown(.0))]
    Locked(PathBuf),
    /// Other users could put their files among the verified ones.
    #[error("{}: the folder belongs to another user, or others may write in it", shown(.0))]
    Shared(PathBuf),
    /// A text that does not have the form of a one-time code.
    #[error("not a one-time code")]
    NoCode,
    /// A one-time code with a wrong check digit.
    #[error("the code is mistyped")]
    MistypedCode,
    /// A key file that others may read.
    #[error("{}: others may read this key (mode {mode:o})", shown(path))]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A key file without a key.
    #[error("{}: contains no private key", shown(path))]
    NoKey {
        /// The file.
        path: PathBuf,
    },
    /// A text that is not a public key.
    #[error("`{text}` is not a public key")]
    NoPublicKey {
        /// The text.
        text: String,
    },
    /// The system has no memory, or no pipe.
    #[error("the system is out of memory or pipes: {0}")]
    Memory(#[source] io::Error),
    /// The system has no random numbers.
    #[error("the system provides no random numbers")]
    Random,
    /// The caller ended it.
    #[error("interrupted: verified data is kept; run the same command again to resume")]
    Interrupted,
    /// A setting that the system refuses.
    #[error("{what}: {source}")]
    Setting {
        /// The setting.
        what: String,
        /// The system's error.
        source: io::Error,
        /// A way to avoid it.
        help: String,
    },
}

impl Error {
    pub(crate) fn io<'a>(
        what: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |source| Self::Io { what, path: path.to_owned(), source }
    }

    /// Returns the error with which the parts of a transfer end that is broken off already.
    pub(crate) fn broken_off() -> Self {
        Self::Lost(io::ErrorKind::ConnectionAborted.into())
    }

    /// Returns what a person can do about it; empty where nothing is known. It is never the peer's text.
    pub fn help(&self) -> Cow<'_, str> {
        let help = match self {
            Self::Io { source, .. } => advice(source),
            Self::Connect { .. } => "start `suimon recv` there, and check that the port is open",
            Self::Listen { .. } => "choose another address or port with `--listen`",
            Self::Lost(_) => "verified data is kept; run the same command again to resume",
            Self::Tls(_) => {
                "check that both ends are `suimon`, and that both encrypt or neither does"
            }
            Self::Untrusted => "check the code, or the keys, of both ends",
            Self::Malformed(_) | Self::Protocol(_) => {
                "use the same version of `suimon` on both ends"
            }
            Self::Peer(_) => "solve the problem at the other end; verified data is kept",
            Self::Name { .. } => "use a path that ends in a name, unlike `.`",
            Self::Twice(_) => "send them separately, or rename one",
            Self::Changed(_) => "send it again when no program writes to it",
            Self::Corrupted(..) => "the network path or a machine's memory corrupts data",
            Self::Locked(_) => "end that one, or choose another directory",
            Self::Shared(_) => {
                "remove it, run `chmod go-w` on it if it is yours, or choose another directory"
            }
            Self::NoCode => "`suimon recv` prints the code: five groups of five letters and digits",
            Self::MistypedCode => "compare it with the code that `suimon recv` prints",
            Self::Exposed { path, .. } => return format!("chmod 600 {}", shown(path)).into(),
            Self::NoKey { .. } => "`suimon keygen` creates one",
            Self::NoPublicKey { .. } => "`suimon keygen` prints one: suimon-public- and 64 digits",
            Self::Memory(_) => "use fewer streams",
            Self::Random => "check that /dev/urandom exists",
            Self::Setting { help, .. } => help,
            Self::Limit(_) | Self::Interrupted => "",
        };
        help.into()
    }

    /// Returns the error as the peer gets it, in one line.
    pub(crate) fn in_one_line(&self) -> String {
        let help = self.help();
        if help.is_empty() { self.to_string() } else { format!("{self} ({help})") }
    }

    /// Whether this machine's disk or directory is at fault, rather than the peer or the path to it.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Corrupted(..) | Self::Memory(_))
    }

    /// Returns whether a retry of the same command could succeed.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Connect { .. } | Self::Interrupted)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let is_usage = matches!(
            error,
            Error::Name { .. }
                | Error::Twice(_)
                | Error::NoCode
                | Error::MistypedCode
                | Error::Exposed { .. }
                | Error::NoKey { .. }
                | Error::NoPublicKey { .. }
        );
        Self::of(!is_usage, error.to_string(), error.help())
    }
}

/// Returns what a person can do about it.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, then run the same command again: it resumes from the verified data"
        }
        io::ErrorKind::NotFound => "check that it exists",
        io::ErrorKind::PermissionDenied => "check this user's permissions",
        _ => "check the file system and the disk",
    }
}
