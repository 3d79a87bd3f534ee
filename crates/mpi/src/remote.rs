//! Commands at another host over a TCP connection: a replacement for ssh for launchers, in isolated networks.

use std::env;
use std::ffi::OsStr;
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The TCP port on which hosts serve requests.
pub const PORT: u16 = 8514;
/// The maximum bytes of a text in a request.
const TEXT_MAX: u32 = 4 << 20;
/// The maximum number of environment variables in a request.
const VARIABLES_MAX: u32 = 1 << 16;
/// The bytes per read of a command's output.
const PIECE: usize = 1 << 16;

/// The kind of a part of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Part {
    Output = 1,
    Errors = 2,
    /// The command's exit status, which is the last part.
    Status = 3,
}

/// Runs the commands requested over incoming connections, each in a process group that ends with its connection. A
/// command has the environment of the client, except for the variable `own`, which is this process's.
///
/// # Errors
/// If no connection can be accepted any more.
pub fn serve(own: &'static str) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    for connection in listener.incoming() {
        let connection = connection?;
        // An error of a connection concerns its client only.
        thread::spawn(move || answer(&connection, own).is_ok());
    }
    Ok(())
}

/// Runs a shell command line at the host, in this process's working directory and with its environment. The command's
/// output goes to this process's. Returns the exit status as in a shell.
///
/// # Errors
/// If the host does not answer, or the connection breaks.
pub fn run(host: &str, line: &str) -> io::Result<u8> {
    let connection = TcpStream::connect((host, PORT))?;
    let mut out = BufWriter::new(&connection);
    write_text(&mut out, env::current_dir()?.as_os_str().as_bytes())?;
    write_text(&mut out, line.as_bytes())?;
    let variables: Vec<_> = env::vars_os().collect();
    out.write_all(&(variables.len() as u32).to_le_bytes())?;
    for (name, value) in variables {
        write_text(&mut out, name.as_bytes())?;
        write_text(&mut out, value.as_bytes())?;
    }
    out.flush()?;
    let mut answer = BufReader::new(&connection);
    loop {
        let mut kind = [0];
        answer.read_exact(&mut kind)?;
        let bytes = read_text(&mut answer)?;
        if kind == [Part::Output as u8] {
            io::stdout().write_all(&bytes)?;
            io::stdout().flush()?;
        } else if kind == [Part::Errors as u8] {
            io::stderr().write_all(&bytes)?;
        } else {
            return bytes.first().copied().ok_or_else(|| ErrorKind::InvalidData.into());
        }
    }
}

fn write_text(out: &mut impl Write, text: &[u8]) -> io::Result<()> {
    out.write_all(&(text.len() as u32).to_le_bytes())?;
    out.write_all(text)
}

fn read_number(from: &mut impl Read, most: u32) -> io::Result<u32> {
    let mut number = [0; 4];
    from.read_exact(&mut number)?;
    let number = u32::from_le_bytes(number);
    if number > most { Err(ErrorKind::InvalidData.into()) } else { Ok(number) }
}

fn read_text(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = read_number(from, TEXT_MAX)?;
    let mut text = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut text)?;
    if text.len() < length as usize { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(text) }
}

/// Reads a request and returns its command.
fn request(from: &mut impl Read) -> io::Result<Command> {
    let (folder, line) = (read_text(from)?, read_text(from)?);
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(OsStr::from_bytes(&line)).env_clear();
    for _ in 0..read_number(from, VARIABLES_MAX)? {
        let name = std::ffi::OsString::from_vec(read_text(from)?);
        command.env(name, OsStr::from_bytes(&read_text(from)?));
    }
    let folder = Path::new(OsStr::from_bytes(&folder));
    if folder.is_dir() {
        command.current_dir(folder);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    Ok(command)
}

/// The answer's connection, for writing one part at a time.
#[derive(Clone)]
struct Answer(Arc<Mutex<TcpStream>>);

impl Answer {
    fn write(&self, part: Part, bytes: &[u8]) -> io::Result<()> {
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.write_all(&[part as u8])?;
        write_text(&mut *out, bytes)
    }

    /// Copies the data read from `from` into the answer, on a separate thread.
    fn copy(&self, part: Part, mut from: impl Read + Send + 'static) -> thread::JoinHandle<()> {
        let answer = self.clone();
        thread::spawn(move || {
            let mut piece = vec![0; PIECE];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                if answer.write(part, &piece[..length]).is_err() {
                    return;
                }
            }
        })
    }
}

fn answer(connection: &TcpStream, own: &str) -> io::Result<()> {
    let mut command = request(&mut BufReader::new(connection))?;
    match env::var_os(own) {
        Some(value) => command.env(own, value),
        None => command.env_remove(own),
    };
    let answer = Answer(Arc::new(Mutex::new(connection.try_clone()?)));
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            answer.write(Part::Errors, format!("cannot be started: {error}\n").as_bytes())?;
            return answer.write(Part::Status, &[127]);
        }
    };
    let copies = copies(&mut child, &answer);
    let (group, asker) = (Pid::from_raw(child.id() as i32), connection.try_clone()?);
    let running = Arc::new(Mutex::new(true));
    let runs = Arc::clone(&running);
    let watch = thread::spawn(move || {
        // The client sends no more data, so this returns when the connection ends.
        let _ = (&asker).read(&mut [0]);
        if *runs.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = killpg(group, Signal::SIGTERM);
        }
    });
    let status = child.wait()?;
    *running.lock().unwrap_or_else(PoisonError::into_inner) = false;
    copies.into_iter().flatten().for_each(|copy| drop(copy.join()));
    let answered = answer.write(Part::Status, &[code(status)]);
    // This ends the `watch` thread.
    let _ = connection.shutdown(Shutdown::Both);
    drop(watch.join());
    answered
}

fn copies(child: &mut Child, answer: &Answer) -> [Option<thread::JoinHandle<()>>; 2] {
    let output = child.stdout.take().map(|from| answer.copy(Part::Output, from));
    let errors = child.stderr.take().map(|from| answer.copy(Part::Errors, from));
    [output, errors]
}

/// The exit status as in a shell: 128 plus the signal's number for a signal.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_that_promise_too_much_are_refused() {
        for bytes in [&[255_u8; 4][..], &[9, 0, 0, 0, 1], &[0; 8], &[]] {
            assert!(request(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
        assert!(request(&mut &[0_u8; 12][..]).is_ok(), "a line, a folder and variables, all empty");
    }
}
