//! A dumbbell: senders and receivers with one bottleneck between them.

use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{Joins, Parts, Shape, number};
use crate::diagnostic::Problems;
use crate::value::{Count, Quantity, RateUnit};

/// Hosts NAME-left and NAME-right on each side of two routers, NAME-router.1 and NAME-router.2, with the link
/// NAME-bottleneck between them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dumbbell {
    /// Number of hosts on each side; 8 unless given.
    pub(crate) hosts: Option<Count>,
    /// Rate of the bottleneck; "1 Gbit/s" unless given.
    pub(crate) bottleneck: Option<Quantity<RateUnit>>,
}

impl Shape for Dumbbell {
    fn build(&self, parts: &mut Parts<'_>, problems: &mut Problems) -> Option<()> {
        let hosts = number(self.hosts.as_ref(), 8, (1, 131_071), problems)?;
        let usual = Quantity::of("1 Gbit/s", parts.name.span.clone());
        let bottleneck = self.bottleneck.as_ref().unwrap_or(&usual);
        parts.hosts("left", hosts);
        parts.hosts("right", hosts);
        parts.routers("router", 2);
        let ends = ["router.1", "router.2"];
        parts.link("access-left", ["left", ends[0]], Joins::ByNumber, None);
        parts.link("access-right", ["right", ends[1]], Joins::ByNumber, None);
        parts.link("bottleneck", ends, Joins::ByNumber, Some(bottleneck));
        Some(())
    }
}
