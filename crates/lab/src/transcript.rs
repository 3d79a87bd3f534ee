//! What a program says: kept in a file up to a limit, and the end of what it says on standard error. It is read
//! in any case: at once up to the limit, so that the program does not wait for whoever reads it, and then at a rate that
//! leaves processor and clock to others.

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

/// A program's file is no longer than so many bytes, and the line that says so.
pub(crate) const LIMIT: u64 = 16 << 20;
/// So many bytes of what came last on standard error are kept.
const LAST: usize = 2_000;
/// And so many lines of that are told.
const LINES: usize = 5;
/// Bytes that are read at once, and the time between two reads beyond the limit: 66 MB/s of a program that floods. In a guest
/// kernel, where a system call takes 1 us however much it writes, one would otherwise write gigabytes a second.
const READ: usize = 64 << 10;
const PAUSE: time::Duration = time::Duration::from_millis(1);
/// A reader needs little of a stack.
const STACK: usize = 128 << 10;

/// What was said so far.
#[derive(Debug, Default)]
struct Said {
    bytes: u64,
    last: VecDeque<u8>,
    /// Why the file does not have it.
    broken: Option<io::Error>,
}

/// A program's output, read by a thread of its own.
#[derive(Debug)]
pub(crate) struct Transcript {
    said: Arc<Mutex<Said>>,
    reader: Option<JoinHandle<()>>,
}

impl Transcript {
    /// Reads what a program says into `file`, if there is one; with the ends of pipes that are the program's.
    pub(crate) fn open(file: Option<File>) -> Result<(Self, Output), Error> {
        let pipes =
            || -> io::Result<_> { Ok([pipe2(OFlag::O_CLOEXEC)?, pipe2(OFlag::O_CLOEXEC)?]) };
        let pipes = pipes().map_err(Error::system("make a pipe for a program's output"))?;
        let [(output, told), (errors, told_errors)] = pipes;
        let said = Arc::new(Mutex::new(Said::default()));
        let shared = Arc::clone(&said);
        let pipes = [output, errors].map(|pipe| Some(File::from(pipe)));
        let reader = thread::Builder::new()
            .stack_size(STACK)
            .spawn(move || read(pipes, file, &shared))
            .map_err(Error::system("start a thread for a program's output"))?;
        Ok((Self { said, reader: Some(reader) }, Output::Pipes(told, told_errors)))
    }

    /// The last lines on standard error; nothing if there are none.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let last: Vec<u8> = lock(&self.said).last.iter().copied().collect();
        let text = String::from_utf8_lossy(&last).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines.iter().skip(lines.len().saturating_sub(LINES)).map(|&line| line.to_owned()).collect()
    }

    /// To be called when all are gone who could say something; what a reader should know of the file.
    pub(crate) fn close(&mut self) -> Option<String> {
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        let said = lock(&self.said);
        let (limit, bytes) = (LIMIT >> 20, said.bytes);
        match &said.broken {
            Some(error) => Some(format!("its output could not be kept: {error}")),
            None if bytes > LIMIT => {
                Some(format!("its output was cut after {limit} MiB; it was {bytes} bytes"))
            }
            None => None,
        }
    }
}

fn lock(said: &Mutex<Said>) -> MutexGuard<'_, Said> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads until nobody can write any more. The second pipe is standard error.
fn read(mut pipes: [Option<File>; 2], mut file: Option<File>, said: &Mutex<Said>) {
    let mut bytes = vec![0; READ];
    while pipes.iter().any(Option::is_some) {
        if lock(said).bytes > LIMIT {
            thread::sleep(PAUSE);
        }
        let ready = wait(&pipes);
        for (number, pipe) in pipes.iter_mut().enumerate() {
            let Some(open) = pipe.as_mut().filter(|_| ready[number]) else { continue };
            match open.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => *pipe = None,
                Ok(count) => keep(&bytes[..count], number == 1, &mut file, said),
            }
        }
    }
}

/// Which of the pipes have something to read, or an end; waits for one.
fn wait(pipes: &[Option<File>; 2]) -> [bool; 2] {
    let open = pipes.iter().flatten();
    let mut polled: Vec<_> =
        open.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLIN)).collect();
    let _ = poll(&mut polled, PollTimeout::NONE);
    let mut ready = polled.iter().map(|pipe| pipe.any() == Some(true));
    pipes.each_ref().map(|pipe| pipe.is_some() && ready.next() == Some(true))
}

fn keep(bytes: &[u8], is_error: bool, file: &mut Option<File>, said: &Mutex<Said>) {
    let mut said = lock(said);
    let room = LIMIT.saturating_sub(said.bytes);
    let taken = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
    let is_cut = taken < bytes.len() && said.bytes <= LIMIT;
    said.bytes += bytes.len() as u64;
    if let Some(open) = file {
        let mut written = open.write_all(&bytes[..taken]);
        if is_cut {
            written = written.and_then(|()| open.write_all(b"\n[cut by suimon]\n"));
        }
        if let Err(error) = written {
            said.broken = Some(error);
            *file = None;
        }
    }
    if is_error {
        said.last.extend(bytes);
        let beyond = said.last.len().saturating_sub(LAST);
        said.last.drain(..beyond);
    }
}
