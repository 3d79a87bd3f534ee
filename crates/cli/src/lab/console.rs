//! The terminal or streams of a command in virtual time.

use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;
use std::panic;
use std::time;

use base::Instant;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use record::guest::{TerminalSize, Typed};
use record::meter::clock;
use simulate::guests::{Console, Stream};
use terminal_size::{Height, Width, terminal_size_of};

/// This process's stdout and stderr, without a keyboard.
#[derive(Debug)]
pub(super) struct Streams;

impl Console for Streams {
    fn show(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            Stream::Output => write(io::stdout().lock(), bytes),
            Stream::Errors => write(io::stderr().lock(), bytes),
        }
    }

    fn typed(&mut self, _now: Instant) -> io::Result<Vec<Typed>> {
        Ok(Vec::new())
    }
}

/// A program's output is not sanitised: it may control the terminal.
fn write(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}

/// The terminal on stdin: every key goes to the command, from the start of the simulation.
#[derive(Debug)]
pub(super) struct Terminal {
    size: TerminalSize,
    raw: Option<Raw>,
    pace: Pace,
}

impl Terminal {
    pub(super) fn new() -> Self {
        Self { size: size(), raw: None, pace: Pace::new(clock()) }
    }

    pub(super) const fn size(&self) -> TerminalSize {
        self.size
    }
}

impl Console for Terminal {
    fn show(&mut self, _stream: Stream, bytes: &[u8]) -> io::Result<()> {
        write(io::stdout().lock(), bytes)
    }

    fn typed(&mut self, now: Instant) -> io::Result<Vec<Typed>> {
        if self.raw.is_none() {
            self.raw = Some(Raw::take()?);
        }
        let due = self.pace.due(now, clock());
        let mut all = Vec::new();
        loop {
            let left = due.saturating_duration_since(clock());
            let keys = keys(left)?;
            if !keys.is_empty() {
                all.push(Typed::Keys(keys));
            }
            if left.is_zero() {
                break;
            }
        }
        let size = size();
        if size != self.size {
            self.size = size;
            all.push(Typed::Resized(size));
        }
        Ok(all)
    }
}

/// The keys typed within `patience`; empty if there were none.
fn keys(patience: time::Duration) -> io::Result<Vec<u8>> {
    let stdin = io::stdin();
    let mut polled = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    let patience = u16::try_from(patience.as_micros().div_ceil(1_000)).unwrap_or(u16::MAX);
    match poll(&mut polled, PollTimeout::from(patience)) {
        Ok(_) => {}
        Err(Errno::EINTR) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    }
    let found = polled[0].revents().unwrap_or(PollFlags::empty());
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let mut keys = vec![0; 4096];
    let count = nix::unistd::read(stdin.as_fd(), &mut keys)?;
    if count == 0 || found.intersects(PollFlags::POLLHUP | PollFlags::POLLERR) {
        return Err(ErrorKind::BrokenPipe.into());
    }
    keys.truncate(count);
    Ok(keys)
}

/// The usual size if the terminal has none.
fn size() -> TerminalSize {
    let (Width(columns), Height(rows)) =
        terminal_size_of(io::stdin()).unwrap_or((Width(80), Height(24)));
    TerminalSize { rows, columns }
}

/// A terminal in raw mode; restored on drop.
#[derive(Debug)]
struct Raw;

impl Raw {
    fn take() -> io::Result<Self> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let _ = disable_raw_mode();
            before(panic);
        }));
        enable_raw_mode().map(|()| Self)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // If the terminal is gone, there is nothing to restore.
        let _ = disable_raw_mode();
    }
}

/// Virtual time no faster than the wall clock.
#[derive(Debug)]
struct Pace {
    /// The virtual time that is due at `due`.
    now: Instant,
    due: time::Instant,
}

/// How much a simulation that was slow for a moment may catch up.
const SLACK: time::Duration = time::Duration::from_millis(100);

impl Pace {
    const fn new(start: time::Instant) -> Self {
        Self { now: Instant::ZERO, due: start }
    }

    /// When `now` is due; the wall clock shows `wall`.
    fn due(&mut self, now: Instant, wall: time::Instant) -> time::Instant {
        self.due += lab::clock::system(now.since(self.now));
        self.now = now;
        // Lateness beyond that is dropped: virtual time never runs much faster than the wall clock.
        self.due = self.due.max(wall.checked_sub(SLACK).unwrap_or(self.due));
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_time_follows_the_wall_clock_and_never_makes_up_for_much() {
        let start = clock();
        let at = |ms| start + time::Duration::from_millis(ms);
        let mut pace = Pace::new(start);
        let mut due = |now, wall| pace.due(Instant::ZERO + base::Duration::from_ms(now), at(wall));
        assert_eq!(due(20, 1), at(20));
        assert_eq!(due(40, 21), at(40));
        // A little late: the next times are due as if nothing had happened.
        assert_eq!(due(60, 90), at(60));
        assert_eq!(due(80, 91), at(80));
        // A second late: virtual time stays that much behind from here on.
        assert_eq!(due(100, 1_100), at(1_000));
        assert_eq!(due(220, 1_101), at(1_120));
    }
}
