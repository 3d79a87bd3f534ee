//! Workloads as they stand in the file: what a flow's programs do, beyond writing as much as they can.

mod exchange;
mod ping;
mod train;

use network::workload::Workload;

use crate::diagnostic::{Problems, Span};
use crate::file::Flow;
pub(crate) use exchange::Exchange;
pub(crate) use ping::Ping;
pub(crate) use train::Train;

/// What the flow's programs do.
pub(crate) fn read(table: &Flow, problems: &mut Problems) -> Option<Workload> {
    match (&table.train, &table.exchange, &table.ping) {
        (None, None, None) => Some(Workload::Bulk),
        (Some(train), None, None) => train.read(problems).map(Workload::Train),
        (None, Some(exchange), None) => exchange.read(table, problems).map(Workload::Exchange),
        (None, None, Some(ping)) => {
            ping.read(&table.from.span, table, problems).map(Workload::Exchange)
        }
        (Some(_), Some(exchange), _) => {
            beside(exchange.span(), "train", "an exchange", problems);
            None
        }
        (train, _, Some(_)) => {
            let key = if train.is_some() { "train" } else { "exchange" };
            beside(&table.from.span, key, "a ping", problems);
            None
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
    match workload {
        Workload::Bulk => {}
        Workload::Train(train) => train::write(train, text),
        Workload::Exchange(exchange) => exchange::write(exchange, text),
    }
}
