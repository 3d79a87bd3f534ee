//! The driver that the command line selects.

use std::num::NonZeroUsize;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, ValueEnum};
use experiment::DriverChoice;
use experiment::driver::{DRIVERS, Options, Role, Stacks};
use network::host;

use crate::failure::Failure;
use crate::port::Fabric;

/// A value of `--on`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct On {
    /// The driver.
    pub(crate) driver: DriverChoice,
    /// Whether the workers of a Dask scheduler run it, for the points of a sweep.
    pub(crate) by_dask: bool,
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

impl On {
    /// The driver with that name; the default one, if there is none.
    fn named(name: &str) -> Self {
        Self { driver: DriverChoice::named(name).unwrap_or_default(), by_dask: name == DASK }
    }

    /// Whether it runs in real time on this machine.
    pub(crate) fn is_real_time(self) -> bool {
        self.driver.is_real_time()
    }

    /// The driver for a run; `fabric` applies to the lab only, `qdisc` to guest kernels.
    pub(crate) fn with(self, fabric: Fabric, qdisc: Option<QdiscPlace>) -> DriverChoice {
        let qdisc = qdisc.map(host::QdiscPlace::from);
        let options = Options { fabric: fabric.into(), qdisc, ..self.driver.options };
        DriverChoice { options, ..self.driver }
    }

    /// Refuses several cores for each run, unless the driver has modelled hosts.
    pub(crate) fn check_cores(self, cores: Option<NonZeroUsize>) -> Result<(), Failure> {
        if self.driver.description().stacks == Stacks::Modelled || cores.is_none() {
            return Ok(());
        }
        let help = "leave it out, or run the scenario in the simulator";
        Err(Failure::usage("--cores is for modelled hosts", help))
    }

    /// Refuses options of another driver.
    pub(crate) fn check(self, fabric: Fabric, qdisc: Option<QdiscPlace>) -> Result<(), Failure> {
        let stacks = self.driver.description().stacks;
        if stacks != Stacks::Machine && fabric != Fabric::default() {
            let help = "leave them out, or use real packets: --on lab";
            return Err(Failure::usage("--port and --sleep are for the lab", help));
        }
        if stacks != Stacks::Guests && qdisc.is_some() {
            let help = "leave it out, or use guest kernels: --on linux-6.12";
            return Err(Failure::usage("--qdisc is for guest kernels", help));
        }
        Ok(())
    }
}

const DASK: &str = "dask";

/// Every driver as a value of `--on`.
fn values() -> impl Iterator<Item = PossibleValue> {
    let all = DRIVERS.iter().map(|driver| driver.description());
    all.filter(|about| about.role != Role::Policy)
        .map(|about| PossibleValue::new(about.name).help(about.help).hide(about.role == Role::Test))
}

/// The parser of `--on`.
pub(crate) fn parser() -> impl TypedValueParser<Value = On> {
    PossibleValuesParser::new(values()).map(|name| On::named(&name))
}

/// The option `--on` with Dask as a possible value.
pub(crate) fn with_dask(on: Arg) -> Arg {
    let help = "Simulator on the workers of a Dask scheduler: --on dask tcp://scheduler:8786";
    let values = values().chain([PossibleValue::new(DASK).help(help)]);
    on.value_parser(PossibleValuesParser::new(values).map(|name| On::named(&name)))
}
