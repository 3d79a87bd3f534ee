//! Running networks of the lab: each has a control socket in this user's runtime folder.

mod holder;

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base::Fault;
use lab::departure::Process;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::Uid;
use record::Lateness;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::control::{self, Connection};

pub use holder::Holder;

/// The extension of a socket's file.
const ENDING: &str = "sock";
/// How long a network may take to end by itself, in milliseconds.
const PATIENCE_MS: u16 = 10_000;

/// The folder of the sockets, writable by this user only.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
}

/// Held while the folder's content must not change.
pub type Lock = Flock<File>;

impl Folder {
    /// Makes the folder if it is missing.
    ///
    /// # Errors
    /// If it cannot be made, belongs to another user, or is writable by others.
    pub fn make() -> Result<Self, Fault> {
        let path = usual_path();
        host::runtime::make(&path).map_err(|error| unusable(&path, &error))?;
        Ok(Self { path })
    }

    /// The running networks; empty if there is no folder. See [`Self::all`].
    ///
    /// # Errors
    /// If the folder belongs to another user or is writable by others.
    pub fn networks() -> Result<Vec<Standing>, Fault> {
        let path = usual_path();
        if fs::symlink_metadata(&path).is_err() {
            return Ok(Vec::new());
        }
        host::runtime::open(&path).map_err(|error| unusable(&path, &error))?;
        Self { path }.all()
    }

    /// Prevents other processes from changing the folder's content.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn lock(&self) -> Result<Lock, Fault> {
        let file = host::runtime::open(&self.path).map_err(|error| unusable(&self.path, &error))?;
        let locked = Flock::lock(file, FlockArg::LockExclusive);
        locked.map_err(|(_, errno)| unusable(&self.path, &errno.into()))
    }

    /// The socket path of the network with that name.
    pub fn socket(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.{ENDING}"))
    }

    /// The running networks, by name. Removes sockets without a listener.
    fn all(&self) -> Result<Vec<Standing>, Fault> {
        let _lock = self.lock()?;
        let entries = fs::read_dir(&self.path).map_err(|error| unusable(&self.path, &error))?;
        let mut found = Vec::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(name) = name.filter(|_| path.extension().is_some_and(|it| it == ENDING))
            else {
                continue;
            };
            match Connection::open(&path) {
                Ok(connection) => found.push(Standing { name: name.into(), connection }),
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    let _ = fs::remove_file(&path);
                }
                Err(_) => {}
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }
}

/// The network with that name, or the only one of that scenario.
///
/// # Errors
/// If several networks of that scenario are running.
pub fn find(wanted: &Path) -> Result<Option<Standing>, Fault> {
    let mut all = Folder::networks()?;
    if let Some(place) = all.iter().position(|it| Path::new(&it.name) == wanted) {
        return Ok(Some(all.swap_remove(place)));
    }
    let Ok(file) = wanted.canonicalize() else { return Ok(None) };
    let is_of_file = |it: &mut Standing| it.state().is_ok_and(|it| Path::new(&it.scenario) == file);
    all.retain_mut(is_of_file);
    if all.len() > 1 {
        let names: Vec<&str> = all.iter().map(|network| network.name.as_str()).collect();
        let message =
            format!("several networks of {} are running: {}", wanted.display(), names.join(", "));
        return Err(Fault::usage(message, "name one of them"));
    }
    Ok(all.pop())
}

/// `suimon` in $XDG_RUNTIME_DIR, if that belongs to this user; else the usual path of such a folder.
fn usual_path() -> PathBuf {
    let user = Uid::effective();
    let is_own = |path: &PathBuf| {
        path.is_absolute() && fs::metadata(path).is_ok_and(|found| found.uid() == user.as_raw())
    };
    let given = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(is_own);
    if let Some(folder) = given {
        return folder.join("suimon");
    }
    if user.is_root() {
        return host::runtime::FOLDER.into();
    }
    let usual = PathBuf::from(format!("/run/user/{user}"));
    if is_own(&usual) {
        usual.join("suimon")
    } else {
        env::temp_dir().join(format!("suimon-{user}"))
    }
}

