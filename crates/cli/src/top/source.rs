//! Where the picture comes from, by what the command line names.

use std::path::Path;

use experiment::folders::SWEEP;

use super::replay::Replay;
use super::socket::Socket;
use crate::failure::Failure;

/// What is watched.
pub(super) enum Source {
    /// Somebody who answers: a router, or a run under way.
    Socket(Socket),
    /// What a finished run recorded.
    Replay(Box<Replay>),
}

/// What to type, when there is nothing to watch.
const HELP: &str = "give a run's folder, such as runs/NAME-1, or a router's control socket";

impl Source {
    /// Finds it; `named` if the command line told the place.
    pub(super) fn open(target: &Path, named: bool) -> Result<Self, Failure> {
        if target.is_dir() {
            return Self::of_folder(target);
        }
        let socket = Socket::open(target).map_err(|error| {
            let who = if named { "nothing answers" } else { "no router listens" };
            Failure::usage(format!("{who} at {}: {error}", target.display()), HELP)
        })?;
        Ok(Self::Socket(socket))
    }

    fn of_folder(folder: &Path) -> Result<Self, Failure> {
        if let Ok(socket) = Socket::open(&experiment::live_socket(folder)) {
            return Ok(Self::Socket(socket));
        }
        if folder.join(SWEEP).exists() {
            let message = format!("{} holds many runs", folder.display());
            return Err(Failure::usage(message, "name one: one of the folders in it"));
        }
        Replay::read(folder).map(|replay| Self::Replay(Box::new(replay)))
    }
}
