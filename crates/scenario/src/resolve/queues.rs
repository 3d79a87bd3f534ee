//! Queueing disciplines: from the file's table to the discipline's parameters.

use traffic::qdisc::{self, fifo};
use traffic::{Bytes, Port};

use crate::diagnostic::Problems;
use crate::file::{Fifo, Queue};

/// The parameters of a queue at a port; what the discipline itself refuses is among the problems.
pub(super) fn resolve(
    queue: Option<&Queue>,
    _port: Port,
    problems: &mut Problems,
) -> Option<qdisc::Parameters> {
    match queue {
        None => Some(qdisc::Parameters::Fifo(fifo::Parameters::default())),
        Some(Queue::Fifo(table)) => fifo(table, problems).map(qdisc::Parameters::Fifo),
    }
}

/// A limit that is not given does not apply; with none given, the discipline's default.
pub(super) fn fifo(table: &Fifo, problems: &mut Problems) -> Option<fifo::Parameters> {
    if table.packets.is_none() && table.bytes.is_none() {
        return Some(fifo::Parameters::default());
    }
    let help = "give it room for at least one packet";
    let mut zero = |span| problems.push(span, "a queue of zero drops every packet", help);
    let limit_packets = table.packets.as_ref().map_or(u64::MAX, |packets| packets.value);
    if limit_packets == 0 {
        table.packets.iter().for_each(|packets| zero(&packets.span));
    }
    let limit_bytes = match &table.bytes {
        Some(bytes) => bytes.read(problems)?,
        None => Bytes(u64::MAX),
    };
    if limit_bytes.0 == 0 {
        let help = "give it room for at least one packet: \"512 KiB\"";
        let queue = table.bytes.iter();
        queue.for_each(|b| problems.push(&b.span, "a queue of zero drops every packet", help));
    }
    (limit_packets > 0 && limit_bytes.0 > 0)
        .then_some(fifo::Parameters { limit_bytes, limit_packets })
}
