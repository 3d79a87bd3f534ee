//! Who moves the packets, as the command line chooses it.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ValueEnum};
use network::host::Kernel;

use crate::port::Fabric;

/// Who moves the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Driver {
    /// The simulator: virtual time, modelled TCP
    #[default]
    Simulator,
    /// The simulator with a real kernel at every host, which `suimon linux build` makes: virtual time, the kernel's TCP
    #[value(name = "linux-6.12")]
    Linux6_12,
    /// The lab: real packets and the kernel's TCP, in real time on this machine
    Lab,
    /// The simulator at a Dask scheduler's workers: only a sweep has points for them
    #[value(skip)]
    Dask,
}

impl Driver {
    /// The same, for a run; the fabric is the lab's.
    pub(crate) fn with(self, fabric: Fabric) -> experiment::Driver {
        match self {
            Self::Simulator | Self::Dask => experiment::Driver::Simulator,
            Self::Linux6_12 => experiment::Driver::Kernel(Kernel::Linux6_12),
            Self::Lab => experiment::Driver::Lab(fabric.into()),
        }
    }
}

/// The option `--on` with Dask among its values.
pub(crate) fn with_dask(on: Arg) -> Arg {
    let help = "The simulator at the workers of a Dask scheduler: --on dask tcp://scheduler:8786";
    let others = Driver::value_variants().iter().filter_map(ValueEnum::to_possible_value);
    let values = others.chain([PossibleValue::new("dask").help(help)]);
    let driver = |name: String| Driver::from_str(&name, false).unwrap_or(Driver::Dask);
    on.value_parser(PossibleValuesParser::new(values).map(driver))
}
