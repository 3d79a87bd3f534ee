//! The terminal during the view: set up, updated, and restored however the view ends.

use std::io::{self, Stdout};
use std::os::fd::AsFd;
use std::panic;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::thread;
use std::time;

use base::{Duration, Instant};
use experiment::Error;
use experiment::statistics::Statistics;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use record::meter::clock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::palette::Palette;
use super::screen;
use super::view::{View, Wish};
use super::{PACE_MIN, gone};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use experiment::top::history::{History, LOOKS};
use experiment::top::replay::Replay;
use experiment::top::socket::Answered;
use experiment::top::source::{Live, Source};

/// Interval between checks for keys and signals.
const GLANCE_MS: u8 = 50;
/// Number of steps that show a whole finished run.
const STEPS: u64 = 120;
/// Interval between these steps.
const PACE: time::Duration = time::Duration::from_millis(250);

/// A terminal with the alternate screen and in raw mode; restored on drop.
struct Taken(Terminal<CrosstermBackend<Stdout>>);

impl Taken {
    fn take() -> io::Result<Self> {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
        // On an error, the setup is undone.
        let taken = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())));
        taken.map(Self).inspect_err(|_| give_back())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Restores the terminal.
fn give_back() {
    // If the terminal is gone, there is nothing to restore.
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

/// Shows `source` until the user quits.
pub(super) fn show(
    source: Source,
    target: &Path,
    every: Option<Duration>,
    at: Option<Duration>,
) -> Result<Exit, Failure> {
    let failed = || failure::file(Path::new("terminal"));
    let over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&over)).map_err(failed())?;
    }
    let mut view = View::default();
    let mut updates = Updates::new(source, target, every, at, &mut view);
    let palette = Palette::of_environment();
    let mut terminal = Taken::take().map_err(failed())?;
    let mut changed = true;
    while !over.load(Ordering::Relaxed) {
        changed |= updates.serve(&mut view)?;
        if changed {
            terminal.0.draw(|frame| screen::draw(frame, &view, palette)).map_err(failed())?;
        }
        changed = false;
        match glance().map_err(failed())? {
            Glance::Gone => break,
            Glance::Nothing => continue,
            Glance::Event => {}
        }
        changed = true;
        let Event::Key(key) = event::read().map_err(failed())? else { continue };
        if key.kind != KeyEventKind::Press {
            continue;
        }
        match view.key(key) {
            Wish::Quit => return Ok(Exit::Fine),
            wish => updates.handle(wish, &mut view),
        }
    }
    Ok(Exit::Interrupted)
}

/// The result of a check of the terminal.
enum Glance {
    /// A key press or a resize.
    Event,
    Nothing,
    /// The terminal was closed.
    Gone,
}

/// Waits briefly for a key. Checks first whether the terminal is closed: crossterm would wait for its next key
/// forever.
fn glance() -> io::Result<Glance> {
    let stdin = io::stdin();
    let mut keys = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
    match poll(&mut keys, PollTimeout::from(GLANCE_MS)) {
        // Interrupted by a signal, such as the one for a resize.
        Ok(_) | Err(Errno::EINTR) => {}
        Err(error) => return Err(error.into()),
    }
    let found = keys[0].revents().unwrap_or(PollFlags::empty());
    if found.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL) {
        return Ok(Glance::Gone);
    }
    let event = event::poll(time::Duration::ZERO)?;
    Ok(if event { Glance::Event } else { Glance::Nothing })
}

/// The source of updates for the view.
enum Updates {
    /// A live source, queried by a thread of its own.
    Asked { answers: Receiver<Result<Option<Statistics>, Error>>, name: String },
    /// A recorded run.
    Played(Box<Player>),
}

