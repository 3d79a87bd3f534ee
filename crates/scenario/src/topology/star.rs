//! Hosts around one switch.

use schemars::JsonSchema;
use serde::Deserialize;

use super::parts::{Joins, Parts, Shape, number};
use crate::diagnostic::Problems;
use crate::value::Count;

/// Hosts NAME-host around the switch NAME-switch; the links are NAME-access.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Star {
    /// Number of hosts; 8 unless given.
    pub(crate) hosts: Option<Count>,
}

impl Shape for Star {
    fn build(&self, parts: &mut Parts<'_>, problems: &mut Problems) -> Option<()> {
        let hosts = number(self.hosts.as_ref(), 8, (2, 262_143), problems)?;
        parts.hosts("host", hosts);
        parts.routers("switch", 1);
        parts.link("access", ["host", "switch"], Joins::Groups(1), None);
        Some(())
    }
}
