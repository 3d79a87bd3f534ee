//! Why a transfer, or something it needs, failed.

use std::io;
use std::path::{Path, PathBuf};

use crate::message::MalformedMessage;
use crate::name::{Name, NameError};

/// Why a transfer failed. What was verified is kept: the same command takes up there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder of ours failed.
    #[error("{what} {}: {source}\n  help: {}", path.display(), advice(source))]
    Io {
        /// What was to be done.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// No peer there.
    #[error(
        "{address}: {source}\n  help: start `suimon recv` there, and see that the port is open"
    )]
    Connect {
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The port cannot be had.
    #[error("listen on {address}: {source}\n  help: name another address or port with `--listen`")]
    Listen {
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The connection broke.
    #[error(
        "the connection was lost: {0}\n  help: what was verified is kept; run the same command again to go on there"
    )]
    Lost(#[source] io::Error),
    /// TLS failed otherwise than by the peer's key.
    #[error(
        "TLS: {0}\n  help: see that both ends are `suimon`, and that both encrypt or neither does"
    )]
    Tls(rustls::Error),
    /// The peer has not the key that was expected.
    #[error("the peer is not who was expected\n  help: see the code, or the keys, of both ends")]
    Untrusted,
    /// The peer said something that is no message.
    #[error(
        "the peer sent what is no message of this protocol: {0}\n  help: see that both ends are `suimon` of one version"
    )]
    Malformed(#[from] MalformedMessage),
    /// The peer said something at the wrong time.
    #[error(
        "the peer broke the protocol: {0}\n  help: see that both ends are `suimon` of one version"
    )]
    Protocol(&'static str),
    /// The peer sent more than is taken.
    #[error("the peer asks for more than is allowed: {0}")]
    Limit(&'static str),
    /// What the peer said of itself.
    #[error("the peer ended it: {0}")]
    Peer(String),
    /// A path cannot be sent under its name.
    #[error("{}: {source}\n  help: name files and folders by a path with a last part, such as `.` does not have", path.display())]
    Name {
        /// Which.
        path: PathBuf,
        /// Why.
        source: NameError,
    },
    /// Two paths have one name.
    #[error("two files would be `{0}` there\n  help: send them with two commands, or rename one")]
    Twice(Name),
    /// There is such a file.
    #[error(
        "`{0}` is there already, and differs\n  help: `suimon recv --overwrite` replaces files"
    )]
    Exists(Name),
    /// The file changed while it was sent.
    #[error("`{0}` changed while it was sent\n  help: send it again when nothing writes to it")]
    Changed(Name),
    /// Chunks arrived wrong again and again.
    #[error(
        "`{0}` arrived wrong {1} times over\n  help: the path or a machine's memory corrupts data"
    )]
    Corrupted(Name, u32),
    /// Another receiver is at work in that directory.
    #[error("{}: another `suimon recv` is at work there\n  help: end it, or name another directory", .0.display())]
    Locked(PathBuf),
    /// A one-time code of another form.
    #[error(
        "that is no code\n  help: `suimon recv` prints one of five groups of five letters and digits"
    )]
    NoCode,
    /// A one-time code whose last digit does not fit the others.
    #[error("the code is mistyped\n  help: compare it with what `suimon recv` prints")]
    MistypedCode,
    /// A key file that others may read.
    #[error("{}: others may read this key (mode {mode:o})\n  help: chmod 600 {}", path.display(), path.display())]
    Exposed {
        /// Which.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// A key file without a key.
    #[error("{}: there is no private key in it\n  help: `suimon keygen` writes one", path.display())]
    NoKey {
        /// Which.
        path: PathBuf,
    },
    /// A text that is no public key.
    #[error(
        "`{text}` is no public key\n  help: `suimon keygen` prints one: suimon-public- and 64 digits"
    )]
    NoPublicKey {
        /// Which.
        text: String,
    },
    /// The system has no memory, or no pipe.
    #[error("the system has no more room: {0}\n  help: fewer streams need less")]
    Memory(#[source] io::Error),
    /// The system has no random numbers.
    #[error("the system has no random numbers\n  help: see that /dev/urandom is there")]
    Random,
    /// The caller wanted it to end.
    #[error("interrupted: what was verified is kept; run the same command again to go on there")]
    Interrupted,
    /// A setting that the system does not take.
    #[error("{what}: {source}\n  help: {help}")]
    Setting {
        /// What.
        what: String,
        /// What the system said.
        source: io::Error,
        /// What to do.
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

    /// Why what belongs to a transfer ends that is broken off already.
    pub(crate) fn broken_off() -> Self {
        Self::Lost(io::ErrorKind::ConnectionAborted.into())
    }

    /// Whether this machine's disk or directory is at fault, rather than the peer or the path to it.
    pub(crate) const fn is_local(&self) -> bool {
        matches!(self, Self::Io { .. } | Self::Exists(_) | Self::Corrupted(..) | Self::Memory(_))
    }

    /// Whether another try of the same command could do better.
    pub const fn is_passing(&self) -> bool {
        matches!(self, Self::Lost(_) | Self::Connect { .. } | Self::Interrupted)
    }

    /// Whether the command line is wrong, rather than a machine, a path or a peer.
    pub const fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Name { .. }
                | Self::Twice(_)
                | Self::NoCode
                | Self::MistypedCode
                | Self::Exposed { .. }
                | Self::NoKey { .. }
                | Self::NoPublicKey { .. }
        )
    }
}

/// What a person can do about it.
fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room there, then run the same command again: it goes on at what was verified"
        }
        io::ErrorKind::NotFound => "see that it is there",
        io::ErrorKind::PermissionDenied => "see that this user may do that",
        _ => "see the file system and the disk",
    }
}
