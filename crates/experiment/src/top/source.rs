//! The source of the view, as named on the command line.

use std::path::Path;

use crate::folders::SWEEP;

use super::host::Host;
use super::replay::Replay;
use super::socket::{Answered, Socket};
use crate::error::Error;

/// The source.
pub enum Source {
    /// A source that changes now.
    Live(Live),
    /// The recording of a finished run.
    Replay(Box<Replay>),
}

/// A source that answers with the statistics of now.
pub enum Live {
    /// A router, or a run in progress.
    Socket(Socket),
    /// This machine.
    Host(Host),
}

impl Live {
    /// Requests the current statistics; `target` is shown in messages.
    pub fn ask(&mut self, target: &Path) -> Result<Answered, Error> {
        match self {
            Self::Socket(socket) => socket.ask(target),
            Self::Host(host) => host.ask().map(|now| Answered::Counters(Box::new(now))),
        }
    }
}

/// The help if there is no source.
const HELP: &str = "give a run's folder, such as runs/NAME-1, or a router's control socket";

impl Source {
    /// Opens it; `named` if the command line gives the path.
    pub fn open(target: &Path, named: bool) -> Result<Self, Error> {
        if target.is_dir() {
            return Self::of_folder(target);
        }
        let socket = Socket::open(target).map_err(|error| {
            let who = if named { "nothing listens" } else { "no router listens" };
            Error::usage(format!("{who} on {}: {error}", target.display()), HELP)
        })?;
        Ok(Self::Live(Live::Socket(socket)))
    }

    fn of_folder(folder: &Path) -> Result<Self, Error> {
        if let Ok(socket) = Socket::open(&crate::live_socket(folder)) {
            return Ok(Self::Live(Live::Socket(socket)));
        }
        if folder.join(SWEEP).exists() {
            let message = format!("{} holds a sweep", folder.display());
            return Err(Error::usage(message, "give one of the run folders in it"));
        }
        Replay::read(folder).map(|replay| Self::Replay(Box::new(replay)))
    }
}
