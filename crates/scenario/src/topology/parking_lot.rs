//! A parking lot: a flow over all hops shares each of them with other flows.

use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{Joins, Parts, Shape, number};
use crate::diagnostic::Problems;
use crate::value::{Count, Quantity, RateUnit};

/// Routers NAME-router.1 and so on in a chain, with the host NAME-host of the same number at each. The links are
/// NAME-hop-1 and so on along the chain, and NAME-access to the hosts.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParkingLot {
    /// Number of links in the chain; 3 unless given.
    pub(crate) hops: Option<Count>,
    /// Line rate of the chain; "1 Gbit/s" unless given.
    pub(crate) bottleneck: Option<Quantity<RateUnit>>,
}

impl Shape for ParkingLot {
    fn build(&self, parts: &mut Parts<'_>, problems: &mut Problems) -> Option<()> {
        let hops = number(self.hops.as_ref(), 3, (1, 254), problems)?;
        let usual = Quantity::of("1 Gbit/s", parts.name.span.clone());
        let bottleneck = self.bottleneck.as_ref().unwrap_or(&usual);
        parts.hosts("host", hops + 1);
        parts.routers("router", hops + 1);
        parts.link("access", ["host", "router"], Joins::ByNumber, None);
        for hop in 1..=hops {
            let ends = [hop, hop + 1].map(|router| format!("router.{router}"));
            let ends = [ends[0].as_str(), ends[1].as_str()];
            parts.link(&format!("hop-{hop}"), ends, Joins::ByNumber, Some(bottleneck));
        }
        Some(())
    }
}
