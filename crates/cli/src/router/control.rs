//! The control socket: a line of JSON asks, a line of JSON answers. Nobody's line, however long or broken,
//! and nobody's silence holds the router up.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{Mode, umask};
use serde_json::Value;

use crate::failure::Failure;

/// The longest line: far longer than any that makes sense.
const LINE_MAX: usize = 64 << 10;
/// Answers that a client may leave unread.
const UNREAD_MAX: usize = 1 << 20;
/// So many may be connected at once.
const CLIENTS_MAX: usize = 32;
/// Longer than a running router takes to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the socket is unless said otherwise.
pub(super) fn usual_path() -> PathBuf {
    let folder = env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    PathBuf::from(folder.unwrap_or_else(|| "/run".into())).join("suimon-router.sock")
}

/// What a router answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    /// It is an error.
    pub(super) refused: bool,
}

/// Tells the router at `path` one line.
pub(super) fn tell(path: &Path, line: &str) -> Result<Answer, Failure> {
    let mut stream = UnixStream::connect(path).map_err(|error| {
        let message = format!("no router listens at {}: {error}", path.display());
        Failure::usage(message, "name its socket with --control")
    })?;
    let mut ask = || {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(line.replace('\n', " ").as_bytes())?;
        stream.write_all(b"\n")?;
        let mut text = String::new();
        BufReader::new(&stream).read_line(&mut text)?;
        if text.is_empty() { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(text) }
    };
    let text: String = ask().map_err(Failure::file(path))?;
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(Answer { text: text.trim_end().to_owned(), refused: value.get("error").is_some() })
}

/// The socket, and whoever is connected.
#[derive(Debug)]
pub(super) struct Control {
    listener: UnixListener,
    path: PathBuf,
    clients: Vec<Client>,
}

impl Control {
    /// Makes the socket, for this user alone. One that a router left behind is replaced.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let refused = |error: io::Error| {
            let message = format!("the control socket {}: {error}", path.display());
            Failure::usage(message, "choose another place with --control")
        };
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() || UnixStream::connect(path).is_ok() {
                return Err(refused(ErrorKind::AddrInUse.into()));
            }
            fs::remove_file(path).map_err(refused)?;
        }
        let before = umask(Mode::from_bits_truncate(0o177));
        let listener = UnixListener::bind(path);
        umask(before);
        let listener = listener.map_err(refused)?;
        let control = Self { listener, path: path.to_owned(), clients: Vec::new() };
        control.listener.set_nonblocking(true).map_err(refused)?;
        Ok(control)
    }

    /// Answers what is asked, for so long.
    pub(super) fn serve(&mut self, patience: Duration, mut answer: impl FnMut(&str) -> String) {
        let mut all = vec![PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        all.extend(self.clients.iter().map(Client::waits_for));
        let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::ZERO);
        // Interrupted by a signal or not: what is ready is seen below.
        let _ = poll(&mut all, patience);
        while let Ok((stream, _)) = self.listener.accept() {
            if self.clients.len() < CLIENTS_MAX && stream.set_nonblocking(true).is_ok() {
                self.clients.push(Client { stream, asked: Vec::new(), answers: Vec::new() });
            }
        }
        self.clients.retain_mut(|client| client.serve(&mut answer));
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Somebody connected.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// The beginning of a line.
    asked: Vec<u8>,
    /// What is to be written.
    answers: Vec<u8>,
}

impl Client {
    fn waits_for(&self) -> PollFd<'_> {
        let writes = if self.answers.is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
        PollFd::new(self.stream.as_fd(), PollFlags::POLLIN | writes)
    }

    /// Reads, answers and writes what it can; false if the client is gone or to go.
    fn serve(&mut self, answer: &mut impl FnMut(&str) -> String) -> bool {
        let open = self.read();
        while let Some(end) = self.asked.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = self.asked.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if !line.trim().is_empty() {
                self.answers.extend(answer(line.trim()).bytes());
                self.answers.push(b'\n');
            }
        }
        let taken = self.write();
        open && taken && self.asked.len() < LINE_MAX && self.answers.len() < UNREAD_MAX
    }

    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        while self.asked.len() < LINE_MAX {
            match self.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(count) => self.asked.extend(bytes.iter().take(count)),
                Err(error) => return is_later(&error),
            }
        }
        true
    }

    fn write(&mut self) -> bool {
        while !self.answers.is_empty() {
            match self.stream.write(&self.answers) {
                Ok(count) => drop(self.answers.drain(..count)),
                Err(error) => return is_later(&error),
            }
        }
        true
    }
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}