impl Updates {
    fn new(
        source: Source,
        target: &Path,
        every: Option<Duration>,
        at: Option<Duration>,
        view: &mut View,
    ) -> Self {
        match source {
            Source::Live(live) => {
                let pace = lab::clock::system(every.unwrap_or(Duration::from_ms(1_000)));
                Self::Asked { answers: ask(live, target, pace), name: gone(target) }
            }
            Source::Replay(replay) => {
                view.recorded = true;
                let step = every.unwrap_or_else(|| replay.step(STEPS));
                let pace = every.map_or(PACE, lab::clock::system).max(PACE_MIN);
                let now = Instant::ZERO + at.unwrap_or(Duration::ZERO);
                let now = now.min(replay.end());
                let player = Player { replay, now, step, pace, shown: clock() };
                player.show_anew(view);
                // A user who gives a time wants to look at it.
                view.paused = at.is_some();
                Self::Played(Box::new(player))
            }
        }
    }

    /// Shows the next update; false if there is none.
    fn serve(&mut self, view: &mut View) -> Result<bool, Failure> {
        match self {
            Self::Asked { answers, name } if view.ended.is_none() => match answers.try_recv() {
                Ok(answer) => {
                    match answer? {
                        Some(now) if !view.paused => view.look(now),
                        Some(_) => {}
                        None => view.ended = Some(name.clone()),
                    }
                    Ok(true)
                }
                Err(TryRecvError::Disconnected) => {
                    view.ended = Some(name.clone());
                    Ok(true)
                }
                Err(TryRecvError::Empty) => Ok(false),
            },
            Self::Asked { .. } => Ok(false),
            Self::Played(player) => Ok(player.serve(view)),
        }
    }

    fn handle(&mut self, wish: Wish, view: &mut View) {
        if let Self::Played(player) = self {
            player.handle(wish, view);
        }
    }
}

/// Queries at that pace, until the view closes or the source ends.
fn ask(
    mut live: Live,
    target: &Path,
    pace: time::Duration,
) -> Receiver<Result<Option<Statistics>, Error>> {
    // At most one snapshot waits for the screen.
    let (sender, answers) = sync_channel(1);
    let target = target.to_owned();
    thread::spawn(move || {
        loop {
            let answer = live.ask(&target).map(|answered| match answered {
                Answered::Counters(now) => Some(*now),
                Answered::Gone => None,
            });
            let goes_on = matches!(answer, Ok(Some(_)));
            if sender.send(answer).is_err() || !goes_on {
                return;
            }
            thread::sleep(pace.max(PACE_MIN));
        }
    });
    answers
}

/// A recorded run during playback.
struct Player {
    replay: Box<Replay>,
    /// The recorded time on the screen.
    now: Instant,
    step: Duration,
    pace: time::Duration,
    /// The time when it was drawn.
    shown: time::Instant,
}

impl Player {
    /// Advances when it is due; false if it is not.
    fn serve(&mut self, view: &mut View) -> bool {
        if view.paused || self.shown.elapsed() < self.pace {
            return false;
        }
        self.shown = clock();
        if self.now >= self.replay.end() {
            view.paused = true;
        } else {
            self.now = (self.now + self.step).min(self.replay.end());
            view.look(self.replay.at(self.now, self.step));
        }
        true
    }

    fn handle(&mut self, wish: Wish, view: &mut View) {
        let end = self.replay.end();
        self.now = match wish {
            Wish::Begin => Instant::ZERO,
            Wish::End => end,
            Wish::Step(steps) if steps < 0 => self.back(self.now, steps.unsigned_abs().into()),
            Wish::Step(steps) => (self.now + self.step.times(steps.unsigned_abs().into())).min(end),
            Wish::Nothing | Wish::Quit => return,
        };
        // A user who navigates does not want the time to advance.
        view.paused = true;
        self.show_anew(view);
    }

    fn back(&self, from: Instant, steps: u64) -> Instant {
        Instant::ZERO + from.since(Instant::ZERO + self.step.times(steps))
    }

    /// Shows a time that does not follow the last one, with the history before it.
    fn show_anew(&self, view: &mut View) {
        view.history = History::default();
        for steps in (0..LOOKS as u64).rev() {
            let behind = self.step.times(steps);
            if Instant::ZERO + behind <= self.now {
                view.look(self.replay.at(self.back(self.now, steps), self.step));
            }
        }
    }
}
