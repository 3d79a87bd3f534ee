//! The control socket of a router or of a running simulation or lab: one line of JSON per request, one per
//! answer. A long or malformed line, or a client that sends nothing, does not block the server.

use std::fs;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base::{Diagnostic, Fault};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, listen, socket,
};
use nix::sys::stat::{Mode, fchmod};
use serde_json::{Value, json};

/// The longest line, bytes: far longer than any useful one.
const LINE_MAX: usize = 64 << 10;
/// The most bytes of answers that a client may leave unread.
const UNREAD_MAX: usize = 1 << 20;
/// The maximum number of connected clients.
const CLIENTS_MAX: usize = 32;
/// The longest answer, bytes: 100 times that of a network of 1000 hosts.
const ANSWER_MAX: usize = 16 << 20;
/// The timeout of a client: longer than a running server takes to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The client's end.
#[derive(Debug)]
pub struct Connection(BufReader<UnixStream>);

impl Connection {
    /// Connects to the socket at `path`.
    pub fn open(path: &Path) -> io::Result<Self> {
        let stream = Reach::of(path)?.connect()?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self(BufReader::new(stream)))
    }

    /// Sends one line, and returns the line that answers it; an error if the other side is gone.
    pub fn ask(&mut self, line: &str) -> io::Result<String> {
        if line.len() >= LINE_MAX {
            return Err(io::Error::new(ErrorKind::InvalidInput, too_long()));
        }
        let line = line.replace('\n', " ") + "\n";
        self.0.get_mut().write_all(line.as_bytes())?;
        let line = read_line(&mut self.0, ANSWER_MAX, PATIENCE)?;
        String::from_utf8(line).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }
}

/// The answer of a refused request.
pub(crate) fn refusal(fault: &Fault) -> Value {
    let joined = |part: fn(&Diagnostic) -> &str, whole: &str| match fault.diagnostics.as_slice() {
        [] => whole.to_owned(),
        all => all.iter().map(part).collect::<Vec<_>>().join("; "),
    };
    let error = joined(|it| &it.message, &fault.message);
    json!({ "error": error, "help": joined(|it| &it.help, &fault.help) })
}

/// The refusal that an answer is, if it is one.
pub(crate) fn refused(answer: &Value) -> Option<Fault> {
    let text = |key| answer.get(key).and_then(Value::as_str);
    Some(Fault::usage(text("error")?, text("help").unwrap_or_default()))
}

/// The next line, without its end. A line longer than `bytes_max`, or without an end in time, is an error.
#[expect(clippy::disallowed_methods, reason = "a real peer has a real deadline")]
fn read_line(from: &mut impl BufRead, bytes_max: usize, patience: Duration) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + patience;
    let mut line = Vec::new();
    loop {
        let bytes = from.fill_buf()?;
        if bytes.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let taken = end.unwrap_or(bytes.len());
        if line.len() + taken > bytes_max {
            let why = format!("an answer of more than {bytes_max} bytes");
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        line.extend_from_slice(&bytes[..taken]);
        from.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(line);
        }
        if Instant::now() >= deadline {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}

/// A socket path that fits `sun_path`: a path that is too long is replaced by one relative to its open folder.
#[derive(Debug)]
struct Reach {
    path: PathBuf,
    /// Stays open as long as `path` is used.
    _folder: Option<File>,
}

impl Reach {
    /// Finds a usable form of `path`.
    fn of(path: &Path) -> io::Result<Self> {
        /// The size of `sun_path` with its final zero.
        const ROOM: usize = 108;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        if path.as_os_str().len() < ROOM {
            return Ok(Self { path: path.to_owned(), _folder: None });
        }
        let folder = File::open(folder)?;
        let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
        Ok(Self { path: Path::new(&path).join(name), _folder: Some(folder) })
    }

    /// Connects to the socket.
    fn connect(&self) -> io::Result<UnixStream> {
        UnixStream::connect(&self.path)
    }

    /// Listens on the socket; only this user can connect.
    fn listen(&self) -> io::Result<UnixListener> {
        let socket = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        // The file gets the mode that the socket has when it is bound, less the umask: unix(7) does not specify
        // this, Linux' `unix_bind_bsd` does it.
        fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
        bind(socket.as_raw_fd(), &UnixAddr::new(&self.path)?)?;
        listen(&socket, Backlog::new(CLIENTS_MAX as i32)?)?;
        Ok(UnixListener::from(socket))
    }
}

/// The listening socket and its clients.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    clients: Vec<Client>,
}

