//! `suimon top`: rates of classes and flows, live or from a finished run, or of this machine. (The papers' authors used
//! `cbqmonitor` for this.)

mod columns;
mod palette;
mod plain;
mod screen;
mod terminal;
mod view;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::thread;
use std::time;

use base::{Duration, Instant};
use clap::Args;
use experiment::top::host::Host;
use experiment::top::replay::Replay;
use experiment::top::socket::Answered;
use experiment::top::source::{Live, Source};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Watch classes and flows of a run in progress, a finished run or a router
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder of a run in progress or finished, or a control socket [default: that of `suimon router`]
    #[arg(value_name = "RUN|SOCKET")]
    target: Option<PathBuf>,
    /// Show this machine's network devices, their qdiscs and classes, and its TCP connections by congestion control
    #[arg(long, conflicts_with_all = ["target", "at"])]
    host: bool,
    /// Interval between updates; in a finished run, of recorded time [default: 1 s]
    #[arg(long, value_name = "TIME", value_parser = every)]
    every: Option<Duration>,
    /// In a finished run, the time to start at
    #[arg(long, value_name = "TIME", value_parser = scenario::quantity::duration)]
    at: Option<Duration>,
    /// Print one snapshot as a table; of a finished run, the last one or that of --at
    #[arg(long)]
    once: bool,
    /// Print each snapshot as a line of JSON
    #[arg(long)]
    json: bool,
    /// End after N lines
    #[arg(long, value_name = "N", requires = "json", conflicts_with = "once")]
    count: Option<u64>,
}

/// Parses a time greater than zero.
pub(crate) fn every(text: &str) -> Result<Duration, String> {
    let time = scenario::quantity::duration(text).map_err(|error| error.to_string())?;
    if time == Duration::ZERO {
        Err("the time must be greater than 0, such as \"1 s\"".into())
    } else {
        Ok(time)
    }
}

impl Arguments {
    fn every(&self) -> Duration {
        self.every.unwrap_or(Duration::from_ms(1_000))
    }
}

/// The minimum interval: faster updates are unreadable, and could disturb a run.
const PACE_MIN: time::Duration = time::Duration::from_millis(50);

/// Shows the view, a table or JSON.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let target = match arguments.host {
        true => "this machine".into(),
        false => arguments.target.clone().unwrap_or_else(experiment::router::usual_path),
    };
    let source = match arguments.host {
        true => Source::Live(Live::Host(Host::open(lab::clock::system(arguments.every()))?)),
        false => Source::open(&target, arguments.target.is_some())?,
    };
    if arguments.at.is_some() && matches!(source, Source::Live(_)) {
        let help = "leave out --at, which is only for finished runs";
        return Err(Failure::usage(format!("{} is in progress", target.display()), help));
    }
    match (source, arguments.once) {
        (Source::Live(live), true) => once(arguments, live, &target),
        (Source::Replay(replay), true) => once_of(arguments, &replay),
        (Source::Live(live), false) if arguments.json => lines_of(arguments, live, &target),
        (Source::Replay(replay), false) if arguments.json => recorded_lines(arguments, &replay),
        (source, false) => {
            if !std::io::stdout().is_terminal() {
                let help = "use --once for a table, or --json for a line of JSON each second";
                return Err(Failure::usage("stdout is not a terminal", help));
            }
            terminal::show(source, &target, arguments.every, arguments.at)
        }
    }
}

/// Prints one snapshot of a running source.
fn once(arguments: &Arguments, mut live: Live, target: &Path) -> Result<Exit, Failure> {
    match live.ask(target)? {
        Answered::Counters(now) if arguments.json => output::print(&(plain::json(&now) + "\n"))?,
        Answered::Counters(now) => output::print(&plain::table(&now))?,
        Answered::Gone => output::note(&gone(target)),
    }
    Ok(Exit::Fine)
}

/// Prints one snapshot of a finished run.
fn once_of(arguments: &Arguments, replay: &Replay) -> Result<Exit, Failure> {
    let at = arguments.at.map_or(replay.end(), |at| Instant::ZERO + at);
    let now = replay.at(at, arguments.every());
    let text = if arguments.json { plain::json(&now) + "\n" } else { plain::table(&now) };
    output::print(&text)?;
    Ok(Exit::Fine)
}

/// Prints a line for each snapshot of a running source.
fn lines_of(arguments: &Arguments, mut live: Live, target: &Path) -> Result<Exit, Failure> {
    let pace = lab::clock::system(arguments.every()).max(PACE_MIN);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 {
        let Answered::Counters(now) = live.ask(target)? else {
            output::note(&gone(target));
            break;
        };
        left -= 1;
        if !output::print_more(&(plain::json(&now) + "\n"))? {
            break;
        }
        if left > 0 {
            thread::sleep(pace);
        }
    }
    Ok(Exit::Fine)
}

/// Prints a line for each step through a finished run, without delay.
fn recorded_lines(arguments: &Arguments, replay: &Replay) -> Result<Exit, Failure> {
    let step = arguments.every();
    let mut now = Instant::ZERO + arguments.at.unwrap_or(Duration::ZERO);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    while left > 0 && now <= replay.end() {
        let line = plain::json(&replay.at(now, step)) + "\n";
        if !output::print_more(&line)? {
            break;
        }
        now += step;
        left -= 1;
    }
    Ok(Exit::Fine)
}

/// The message at the end of a running source.
fn gone(target: &Path) -> String {
    format!("{} has ended", target.display())
}
