//! `[expect]` and `[compare]` as they are written: what must come out, and how far runs may lie apart.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::tolerance::{NumberTolerance, PercentUnit, RateTolerance, SizeTolerance, TimeTolerance};
use crate::value::{NumberUnit, Quantity, RateUnit, RatioUnit, SizeUnit, Table, TimeUnit};

/// What must come out.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expect {
    /// By flow. A flow with a count stands for all its connections together.
    #[serde(default)]
    pub(crate) flow: Table<ExpectFlow>,
    /// By link. A link with a count stands for all that it made: for their drops together, and for the
    /// greatest of everything else.
    #[serde(default)]
    pub(crate) link: Table<ExpectLink>,
    /// By emulator.
    #[serde(default)]
    pub(crate) emulator: Table<ExpectEmulator>,
    /// Of the whole run.
    pub(crate) run: Option<ExpectRun>,
}

/// What must come out of a flow.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectFlow {
    /// What the receiving program got per second, between start and stop.
    pub(crate) goodput: Option<Bounds<Quantity<RateUnit>>>,
    /// What the receiving program got.
    pub(crate) bytes: Option<Bounds<Quantity<SizeUnit>>>,
    /// Segments sent again.
    pub(crate) retransmissions: Option<Bounds<Quantity<NumberUnit>>>,
    /// Retransmission timeouts.
    pub(crate) timeouts: Option<Bounds<Quantity<NumberUnit>>>,
    /// Packets dropped anywhere on the way.
    pub(crate) drops: Option<Bounds<Quantity<NumberUnit>>>,
    /// The mean one-way delay of its datagrams.
    pub(crate) delay_mean: Option<Bounds<Quantity<TimeUnit>>>,
    /// The longest one-way delay of its datagrams.
    pub(crate) delay_max: Option<Bounds<Quantity<TimeUnit>>>,
    /// Requests that were answered.
    pub(crate) exchanges: Option<Bounds<Quantity<NumberUnit>>>,
    /// The mean time from a request to the end of its response.
    pub(crate) response_mean: Option<Bounds<Quantity<TimeUnit>>>,
    /// The longest time from a request to the end of its response.
    pub(crate) response_max: Option<Bounds<Quantity<TimeUnit>>>,
}

/// What must come out of a link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectLink {
    /// Packets dropped, both directions.
    pub(crate) drops: Option<Bounds<Quantity<NumberUnit>>>,
    /// The share of the time that it was busy, of the busier direction.
    pub(crate) utilisation: Option<Bounds<Quantity<RatioUnit>>>,
    /// The longest that either queue ever was.
    pub(crate) queue_max: Option<Bounds<Quantity<SizeUnit>>>,
    /// What half of its packets waited at most before they left, to 6 %, at the end where that is longer.
    pub(crate) sojourn_p50: Option<Bounds<Quantity<TimeUnit>>>,
    /// What 99 of 100 of its packets waited at most before they left, to 6 %, at the end where that is longer.
    pub(crate) sojourn_p99: Option<Bounds<Quantity<TimeUnit>>>,
    /// The longest that a packet waited before it left, at either end.
    pub(crate) sojourn_max: Option<Bounds<Quantity<TimeUnit>>>,
    /// By class of the disciplines at its ends.
    #[serde(default)]
    pub(crate) class: Table<ExpectClass>,
}

/// What must come out of a class.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectClass {
    /// What it sent per second of the run, by frame bits (header and FCS counted, preamble and gap not), of
    /// the busier direction.
    pub(crate) rate: Option<Bounds<Quantity<RateUnit>>>,
    /// Packets dropped, both directions.
    pub(crate) drops: Option<Bounds<Quantity<NumberUnit>>>,
}

/// What must come out of an emulator.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectEmulator {
    /// Packets dropped at any of its ports.
    pub(crate) drops: Option<Bounds<Quantity<NumberUnit>>>,
    /// The share of its bandwidth limit that was used, at the busiest port.
    pub(crate) utilisation: Option<Bounds<Quantity<RatioUnit>>>,
}

/// What must come out of the whole run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpectRun {
    /// What all flows received, a second of the time in which any ran.
    pub(crate) goodput: Option<Bounds<Quantity<RateUnit>>>,
    /// Packets dropped anywhere.
    pub(crate) drops: Option<Bounds<Quantity<NumberUnit>>>,
    /// Packets dropped anywhere, as a share of all that the flows sent.
    pub(crate) loss: Option<Bounds<Quantity<RatioUnit>>>,
    /// Jain's index over the goodput of its bulk TCP flows, of all flows where none is such, 1 being
    /// equal shares.
    pub(crate) fairness: Option<Bounds<Quantity<RatioUnit>>>,
}