impl Control {
    /// Makes a socket, accessible to this user alone from the beginning. A stale socket is replaced.
    pub fn open(path: &Path) -> io::Result<Self> {
        let reach = Reach::of(path)?;
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() || reach.connect().is_ok() {
                return Err(ErrorKind::AddrInUse.into());
            }
            fs::remove_file(path)?;
        }
        let listener = reach.listen()?;
        let control = Self { listener, path: path.to_owned(), clients: Vec::new() };
        control.listener.set_nonblocking(true)?;
        Ok(control)
    }

    /// Adds a client that is connected in another way.
    pub(crate) fn adopt(&mut self, stream: UnixStream) {
        let (asked, answers) = (Vec::new(), Vec::new());
        self.clients.push(Client { stream, asked, answers, skips: false });
    }

    /// Answers requests for up to `patience`.
    pub fn serve(&mut self, patience: Duration, mut answer: impl FnMut(&str) -> String) {
        let mut all = vec![PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
        all.extend(self.clients.iter().map(Client::waits_for));
        let patience = PollTimeout::try_from(patience).unwrap_or(PollTimeout::ZERO);
        // A signal may interrupt this: what is ready is seen below.
        let _ = poll(&mut all, patience);
        while let Ok((stream, _)) = self.listener.accept() {
            if self.clients.len() < CLIENTS_MAX && stream.set_nonblocking(true).is_ok() {
                self.adopt(stream);
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

/// A connected client.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    /// The beginning of a request line.
    asked: Vec<u8>,
    /// Answers to be written.
    answers: Vec<u8>,
    /// Whether the input up to the end of the line belongs to a line that was refused for its length.
    skips: bool,
}

impl Client {
    fn waits_for(&self) -> PollFd<'_> {
        let writes = if self.answers.is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
        // Requests that come too fast wait in the socket.
        let is_full = self.asked.len() >= LINE_MAX;
        let reads = if is_full { PollFlags::empty() } else { PollFlags::POLLIN };
        PollFd::new(self.stream.as_fd(), reads | writes)
    }

    /// Reads, answers and writes what it can; false if the client is gone or is to be dropped.
    fn serve(&mut self, answer: &mut impl FnMut(&str) -> String) -> bool {
        let open = self.read();
        // A client that is far behind in reading has to read first; one answer may be of any size.
        while self.answers.len() < UNREAD_MAX
            && let Some(end) = self.asked.iter().position(|&byte| byte == b'\n')
        {
            let line: Vec<u8> = self.asked.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            if !std::mem::take(&mut self.skips) && !line.trim().is_empty() {
                self.answer(&answer(line.trim()));
            }
        }
        if self.asked.len() >= LINE_MAX && !self.asked.contains(&b'\n') {
            self.refuse_line();
        }
        open && self.write()
    }

    fn answer(&mut self, line: &str) {
        self.answers.extend(line.bytes());
        self.answers.push(b'\n');
    }

    /// Answers a line that is too long before its end has arrived, and skips the rest of it.
    fn refuse_line(&mut self) {
        self.asked.clear();
        if !std::mem::replace(&mut self.skips, true) {
            let help = format!("send lines of at most {LINE_MAX} bytes");
            self.answer(&json!({ "error": too_long(), "help": help }).to_string());
        }
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

/// The message for a line without an end within [`LINE_MAX`].
fn too_long() -> String {
    format!("a line of more than {LINE_MAX} bytes")
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use nix::sys::stat::umask;

    use super::*;

    /// A client of a control socket, and the socket's server.
    fn served() -> (tempfile::TempDir, Control, UnixStream) {
        let folder = tempfile::tempdir().expect("a folder");
        let control = Control::open(&folder.path().join("socket")).expect("a socket");
        let client = UnixStream::connect(&control.path).expect("it listens");
        client.set_nonblocking(true).expect("a socket");
        (folder, control, client)
    }

    #[test]
    fn a_socket_is_its_users_alone_whatever_the_umask() {
        let folder = tempfile::tempdir().expect("a folder");
        let before = umask(Mode::empty());
        let control = Control::open(&folder.path().join("socket"));
        umask(before);
        let control = control.expect("a socket");
        let mode = fs::metadata(&control.path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_answer_without_an_end_is_left() {
        let read = |from: &mut dyn Read, patience| {
            read_line(&mut BufReader::new(from), 1 << 20, Duration::from_millis(patience))
        };
        assert_eq!(read(&mut &b"one\ntwo"[..], 1_000).expect("a line"), b"one");
        let long = read(&mut io::repeat(b'x'), 60_000).expect_err("too long");
        assert_eq!(long.kind(), ErrorKind::InvalidData);
        let slow = read(&mut io::repeat(b'x').take(1 << 19), 0).expect_err("too slow");
        assert_eq!(slow.kind(), ErrorKind::TimedOut);
        let cut = read(&mut &b"half"[..], 1_000).expect_err("cut off");
        assert_eq!(cut.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_line_that_is_too_long_is_answered_and_the_next_as_well() {
        let (_folder, mut control, mut client) = served();
        let mut told = Vec::new();
        let mut serve = |client: &mut UnixStream| {
            control.serve(Duration::ZERO, |line| line.to_uppercase());
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = client.read(&mut bytes) {
                told.extend(&bytes[..count]);
            }
        };
        let sent = ["x".repeat(5 * LINE_MAX), "\n".into(), "next\n".into()].concat();
        let mut left = sent.as_bytes();
        for _ in 0..10_000 {
            match client.write(left) {
                Ok(count) => left = &left[count..],
                Err(error) => assert!(is_later(&error), "{error}"),
            }
            serve(&mut client);
        }
        assert!(left.is_empty(), "it is read");
        let told = String::from_utf8(told).expect("text");
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 2, "{told}");
        assert!(lines[0].contains("error") && lines[0].contains("65536"), "{told}");
        assert_eq!(lines[1], "NEXT");
    }

    #[test]
    fn an_answer_may_be_of_any_size_and_many_lines_wait_their_turn() {
        const LONG: usize = 3 * UNREAD_MAX;
        let folder = tempfile::tempdir().expect("a folder");
        let mut control = Control::open(&folder.path().join("socket")).expect("a socket");
        let (mut client, stream) = UnixStream::pair().expect("a pair");
        for end in [&client, &stream] {
            end.set_nonblocking(true).expect("a socket");
        }
        control.adopt(stream);
        client.write_all(b"a\nb\nc\n").expect("asked");
        let mut told = Vec::new();
        let mut most = 0;
        for _ in 0..10_000 {
            control.serve(Duration::ZERO, |line| line.repeat(LONG));
            most = most
                .max(control.clients.iter().map(|client| client.answers.len()).max().unwrap_or(0));
            let mut bytes = vec![0; 1 << 16];
            while let Ok(count @ 1..) = client.read(&mut bytes) {
                told.extend(&bytes[..count]);
            }
            if told.len() == 3 * (LONG + 1) {
                break;
            }
        }
        let lines: Vec<&[u8]> = told.split(|&byte| byte == b'\n').collect();
        assert_eq!(lines.len(), 4);
        for (line, letter) in lines.iter().zip(*b"abc") {
            assert!(line.len() == LONG && line.iter().all(|&byte| byte == letter));
        }
        assert!(most < UNREAD_MAX + LONG + 1, "{most}");
    }
}
