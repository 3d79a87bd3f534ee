//! `[flow.NAME.train]`: messages with silence between.

use network::bulk;
use schemars::JsonSchema;
use serde::Deserialize;
use traffic::{Bytes, Duration};

use crate::diagnostic::Problems;
use crate::lock::{line, size, time};
use crate::value::{Quantity, SizeUnit, TimeUnit};

/// A message every so often.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Train {
    /// A message's size.
    message: Quantity<SizeUnit>,
    /// From the start of one message to the start of the next.
    every: Quantity<TimeUnit>,
}

impl Train {
    pub(super) fn read(&self, problems: &mut Problems) -> Option<bulk::Train> {
        let message = self.message.read(problems);
        let every = self.every.interval(problems);
        if message == Some(Bytes(0)) {
            let help = "give its size: \"1 MB\"";
            problems.push(&self.message.span, "a message of nothing", help);
        }
        if every == Some(Duration::ZERO) {
            let help = "give the time from message to message: \"100 ms\"";
            problems.push(&self.every.span, "messages without time between", help);
        }
        Some(bulk::Train { message: message?, every: every? })
    }
}

pub(super) fn write(train: &bulk::Train, text: &mut String) {
    line(text, "train.message", &size(train.message));
    line(text, "train.every", &time(train.every));
}
