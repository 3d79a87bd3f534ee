//! Workloads as written in the file: the traffic of a flow's programs other than bulk, and the reading of the
//! receiver. Their parameters declare the settings.

use network::bulk::Train;
use network::datagram;
use network::event_builder::Readout;
use network::exchange::{Exchange, Ping};
use network::mpi::Library;
use network::mpi::program::{Program, Steps};
use network::mpi::rank::Job;
use network::sink::Reader;
use network::workload::Workload;
use traffic::setting::Settings;

use crate::diagnostic::{Problems, Span};
use crate::file::{Flow, Mpi};
use crate::included::{self, Files};
use crate::literal::{line, string};
use crate::mpi;
use crate::setting::{Declared, Named, written};
use crate::value::{Count, Name};

impl Named for Train {
    const NAME: &'static str = "Train";
}

impl Named for Exchange {
    const NAME: &'static str = "Exchange";
}

impl Named for Ping {
    const NAME: &'static str = "Ping";
}

impl Named for Readout {
    const NAME: &'static str = "Events";
}

impl Named for Library {
    const NAME: &'static str = "Mpi";
}

impl Named for datagram::Config {
    const NAME: &'static str = "Datagrams";
}

impl Named for Reader {
    const NAME: &'static str = "Read";
}

/// The workload of the flow's programs.
pub(crate) fn read(table: &Flow, files: &Files, problems: &mut Problems) -> Option<Workload> {
    let flow = &table.from.span;
    if let Some(events) = &table.events {
        return read_events(events, table, problems).map(Workload::Events);
    }
    if let Some(mpi) = &table.mpi {
        return read_mpi(mpi, table, files, problems).map(Workload::Mpi);
    }
    match (&table.train, &table.exchange, &table.ping) {
        (None, None, None) => Some(Workload::Bulk),
        (Some(train), None, None) => train.read(problems).map(Workload::Train),
        (None, Some(exchange), None) => {
            answered(place(exchange), "an exchange", table, problems);
            let read = exchange.read(problems)?;
            exchange.accept(read.check(), problems)?;
            Some(Workload::Exchange(read))
        }
        (None, None, Some(ping)) => {
            answered(flow, "a ping", table, problems);
            ping.read(problems).map(Workload::Ping)
        }
        (Some(_), Some(exchange), _) => {
            beside(place(exchange), "train", "an exchange", problems);
            None
        }
        (train, _, Some(_)) => {
            let key = if train.is_some() { "train" } else { "exchange" };
            beside(flow, key, "a ping", problems);
            None
        }
    }
}

/// The workload of the flow's sources of events. With `load` the network determines the triggers.
fn read_events(
    events: &Declared<Readout>,
    table: &Flow,
    problems: &mut Problems,
) -> Option<Readout> {
    let place = events.span_of("fragment").unwrap_or(&events.span);
    let others = [
        (table.train.is_some(), "train"),
        (table.exchange.is_some(), "exchange"),
        (table.ping.is_some(), "ping"),
    ];
    if let Some((_, key)) = others.into_iter().find(|(given, _)| *given) {
        beside(place, key, "events", problems);
        return None;
    }
    answered(place, "events", table, problems);
    let readout = events.read(problems)?;
    events.accept(readout.check(), problems)?;
    match (&readout.every, &table.load) {
        (None, None) => {
            let help = "add `every = \"exponential 1 ms\"` to the events, or `load = \"50 %\"` to the flow";
            problems.push(place, "events without triggers", help);
            return None;
        }
        (Some(_), Some(load)) => {
            let help = "remove one of them: `load` sets the time between triggers";
            problems.push(&load.span, "`load` and `every` are mutually exclusive", help);
            return None;
        }
        _ => {}
    }
    Some(readout)
}

/// The workload of the flow's hosts as ranks of an MPI job.
fn read_mpi(mpi: &Mpi, table: &Flow, files: &Files, problems: &mut Problems) -> Option<Job> {
    let others = [
        (table.train.is_some(), "train"),
        (table.exchange.is_some(), "exchange"),
        (table.ping.is_some(), "ping"),
        (table.events.is_some(), "events"),
        (table.load.is_some(), "load"),
        (table.settings.1.span_of("stop").is_some(), "stop"),
    ];
    if let Some((_, key)) = others.into_iter().find(|(given, _)| *given) {
        beside(mpi.span(), key, "mpi", problems);
        return None;
    }
    answered(mpi.span(), "mpi", table, problems);
    let library = mpi.settings.read(problems);
    let program = program(mpi, files, problems);
    let (library, program) = (library?, program?);
    mpi.settings.accept(library.check(), problems)?;
    Some(Job { library, program })
}

