//! `[emulator.NAME]`: a WAN emulator.

use network::emulator;
use network::node::Kind;
use schemars::JsonSchema;
use serde::Deserialize;
use traffic::{Bytes, Duration};

use super::Table;
use crate::diagnostic::Problems;
use crate::lock::{line, rate, size, time};
use crate::plan::Node;
use crate::resolve::link_rate;
use crate::value::{Quantity, RateUnit, SizeUnit, TimeUnit};

/// A WAN emulator: each of its output ports has this bandwidth limit, delay and drop-tail buffer.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Emulator {
    /// Bandwidth limit, counting frame bytes without preamble and gap.
    pub(crate) rate: Quantity<RateUnit>,
    /// Delay, one way; 0 unless given.
    pub(crate) delay: Option<Quantity<TimeUnit>>,
    /// Drop-tail buffer.
    pub(crate) buffer: Quantity<SizeUnit>,
}

impl Table for Emulator {
    fn kind(&self, problems: &mut Problems) -> Option<Kind> {
        config(self, problems).map(Kind::Emulator)
    }
}

fn config(table: &Emulator, problems: &mut Problems) -> Option<emulator::Config> {
    let rate = link_rate(&table.rate, problems);
    let delay = match &table.delay {
        Some(quantity) => quantity.read(problems),
        None => Some(Duration::ZERO),
    };
    let buffer = table.buffer.read(problems);
    if buffer == Some(Bytes(0)) {
        let help = "give it room for at least one packet: \"512 KiB\"";
        problems.push(&table.buffer.span, "a queue of zero drops every packet", help);
        return None;
    }
    Some(emulator::Config { rate: rate?, delay: delay?, buffer: buffer? })
}

pub(super) fn write(config: &emulator::Config, _: &[Node], text: &mut String) {
    line(text, "rate", &rate(config.rate));
    line(text, "delay", &time(config.delay));
    line(text, "buffer", &size(config.buffer));
}
