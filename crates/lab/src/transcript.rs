//! A program's output: a file up to a size limit, and the last lines of standard error. All output is read: up to the
//! limit as fast as it comes, so that the program does not block, and beyond it at a rate that leaves CPU and clock
//! time to others.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time;

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::pipe2;

use crate::error::Error;
use crate::program::Output;

/// The maximum bytes of a program's output file, without the line that says that it was cut.
pub(crate) const LIMIT: u64 = 16 << 20;
/// Bytes of standard error that are kept, the last ones.
const LAST: usize = 2_000;
/// The maximum number of these lines that are reported.
const LINES: usize = 5;
/// Bytes per read. Beyond the limit, reads are [`PAUSE`] apart: 66 MB/s per pipe from a program that floods. In a guest
/// kernel a system call takes 1 us whatever its size, so a program could otherwise write gigabytes a second.
const READ: usize = 64 << 10;
const PAUSE: time::Duration = time::Duration::from_millis(1);
/// The stack of a reader thread, in bytes.
const STACK: usize = 128 << 10;

/// The output so far.
#[derive(Debug, Default)]
struct Received {
    bytes: u64,
    last: VecDeque<u8>,
    /// The error that stopped writing to the file.
    broken: Option<io::Error>,
}

/// A program's output, read by a separate thread.
#[derive(Debug)]
pub(crate) struct Transcript {
    received: Arc<Mutex<Received>>,
    reader: Option<JoinHandle<()>>,
}

impl Transcript {
    /// Starts to read a program's output into `file`, if given. Also returns the program's ends of the pipes.
    pub(crate) fn open(file: Option<File>) -> Result<(Self, Output), Error> {
        let pipes =
            || -> io::Result<_> { Ok([pipe2(OFlag::O_CLOEXEC)?, pipe2(OFlag::O_CLOEXEC)?]) };
        let pipes = pipes().map_err(Error::system("make a pipe for a program's output"))?;
        let [(output, write_output), (errors, write_errors)] = pipes;
        let received = Arc::new(Mutex::new(Received::default()));
        let shared = Arc::clone(&received);
        let pipes = [output, errors].map(|pipe| Some(File::from(pipe)));
        let reader = thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || read(pipes, file, &shared))
            .map_err(Error::system("start a thread for a program's output"))?;
        Ok((Self { received, reader: Some(reader) }, Output::Pipes(write_output, write_errors)))
    }

    /// The last lines on standard error; empty if there are none.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let last: Vec<u8> = lock(&self.received).last.iter().copied().collect();
        let text = String::from_utf8_lossy(&last).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines.iter().skip(lines.len().saturating_sub(LINES)).map(|&line| line.to_owned()).collect()
    }

    /// Ends the reading, after all processes that could write are gone. Returns a note about the file, if needed.
    pub(crate) fn close(&mut self) -> Option<String> {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let received = lock(&self.received);
        let (limit, bytes) = (LIMIT >> 20, received.bytes);
        match &received.broken {
            Some(error) => Some(format!("its output could not be kept: {error}")),
            None if bytes > LIMIT => {
                Some(format!("its output was cut after {limit} MiB; it was {bytes} bytes"))
            }
            None => None,
        }
    }
}

fn lock(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads until all write ends of the pipes are closed. The second pipe is standard error.
fn read(mut pipes: [Option<File>; 2], mut file: Option<File>, received: &Mutex<Received>) {
    let mut bytes = vec![0; READ];
    while pipes.iter().any(Option::is_some) {
        if lock(received).bytes > LIMIT {
            thread::sleep(PAUSE);
        }
        let ready = wait(&pipes);
        for (number, pipe) in pipes.iter_mut().enumerate() {
            let Some(open) = pipe.as_mut().filter(|_| ready[number]) else { continue };
            match open.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => *pipe = None,
                Ok(count) => keep(&bytes[..count], number == 1, &mut file, received),
            }
        }
    }
}

/// Waits until at least one pipe is readable or at its end; returns which ones are.
fn wait(pipes: &[Option<File>; 2]) -> [bool; 2] {
    let open = pipes.iter().flatten();
    let mut polled: Vec<_> =
        open.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)).collect();
    let _ = poll(&mut polled, PollTimeout::NONE);
    let mut ready = polled.iter().map(|pipe| pipe.any() == Some(true));
    pipes.each_ref().map(|pipe| pipe.is_some() && ready.next() == Some(true))
}

fn keep(bytes: &[u8], is_error: bool, file: &mut Option<File>, received: &Mutex<Received>) {
    let mut received = lock(received);
    let room = LIMIT.saturating_sub(received.bytes);
    let taken = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
    let is_cut = taken < bytes.len() && received.bytes <= LIMIT;
    received.bytes += bytes.len() as u64;
    if let Some(open) = file {
        let mut written = open.write_all(&bytes[..taken]);
        if is_cut {
            written = written.and_then(|()| open.write_all(b"\n[cut by suimon]\n"));
        }
        if let Err(error) = written {
            received.broken = Some(error);
            *file = None;
        }
    }
    if is_error {
        received.last.extend(bytes);
        let beyond = received.last.len().saturating_sub(LAST);
        received.last.drain(..beyond);
    }
}