/// The error of a folder that cannot be used.
fn unusable(path: &Path, error: &io::Error) -> Fault {
    let message = format!("{}: {error}", path.display());
    Fault::usage(message, "name a folder of your own: export XDG_RUNTIME_DIR=$(mktemp -d)")
}

/// The state of a network.
#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    /// Its name.
    pub name: String,
    /// The scenario's path, with links resolved.
    pub scenario: String,
    /// The process that holds it.
    pub pid: u32,
    /// How long it has been running.
    pub seconds: u64,
    /// Its hosts.
    pub hosts: Vec<HostState>,
    /// Packets that its queues have dropped.
    pub drops: Vec<DropState>,
    /// How late packets were released, and frames that the machine lost; none if the fabric does not report it.
    pub emulator: Option<EmulatorState>,
    /// The hosts' programs that have failed, each with its status and its last output.
    pub failed_programs: Vec<String>,
}

/// Packets dropped in one place for one reason.
#[derive(Debug, Serialize, Deserialize)]
pub struct DropState {
    /// `NODE:LINK`, or a node's name.
    pub at: String,
    /// Their number.
    pub packets: u64,
    /// The reason.
    pub reason: String,
}

/// Whether the fabric keeps up.
#[derive(Debug, Serialize, Deserialize)]
pub struct EmulatorState {
    /// How late packets were released.
    pub lateness: Lateness,
    /// Frames that the machine lost on their way in or out; no queue counts them.
    pub missed_frames: u64,
    /// Whether it kept up.
    pub kept_up: bool,
}

/// A host of the network.
#[derive(Debug, Serialize, Deserialize)]
pub struct HostState {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: IpAddr,
    /// Its programs.
    pub programs: Vec<ProgramState>,
}

/// A host's program, and its state.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProgramState {
    /// The command line.
    pub command: String,
    /// Whether it runs, or how it ended.
    pub state: String,
}

/// Where to find a host of the network.
#[derive(Debug, Serialize, Deserialize)]
pub struct Place {
    /// The process that holds the network.
    pub pid: u32,
    /// Its descriptor of the host's namespace.
    pub descriptor: i32,
    /// The hosts' names and addresses.
    pub names: Vec<(String, IpAddr)>,
}

/// A running network.
#[derive(Debug)]
pub struct Standing {
    /// Its name.
    pub name: String,
    connection: Connection,
}

impl Standing {
    /// Its state.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn state(&mut self) -> Result<State, Fault> {
        self.ask(&json!({ "state": {} }))
    }

    /// The location of its host with that name.
    ///
    /// # Errors
    /// If it does not answer, or has no such host.
    pub fn host(&mut self, host: &str) -> Result<Place, Fault> {
        self.ask(&json!({ "host": host }))
    }

    /// Takes it down, and waits until its process has ended.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn take_down(&mut self) -> Result<(), Fault> {
        // Identify the process first, while it is certainly alive.
        let process = Process::of(self.state()?.pid)?;
        self.state()?;
        let _: Value = self.ask(&json!({ "down": {} }))?;
        if !process.is_gone_within(PATIENCE_MS) {
            process.kill();
            process.is_gone_within(PATIENCE_MS);
        }
        Ok(())
    }

    fn ask<T: for<'de> Deserialize<'de>>(&mut self, line: &Value) -> Result<T, Fault> {
        let gone = |error: io::Error| {
            let message = format!("network `{}` does not answer: {error}", self.name);
            Fault::usage(message, "it may be starting or ending: try again")
        };
        let text = self.connection.ask(&line.to_string()).map_err(gone)?;
        let value: Value = serde_json::from_str(&text).unwrap_or_default();
        if let Some(refusal) = control::refused(&value) {
            return Err(refusal);
        }
        serde_json::from_value(value).map_err(|error| {
            let message = format!("unexpected answer from network `{}`: {error}", self.name);
            Fault::usage(
                message,
                "it runs another version of suimon: restart it with lab down and lab up",
            )
        })
    }
}
