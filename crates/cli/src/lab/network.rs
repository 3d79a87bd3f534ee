//! The network that a command of `suimon lab` is for.

use clap::Args;

use crate::driver::{self, On, QdiscPlace};
use crate::port::Fabric;
use crate::scenario_args::ScenarioArgs;

/// The network: a running one, or one to build.
#[derive(Debug, Args)]
pub(super) struct Network {
    #[command(flatten)]
    pub(super) scenario: ScenarioArgs,
    #[command(flatten)]
    pub(super) fabric: Fabric,
    /// The place of the disciplines of hosts with guest kernels [default: that of the scenario, or the card]
    #[arg(long, value_enum, value_name = "PLACE")]
    pub(super) qdisc: Option<QdiscPlace>,
    /// The driver
    #[arg(long, value_parser = driver::parser(), default_value = "lab", value_name = "DRIVER")]
    pub(super) on: On,
}
