//! The driver that the command line selects.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ValueEnum};
use experiment::Guests;
use network::host::{self, Kernel};

use crate::failure::Failure;
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

/// A place of the disciplines of hosts with guest kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum QdiscPlace {
    /// The simulator's network card
    Card,
    /// The kernel, as qdiscs of the module sch_suimon (from `make module`)
    Kernel,
}

impl From<QdiscPlace> for host::QdiscPlace {
    fn from(place: QdiscPlace) -> Self {
        match place {
            QdiscPlace::Card => Self::Card,
            QdiscPlace::Kernel => Self::Kernel,
        }
    }
}

impl Driver {
    /// The driver for a run; `fabric` applies to the lab only, `qdisc` to guest kernels.
    pub(crate) fn with(self, fabric: Fabric, qdisc: Option<QdiscPlace>) -> experiment::Driver {
        match self {
            Self::Simulator | Self::Dask => experiment::Driver::Simulator,
            Self::Linux6_12 => experiment::Driver::Kernel(Guests {
                kernel: Kernel::Linux6_12,
                qdisc: qdisc.map(host::QdiscPlace::from),
            }),
            Self::Lab => experiment::Driver::Lab(fabric.into()),
        }
    }

    /// Refuses options of another driver.
    pub(crate) fn check(self, fabric: Fabric, qdisc: Option<QdiscPlace>) -> Result<(), Failure> {
        if self != Self::Lab && fabric != Fabric::default() {
            let help = "leave them out, or use real packets: --on lab";
            return Err(Failure::usage("--port and --sleep are for the lab", help));
        }
        if self != Self::Linux6_12 && qdisc.is_some() {
            let help = "leave it out, or use guest kernels: --on linux-6.12";
            return Err(Failure::usage("--qdisc is for guest kernels", help));
        }
        Ok(())
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
