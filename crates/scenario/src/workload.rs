//! Workloads as they stand in the file: what a flow's programs do, beyond writing as much as they can, and how the
//! receiving one reads. What can be set of each, its parameters say.

use network::bulk::Train;
use network::datagram;
use network::event_builder::Readout;
use network::exchange::{Exchange, Ping};
use network::sink::Reader;
use network::workload::Workload;
use traffic::setting::Settings;

use crate::diagnostic::{Problems, Span};
use crate::file::Flow;
use crate::lock::line;
use crate::setting::{Declared, Named, written};

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

impl Named for datagram::Config {
    const NAME: &'static str = "Datagrams";
}

impl Named for Reader {
    const NAME: &'static str = "Read";
}

/// What the flow's programs do.
pub(crate) fn read(table: &Flow, problems: &mut Problems) -> Option<Workload> {
    let flow = &table.from.span;
    if let Some(events) = &table.events {
        return read_events(events, table, problems).map(Workload::Events);
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

/// What the flow's sources of events do. What `load` makes of the triggers, the network says.
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
            let help = "leave out one: a load says how far apart the triggers are";
            problems.push(&load.span, "`load` beside `every`", help);
            return None;
        }
        _ => {}
    }
    Some(readout)
}

/// Where an exchange stands.
fn place(exchange: &Declared<Exchange>) -> &Span {
    exchange.span_of("request").unwrap_or(&exchange.span)
}

/// Complains of what has no meaning beside requests and their responses.
fn answered(workload: &Span, name: &str, table: &Flow, problems: &mut Problems) {
    for (given, key) in
        [(table.settings.1.span_of("bytes").is_some(), "bytes"), (table.read.is_some(), "read")]
    {
        if given {
            beside(workload, key, name, problems);
        }
    }
}

/// Complains of a key beside a workload that it has no meaning for.
fn beside(workload: &Span, key: &str, name: &str, problems: &mut Problems) {
    let message = format!("`{key}` beside {name}");
    let (_, word) = name.split_once(' ').unwrap_or(("", name));
    problems.push(workload, message, format!("leave out {key}, or {word}"));
}

/// Its lines in a lock file.
pub(crate) fn write(workload: &Workload, text: &mut String) {
    let (table, settings): (_, &dyn Settings) = match workload {
        Workload::Bulk => return,
        Workload::Train(train) => ("train", train),
        Workload::Exchange(exchange) => ("exchange", exchange),
        Workload::Ping(ping) => ("ping", ping),
        Workload::Events(readout) => ("events", readout),
    };
    for (name, value) in written(settings) {
        line(text, &format!("{table}.{name}"), &value);
    }
}
