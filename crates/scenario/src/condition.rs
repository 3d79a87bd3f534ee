//! A conditioner as it stands in the file: elements, each with a meter and what is done by its colours.

use schemars::JsonSchema;
use serde::Deserialize;
use traffic::condition::Action;

use crate::filter::Match;
use crate::header::{code_point, code_point_text};
use crate::quantity::Error;
use crate::value::{ActionUnit, OneOrMany, Quantity, RateUnit, SizeUnit, Table, TimeUnit};

/// What is done to packets that come in, before they are forwarded.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conditioner {
    /// What happens to a packet that no element matches, or that returns; "pass" unless given.
    pub(crate) default: Option<Quantity<ActionUnit>>,
    /// Elements, by name.
    #[serde(default)]
    pub(crate) element: Table<Element>,
}

/// A meter, at most one, and what is done by the colour that it gives a packet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Element {
    /// Which packets come here first: a table, or an array of tables of which any may match. None unless
    /// given: then only other elements lead here.
    #[serde(rename = "match")]
    pub(crate) matches: Option<OneOrMany<Match>>,
    /// Green within the profile, red beyond.
    pub(crate) token_bucket: Option<TokenBucket>,
    /// Single-rate three-colour marker (RFC 2697).
    pub(crate) single_rate: Option<SingleRate>,
    /// Two-rate three-colour marker (RFC 2698).
    pub(crate) two_rate: Option<TwoRate>,
    /// Time-sliding-window three-colour marker (RFC 2859).
    pub(crate) window: Option<Window>,
    /// For a green packet, or any if there is no meter; "pass" unless given.
    pub(crate) green: Option<Quantity<ActionUnit>>,
    /// For a yellow packet; "pass" unless given.
    pub(crate) yellow: Option<Quantity<ActionUnit>>,
    /// For a red packet; "pass" unless given.
    pub(crate) red: Option<Quantity<ActionUnit>>,
}

/// A token bucket. It counts bytes of IP packets, as all meters do.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TokenBucket {
    /// What is earned over time.
    pub(crate) rate: Quantity<RateUnit>,
    /// The most that is kept.
    pub(crate) burst: Quantity<SizeUnit>,
}

/// A single-rate three-colour marker.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SingleRate {
    /// CIR: what is earned over time.
    pub(crate) committed_rate: Quantity<RateUnit>,
    /// CBS: the most that is kept for green packets.
    pub(crate) committed_burst: Quantity<SizeUnit>,
    /// EBS: the most that is kept for yellow packets.
    pub(crate) excess_burst: Quantity<SizeUnit>,
    /// Whether a packet's earlier colour counts; false unless given.
    #[serde(default)]
    pub(crate) colour_aware: bool,
}

/// A two-rate three-colour marker.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwoRate {
    /// PIR: beyond it a packet is red.
    pub(crate) peak_rate: Quantity<RateUnit>,
    /// PBS: the most that is kept at the peak rate.
    pub(crate) peak_burst: Quantity<SizeUnit>,
    /// CIR: beyond it a packet is yellow.
    pub(crate) committed_rate: Quantity<RateUnit>,
    /// CBS: the most that is kept at the committed rate.
    pub(crate) committed_burst: Quantity<SizeUnit>,
    /// Whether a packet's earlier colour counts; false unless given.
    #[serde(default)]
    pub(crate) colour_aware: bool,
}

/// A time-sliding-window three-colour marker.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Window {
    /// CTR: below it every packet is green.
    pub(crate) committed_rate: Quantity<RateUnit>,
    /// PTR: beyond it some packets are red.
    pub(crate) peak_rate: Quantity<RateUnit>,
    /// How long a time the average remembers; for TCP a round-trip time or more.
    pub(crate) window: Quantity<TimeUnit>,
}

/// What is done to a packet: `pass`, `drop`, `mark CODE-POINT`, `next ELEMENT`, `return`.
///
/// # Errors
///
/// None of these.
pub(crate) fn action(text: &str) -> Result<Action, Error> {
    let (verb, object) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    match (verb, object.trim()) {
        ("pass", "") => Ok(Action::Pass),
        ("drop", "") => Ok(Action::Drop),
        ("return", "") => Ok(Action::Return),
        ("mark", point) if !point.is_empty() => Ok(Action::Mark(code_point(point)?)),
        ("next", element) if !element.is_empty() => Ok(Action::Next(element.to_owned())),
        _ => {
            let help = "write pass, drop, return, \"mark af12\" or \"next NAME\"";
            Err(Error::new(format!("`{text}` is no action"), help))
        }
    }
}

/// An action as it is read.
pub(crate) fn action_text(action: &Action) -> String {
    match action {
        Action::Pass => "pass".into(),
        Action::Drop => "drop".into(),
        Action::Return => "return".into(),
        Action::Mark(dscp) => format!("mark {}", code_point_text(*dscp)),
        Action::Next(element) => format!("next {element}"),
    }
}
