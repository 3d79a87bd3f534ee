//! What the options of Suimon's module say of a discipline and of its classes.

use base::Rate;
use traffic::qdisc::Parameters;
use traffic_kernel::{netlink, table};

use crate::wire::{attributes, long, text};

/// The name of the class whose part of the table is in the options: its first line is `class NAME`.
pub(super) fn class_name(options: &[u8]) -> Option<String> {
    let table = text(&value(options, netlink::TABLE)?);
    table.lines().next()?.strip_prefix("class ").map(str::to_owned)
}

/// The settings of a discipline, and the rate of its line.
pub(super) fn settings(options: &[u8]) -> Option<(Parameters, Rate)> {
    let parameters = table::read(&text(&value(options, netlink::TABLE)?)).ok()?;
    let line = Rate::from_bits_per_second(long(&value(options, netlink::RATE)?, 0))?;
    Some((parameters, line))
}

fn value(options: &[u8], wanted: u16) -> Option<Vec<u8>> {
    attributes(options).into_iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value)
}
