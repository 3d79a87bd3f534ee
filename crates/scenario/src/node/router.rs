//! `[router.NAME]`: a forwarder.

use network::node::Kind;
use network::router;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Table;
use crate::diagnostic::Problems;
use crate::plan::Node;
use crate::value::{Count, PeriodUnit, Quantity};

/// A forwarder, or `count` of them named NAME.1, NAME.2, … Flows spread over all shortest paths by a hash (ECMP).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Router {
    /// How many; without it, one that bears the bare name.
    pub(crate) count: Option<Count>,
    /// How often the timer ticks that its ports' disciplines wait by, as a kernel's; as often as is
    /// needed unless given.
    pub(crate) timer: Option<Quantity<PeriodUnit>>,
}

impl Table for Router {
    fn count(&self) -> Option<&Count> {
        self.count.as_ref()
    }

    fn timer(&self) -> Option<&Quantity<PeriodUnit>> {
        self.timer.as_ref()
    }

    fn kind(&self, _: &mut Problems) -> Option<Kind> {
        Some(Kind::Router(router::Config))
    }
}

pub(super) fn write(_: &router::Config, _: &[Node], _: &mut String) {}
