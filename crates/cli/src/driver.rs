//! The driver that the command line selects.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ValueEnum};
use network::host::Kernel;

use crate::port::Fabric;

/// A driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Driver {
    /// Simulator: virtual time, modelled TCP
    #[default]
    Simulator,
    /// Simulator with a real kernel (from `suimon linux build`) at every host: virtual time, the kernel's TCP
    #[value(name = "linux-6.12")]
    Linux6_12,
    /// Lab: real packets and this machine's kernel TCP, in real time
    Lab,
    /// Simulator on the workers of a Dask scheduler, for the points of a sweep
    #[value(skip)]
    Dask,
}

impl Driver {
    /// The driver for a run; `fabric` applies to the lab only.
    pub(crate) fn with(self, fabric: Fabric) -> experiment::Driver {
        match self {
            Self::Simulator | Self::Dask => experiment::Driver::Simulator,
            Self::Linux6_12 => experiment::Driver::Kernel(Kernel::Linux6_12),
            Self::Lab => experiment::Driver::Lab(fabric.into()),
        }
    }
}

/// The option `--on` with Dask as a possible value.
pub(crate) fn with_dask(on: Arg) -> Arg {
    let help = "Simulator on the workers of a Dask scheduler: --on dask tcp://scheduler:8786";
    let others = Driver::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let values = others.chain([PossibleValue::new("dask").help(help)]);
    let driver = |name: String| Driver::from_str(&name, false).unwrap_or(Driver::Dask);
    on.value_parser(PossibleValuesParser::new(values).map(driver))
}
