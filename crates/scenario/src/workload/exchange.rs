//! `[flow.NAME.exchange]`: requests and responses in turn.

use network::exchange::{self, Pace};
use schemars::JsonSchema;
use serde::Deserialize;
use traffic::{Bytes, Distribution, Duration};

use super::beside;
use crate::diagnostic::{Problems, Span};
use crate::distribution;
use crate::file::Flow;
use crate::lock::{line, string, time};
use crate::value::{Count, Quantity, RandomSizeUnit, RandomTimeUnit, TimeUnit};

/// Requests of the sending host, and responses of the receiving one.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exchange {
    /// A request's size; one that is drawn is drawn for each.
    request: Quantity<RandomSizeUnit>,
    /// A response's size, likewise.
    response: Quantity<RandomSizeUnit>,
    /// From one request to the next, which waits for the response in any case; at once unless given.
    every: Option<Quantity<TimeUnit>>,
    /// From a response to the next request, in place of `every`: the time that a user thinks.
    think: Option<Quantity<RandomTimeUnit>>,
    /// After so many responses the connection is closed; without end unless given.
    count: Option<Count>,
}

impl Exchange {
    pub(super) const fn span(&self) -> &Span {
        &self.request.span
    }

    pub(super) fn read(&self, table: &Flow, problems: &mut Problems) -> Option<exchange::Exchange> {
        for (given, key) in [(table.bytes.is_some(), "bytes"), (table.read.is_some(), "read")] {
            if given {
                beside(self.span(), key, "an exchange", problems);
            }
        }
        let (request, response) = (self.request.read(problems), self.response.read(problems));
        for (size, quantity) in [(&request, &self.request), (&response, &self.response)] {
            if *size == Some(Distribution::Fixed(Bytes(0))) {
                let help = "give its size: \"1 KiB\"";
                problems.push(&quantity.span, "a message of nothing", help);
            }
        }
        if let Some(Count { value: 0, span }) = &self.count {
            problems.push(span, "an exchange without requests", "give at least 1");
        }
        let pace = self.pace(problems);
        let count = self.count.as_ref().map(|count| count.value);
        Some(exchange::Exchange { request: request?, response: response?, pace: pace?, count })
    }

    fn pace(&self, problems: &mut Problems) -> Option<Pace> {
        match (&self.every, &self.think) {
            (None, None) => Some(Pace::Think(Distribution::Fixed(Duration::ZERO))),
            (Some(every), None) => Some(Pace::Every(every.interval(problems)?)),
            (None, Some(think)) => Some(Pace::Think(think.read(problems)?)),
            (Some(_), Some(think)) => {
                let help = "leave out one: every counts from the request, think from the response";
                problems.push(&think.span, "`think` beside `every`", help);
                None
            }
        }
    }
}

pub(super) fn write(exchange: &exchange::Exchange, text: &mut String) {
    if let Pace::Clock(every) = exchange.pace {
        return super::ping::write(exchange, every, text);
    }
    line(text, "exchange.request", &string(&distribution::text(&exchange.request)));
    line(text, "exchange.response", &string(&distribution::text(&exchange.response)));
    match &exchange.pace {
        Pace::Every(every) => line(text, "exchange.every", &time(*every)),
        Pace::Clock(_) | Pace::Think(Distribution::Fixed(Duration::ZERO)) => {}
        Pace::Think(think) => {
            line(text, "exchange.think", &string(&distribution::text(think)));
        }
    }
    if let Some(count) = exchange.count {
        line(text, "exchange.count", &count.to_string());
    }
}
