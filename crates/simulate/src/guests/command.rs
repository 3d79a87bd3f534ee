//! A command in a host with a kernel, on the scenario's network without its flows.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use base::{Fault, Instant};
use engine::Engines;
use guest::network;
use guest::{CARDS_MAX, Error, ProgramTap};
use record::Steering;
use record::guest::{Command, ERRORS, INPUT, OUTPUT, Typed};
use record::totals::FlowTotals;
use scenario::Plan;

use super::{Exited, Guests, Options, work};
use crate::run::{Simulation, drive};

/// Where a command's output goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output, or its terminal.
    Output,
    /// Standard error.
    Errors,
}

/// The console of a command.
pub trait Console {
    /// Shows output of the command.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenPipe`] if the output has no reader any more, which ends the command.
    fn show(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()>;

    /// Returns the input typed since the last call; the simulation has reached `now`. A console that paces the
    /// simulation waits here.
    ///
    /// # Errors
    /// [`ErrorKind::BrokenPipe`] if the terminal is gone, which ends the command.
    fn typed(&mut self, now: Instant) -> io::Result<Vec<Typed>>;
}

/// How a run of a command ended.
#[derive(Debug)]
pub enum Ending {
    /// The command ended.
    Exited(Exited),
    /// The command's output lost its reader.
    Unread,
    /// It was interrupted.
    Interrupted,
    /// The simulation reached its maximum time, 213 days.
    Never,
}

/// Runs `command` in a host of `plan` with a kernel, without the plan's flows but with its hosts' programs, which
/// it waits for until they listen. The command reads `input` unless it has a terminal.
///
/// # Errors
/// A plan that it refuses, guests that do not start, or break.
pub fn run_command(
    plan: &Plan,
    options: Options<'_>,
    (command, input): (&Command, &[u8]),
    console: &mut impl Console,
    interrupted: &AtomicBool,
) -> Result<Ending, Fault> {
    let place = network::sockets(plan, CARDS_MAX)
        .iter()
        .position(|cards| cards.iter().any(|card| card.node == command.node))
        .ok_or_else(|| {
            let name = &plan.nodes[command.node].name;
            Fault::usage(format!("the host `{name}` has no `kernel`, or no link"), "")
        })?;
    let mut guests = Guests::start(plan, options, Some(command), ())?;
    let folder = work(guests.folder.path(), place);
    let write = fs::write(folder.join(INPUT), input);
    write.map_err(Error::system("write the command's input"))?;
    guests.wait_until_ready(interrupted)?;
    let streams = [OUTPUT, ERRORS].map(|name| Tail { path: folder.join(name), read: 0 });
    let mut simulation = CommandRun { guests, place, folder, streams, typed: 0, console };
    let steering = Steering { interrupted, progress: &|_| () };
    match drive(&plan.by_hand(), &mut simulation, steering).failure {
        Some(Stop::Ended(ending)) => Ok(ending),
        Some(Stop::Failed(error)) => Err(error.into()),
        None if interrupted.load(Ordering::Relaxed) => Ok(Ending::Interrupted),
        None => Ok(Ending::Never),
    }
}

/// Why the simulation stops.
enum Stop {
    Ended(Ending),
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// Guests with a command running in one of them, and the command's console.
struct CommandRun<'a, C> {
    guests: Guests<()>,
    /// The guest of the command.
    place: usize,
    /// The folder shared with that guest.
    folder: PathBuf,
    streams: [Tail; 2],
    /// The number of input files written so far.
    typed: u64,
    console: &'a mut C,
}

impl<C: Console> CommandRun<'_, C> {
    /// Passes on the output of the command, and how it ended if it has.
    fn listen(&mut self) -> Result<(), Stop> {
        for (tail, stream) in self.streams.iter_mut().zip([Stream::Output, Stream::Errors]) {
            let more = tail.more().map_err(Error::system("read the command's output"))?;
            if !more.is_empty() {
                self.console.show(stream, &more).map_err(gone)?;
            }
        }
        let exited = self.guests.inboxes[self.place].exited.take();
        exited.map_or(Ok(()), |exited| Err(Stop::Ended(Ending::Exited(exited))))
    }

    /// Passes the input typed until `now` to the command.
    fn type_in(&mut self, now: Instant) -> Result<(), Stop> {
        for typed in self.console.typed(now).map_err(gone)? {
            self.write(&typed).map_err(Error::system("write the typed input"))?;
            self.typed += 1;
        }
        Ok(())
    }

    /// Writes the file atomically: the guest reads it as soon as it exists.
    fn write(&self, typed: &Typed) -> io::Result<()> {
        let (new, path) =
            (self.folder.join("typed.new"), self.folder.join(Typed::file(self.typed)));
        fs::write(&new, serde_json::to_vec(typed)?)?;
        fs::rename(new, path)
    }
}

/// The stop for a console that failed.
fn gone(error: io::Error) -> Stop {
    match error.kind() {
        ErrorKind::BrokenPipe => Stop::Ended(Ending::Unread),
        _ => Stop::Failed(Error::system("use the terminal")(error)),
    }
}

impl<C: Console> Simulation<ProgramTap<()>> for CommandRun<'_, C> {
    type Failure = Stop;

    fn advance(&mut self, now: Instant) -> Result<bool, Stop> {
        let advanced = self.guests.advance(now);
        // A guest ends after its command.
        self.listen()?;
        let reached = advanced?;
        let now = self.guests.network.parts().0.now();
        self.type_in(now)?;
        Ok(reached)
    }

    fn sample(&mut self, plan: &Plan, now: Instant) {
        self.guests.sample(plan, now);
    }

    fn add_counts(&self, flows: &mut [FlowTotals]) {
        self.guests.add_counts(flows);
    }

    fn engines(&mut self) -> Engines<'_, ProgramTap<()>> {
        self.guests.engines()
    }
}

/// A file that the guest writes; data that was read is discarded.
struct Tail {
    path: PathBuf,
    /// How much of it was read.
    read: u64,
}

impl Tail {
    /// The data since the last call.
    fn more(&mut self) -> io::Result<Vec<u8>> {
        let mut more = Vec::new();
        let mut file = match File::options().read(true).write(true).open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(more),
            file => file?,
        };
        file.seek(SeekFrom::Start(self.read))?;
        if file.read_to_end(&mut more)? > 0 {
            self.read += more.len() as u64;
            // The guest continues at its position: the part before that is a hole, which takes no space.
            file.set_len(0)?;
        }
        Ok(more)
    }
}