/// The program of the ranks.
fn program(mpi: &Mpi, files: &Files, problems: &mut Problems) -> Option<Program> {
    let steps = match (&mpi.steps, &mpi.trace) {
        (Some(steps), None) => steps,
        (None, Some(name)) => return recorded(name, mpi, files, problems),
        (Some(_), Some(_)) => {
            problems.push(
                mpi.span(),
                "`steps` and `trace` are mutually exclusive",
                "remove one of them",
            );
            return None;
        }
        (None, None) => {
            let help =
                "add `steps = \"compute 10 ms, alltoall 32 KiB\"`, or `trace = \"mpi file:NAME\"`";
            problems.push(mpi.span(), "an MPI job without steps or a trace", help);
            return None;
        }
    };
    let iterations = match &mpi.iterations {
        Some(Count { value: 0, span }) => {
            problems.push(span, "no iterations", "give at least 1");
            return None;
        }
        Some(count) => count.value,
        None => 1,
    };
    let steps = steps.read(problems)?.into();
    Some(Program::Steps(Steps { steps, iterations }))
}

/// A recorded program.
fn recorded(name: &Name, mpi: &Mpi, files: &Files, problems: &mut Problems) -> Option<Program> {
    if let Some(iterations) = &mpi.iterations {
        problems.push(
            &iterations.span,
            "`iterations` and `trace` are mutually exclusive",
            "remove it: a trace runs once",
        );
        return None;
    }
    let Some((included::TRACE, file)) = included::named(&name.text) else {
        let help = "write \"mpi file:NAME\", with a file that `suimon mpi record` wrote";
        problems.push(&name.span, format!("invalid trace `{}`", name.text), help);
        return None;
    };
    let trace = files.traces.get(file);
    if trace.is_none() {
        let help = "load the scenario from its own file: the name is relative to its folder";
        problems.push(
            &name.span,
            format!("cannot load the file `{file}`: its contents were not provided"),
            help,
        );
    }
    trace.cloned().map(Program::Recorded)
}

/// The place of an exchange.
fn place(exchange: &Declared<Exchange>) -> &Span {
    exchange.span_of("request").unwrap_or(&exchange.span)
}

/// Reports keys without a meaning for requests and responses.
fn answered(workload: &Span, name: &str, table: &Flow, problems: &mut Problems) {
    for (given, key) in
        [(table.settings.1.span_of("bytes").is_some(), "bytes"), (table.read.is_some(), "read")]
    {
        if given {
            beside(workload, key, name, problems);
        }
    }
}

/// Reports a key that cannot be combined with a workload.
fn beside(workload: &Span, key: &str, name: &str, problems: &mut Problems) {
    let message = format!("`{key}` cannot be combined with {name}");
    let (_, word) = name.split_once(' ').unwrap_or(("", name));
    problems.push(workload, message, format!("remove {key}, or {word}"));
}

/// Its table within a flow's, and its settings; `None` for bulk.
pub(crate) fn settings(workload: &Workload) -> Option<(&'static str, &dyn Settings)> {
    match workload {
        Workload::Bulk => None,
        Workload::Train(train) => Some(("train", train)),
        Workload::Exchange(exchange) => Some(("exchange", exchange)),
        Workload::Ping(ping) => Some(("ping", ping)),
        Workload::Events(readout) => Some(("events", readout)),
        Workload::Mpi(job) => Some(("mpi", &job.library)),
    }
}

/// Writes its lines of a lock file.
pub(crate) fn write(workload: &Workload, text: &mut String) {
    let Some((table, settings)) = settings(workload) else { return };
    if let Workload::Mpi(job) = workload {
        match &job.program {
            Program::Steps(steps) => {
                line(text, "mpi.steps", &string(&mpi::text(&steps.steps)));
                line(text, "mpi.iterations", &steps.iterations.to_string());
            }
            Program::Recorded(recorded) => {
                let (trace, folder) = (included::TRACE, mpi::TRACES);
                let file = format!("{trace} file:{folder}/{}", recorded.file_name());
                line(text, "mpi.trace", &string(&file));
            }
        }
    }
    for (name, value) in written(settings) {
        line(text, &format!("{table}.{name}"), &value);
    }
}
