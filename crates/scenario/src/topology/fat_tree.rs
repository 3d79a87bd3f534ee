//! A fat tree of switches with k ports: k pods, k³/4 hosts, full bisection bandwidth.
//!
//! Al-Fares, Loukissas, Vahdat: A Scalable, Commodity Data Center Network Architecture, SIGCOMM 2008, section 2.2.

use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{Joins, Parts, Shape, number};
use crate::diagnostic::Problems;
use crate::value::Count;

/// Hosts NAME-host, k/2 at each of the switches NAME-edge. k/2 of these and k/2 of NAME-aggregation form a pod, and
/// the switches NAME-core connect the pods. The links are NAME-access, NAME-pod and NAME-fabric, from the hosts up.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FatTree {
    /// Number of ports per switch, even; 4 unless given.
    pub(crate) k: Option<Count>,
}

impl Shape for FatTree {
    fn build(&self, parts: &mut Parts<'_>, problems: &mut Problems) -> Option<()> {
        let k = number(self.k.as_ref(), 4, (2, 96), problems)?;
        if let Some(given) = self.k.as_ref().filter(|_| k % 2 == 1) {
            let help = "half of a switch's ports lead up, half down: give an even number";
            problems.push(&given.span, format!("{k} is odd"), help);
            return None;
        }
        let half = k / 2;
        parts.hosts("host", k * half * half);
        parts.routers("edge", k * half);
        parts.routers("aggregation", k * half);
        parts.routers("core", half * half);
        parts.link("access", ["host", "edge"], Joins::Groups(k * half), None);
        parts.link("pod", ["edge", "aggregation"], Joins::Groups(k), None);
        // The aggregation switches of one number in their pods share k/2 cores.
        parts.link("fabric", ["aggregation", "core"], Joins::Planes(half), None);
        Some(())
    }
}
