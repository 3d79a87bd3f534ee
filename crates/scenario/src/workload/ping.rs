//! `[flow.NAME.ping]`: small requests by the clock, for the latency that they meet.

use network::exchange::{Exchange, Pace};
use schemars::JsonSchema;
use serde::Deserialize;
use traffic::{Bytes, Distribution, Duration};

use super::beside;
use crate::diagnostic::{Problems, Span};
use crate::file::Flow;
use crate::lock::{line, size, time};
use crate::value::{Count, Quantity, SizeUnit, TimeUnit};

const EVERY: Duration = Duration::from_ms(100);
const SIZE: Bytes = Bytes(64);

/// Requests and responses of one size on a connection of their own, each sent when its time comes, without Nagle's
/// algorithm.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ping {
    /// From one request to the next, whether or not its response came; 100 ms unless given.
    every: Option<Quantity<TimeUnit>>,
    /// The size of a request, and of its response; 64 B unless given.
    size: Option<Quantity<SizeUnit>>,
    /// After so many responses the connection is closed; without end unless given.
    count: Option<Count>,
}

impl Ping {
    pub(super) fn read(
        &self,
        flow: &Span,
        table: &Flow,
        problems: &mut Problems,
    ) -> Option<Exchange> {
        for (given, key) in [(table.bytes.is_some(), "bytes"), (table.read.is_some(), "read")] {
            if given {
                beside(flow, key, "a ping", problems);
            }
        }
        let every = self.every.as_ref().map_or(Some(EVERY), |every| {
            let time = every.interval(problems)?;
            if time == Duration::ZERO {
                let help = "give the time from request to request: \"100 ms\"";
                problems.push(&every.span, "requests without time between", help);
            }
            Some(time)
        });
        let size = self.size.as_ref().map_or(Some(SIZE), |size| {
            let bytes = size.read(problems)?;
            if bytes == Bytes(0) {
                problems.push(&size.span, "a message of nothing", "give its size: \"64 B\"");
            }
            Some(bytes)
        });
        if let Some(Count { value: 0, span }) = &self.count {
            problems.push(span, "a ping without requests", "give at least 1");
        }
        let size = Distribution::Fixed(size?);
        let count = self.count.as_ref().map(|count| count.value);
        Some(Exchange { request: size.clone(), response: size, pace: Pace::Clock(every?), count })
    }
}

/// Its lines in a lock file.
pub(super) fn write(ping: &Exchange, every: Duration, text: &mut String) {
    line(text, "ping.every", &time(every));
    if let Distribution::Fixed(bytes) = ping.request {
        line(text, "ping.size", &size(bytes));
    }
    if let Some(count) = ping.count {
        line(text, "ping.count", &count.to_string());
    }
}