/// From `min` to `max`, both included.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bounds<Q> {
    /// At least this.
    pub(crate) min: Option<Q>,
    /// At most this.
    pub(crate) max: Option<Q>,
}

/// How far runs of different drivers may lie apart: a share of what the first has, or an amount.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compare {
    /// For every quantity that has none of its own; 5 % unless given. It only marks them: what is to be
    /// judged is named below.
    pub(crate) tolerance: Option<Quantity<PercentUnit>>,
    /// By flow. A flow with a count stands for all its connections together.
    #[serde(default)]
    pub(crate) flow: Table<CompareFlow>,
    /// By link. A link with a count stands for all that it made: for their drops together, and for the
    /// greatest of everything else.
    #[serde(default)]
    pub(crate) link: Table<CompareLink>,
    /// By emulator.
    #[serde(default)]
    pub(crate) emulator: Table<CompareEmulator>,
    /// Of the whole run.
    pub(crate) run: Option<CompareRun>,
}

/// How far a flow's results may lie apart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareFlow {
    /// What the receiving program got per second.
    pub(crate) goodput: Option<Quantity<RateTolerance>>,
    /// What the receiving program got.
    pub(crate) bytes: Option<Quantity<SizeTolerance>>,
    /// Segments sent again.
    pub(crate) retransmissions: Option<Quantity<NumberTolerance>>,
    /// Retransmission timeouts.
    pub(crate) timeouts: Option<Quantity<NumberTolerance>>,
    /// Packets dropped anywhere on the way.
    pub(crate) drops: Option<Quantity<NumberTolerance>>,
    /// The least round trip time.
    pub(crate) min_rtt: Option<Quantity<TimeTolerance>>,
    /// The mean one-way delay of its datagrams.
    pub(crate) delay_mean: Option<Quantity<TimeTolerance>>,
    /// The longest one-way delay of its datagrams.
    pub(crate) delay_max: Option<Quantity<TimeTolerance>>,
    /// Requests that were answered.
    pub(crate) exchanges: Option<Quantity<NumberTolerance>>,
    /// The mean time from a request to the end of its response.
    pub(crate) response_mean: Option<Quantity<TimeTolerance>>,
    /// The longest time from a request to the end of its response.
    pub(crate) response_max: Option<Quantity<TimeTolerance>>,
}

/// How far a link's results may lie apart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareLink {
    /// Packets dropped, both directions.
    pub(crate) drops: Option<Quantity<NumberTolerance>>,
    /// The share of the time that it was busy, of the busier direction.
    pub(crate) utilisation: Option<Quantity<NumberTolerance>>,
    /// The longest that either queue ever was.
    pub(crate) queue_max: Option<Quantity<SizeTolerance>>,
    /// What half of its packets waited at most before they left, at the end where that is longer.
    pub(crate) sojourn_p50: Option<Quantity<TimeTolerance>>,
    /// What 99 of 100 of its packets waited at most before they left, at the end where that is longer.
    pub(crate) sojourn_p99: Option<Quantity<TimeTolerance>>,
    /// The longest that a packet waited before it left, at either end.
    pub(crate) sojourn_max: Option<Quantity<TimeTolerance>>,
    /// By class of the disciplines at its ends.
    #[serde(default)]
    pub(crate) class: Table<CompareClass>,
}

/// How far a class's results may lie apart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareClass {
    /// What it sent per second of the run, of the busier direction.
    pub(crate) rate: Option<Quantity<RateTolerance>>,
    /// Packets dropped, both directions.
    pub(crate) drops: Option<Quantity<NumberTolerance>>,
}

/// How far an emulator's results may lie apart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareEmulator {
    /// Packets dropped at any of its ports.
    pub(crate) drops: Option<Quantity<NumberTolerance>>,
    /// The share of its bandwidth limit that was used, at the busiest port.
    pub(crate) utilisation: Option<Quantity<NumberTolerance>>,
    /// The longest that any of its buffers ever was.
    pub(crate) queue_max: Option<Quantity<SizeTolerance>>,
}

/// How far the whole run's results may lie apart.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareRun {
    /// What all flows received, a second of the time in which any ran.
    pub(crate) goodput: Option<Quantity<RateTolerance>>,
    /// Jain's index over the goodput of its bulk TCP flows, of all flows where none is such.
    pub(crate) fairness: Option<Quantity<NumberTolerance>>,
    /// Packets dropped anywhere.
    pub(crate) drops: Option<Quantity<NumberTolerance>>,
    /// Segments sent again.
    pub(crate) retransmissions: Option<Quantity<NumberTolerance>>,
    /// Retransmission timeouts.
    pub(crate) timeouts: Option<Quantity<NumberTolerance>>,
}
