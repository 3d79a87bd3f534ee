//! The drivers of an experiment. Each is a file of its own and a line of the registry: the values of `--on`, the
//! manifests, the folders and what `suimon check` and `suimon drivers` print follow from there.

mod guests;
mod host;
mod interface;
mod lab;
mod none;
mod simulator;

use std::ops::Deref;

use base::Fault;
use network::host::{Kernel, QdiscPlace};
use scenario::Plan;
use scenario::capability;

pub use guests::Guests;
pub use host::Host;
pub use interface::{Description, Driver, Fabric, Options, Request, Role, Run, Stacks};
pub use lab::Lab;
pub use none::Nothing;
pub use simulator::Simulator;

/// Every driver, in the order of lists.
pub const DRIVERS: &[&dyn Driver] =
    &[&Simulator, &Guests(Kernel::Linux6_12), &Lab, &Host, &Nothing];

/// The drivers for that, each with default options.
pub fn of_role(role: Role) -> impl Iterator<Item = DriverChoice> {
    let found = DRIVERS.iter().filter(move |driver| driver.description().role == role);
    found.map(|driver| DriverChoice::of(*driver))
}

/// A driver with its options.
#[derive(Clone, Copy, Debug)]
pub struct DriverChoice {
    /// The driver.
    pub driver: &'static dyn Driver,
    /// The options.
    pub options: Options,
}

impl Default for DriverChoice {
    fn default() -> Self {
        Self::of(&Simulator)
    }
}

impl Deref for DriverChoice {
    type Target = dyn Driver;

    fn deref(&self) -> &Self::Target {
        self.driver
    }
}

impl DriverChoice {
    /// A driver with default options.
    pub fn of(driver: &'static dyn Driver) -> Self {
        Self { driver, options: Options::default() }
    }

    /// The driver with that value of `--on`.
    pub fn named(name: &str) -> Option<Self> {
        let is_it = |about: &Description| about.name == name && about.role != Role::Policy;
        let found = DRIVERS.iter().find(|driver| is_it(driver.description()));
        found.map(|driver| Self::of(*driver))
    }

    /// Its name in manifests.
    pub fn manifest(self) -> &'static str {
        self.driver.description().manifest
    }

    /// Whether its hosts have real stacks, regardless of their profiles.
    pub fn is_real(self) -> bool {
        self.driver.description().stacks != Stacks::Modelled
    }

    /// Whether time is real.
    pub fn is_real_time(self) -> bool {
        self.driver.description().is_real_time
    }

    /// Whether it has the disciplines of all hosts as qdiscs of their kernels.
    pub(crate) fn has_qdiscs(self) -> bool {
        let stacks = self.driver.description().stacks;
        stacks == Stacks::Guests && self.options.qdisc == Some(QdiscPlace::Kernel)
    }

    /// Makes the changes to a plan that the driver is chosen for.
    pub fn prepare(self, plan: &mut Plan) {
        self.driver.prepare(plan, self.options);
    }

    /// A plan with the changes that the driver is chosen for.
    pub fn prepared(self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        self.prepare(&mut plan);
        plan
    }

    /// Refuses a prepared plan that it cannot run. What one machine lacks is found by a run.
    ///
    /// # Errors
    /// The first obstacle.
    pub fn check(self, plan: &Plan) -> Result<(), Fault> {
        capability::check(self.driver.description().capabilities, plan)
    }

    /// The command-line arguments that choose it; none for the default.
    pub(crate) fn words(self) -> Vec<String> {
        let name = self.driver.description().name;
        let on = (name != Self::default().driver.description().name).then_some(["--on", name]);
        let qdisc = self.options.qdisc.map(|place| ["--qdisc", place.name()]);
        let words = on.into_iter().chain(qdisc).flatten().map(str::to_owned);
        words.chain(self.options.fabric.words()).collect()
    }

    /// The suffix of the default folder of a run or sweep.
    pub(crate) fn suffix(self) -> String {
        let qdisc = if self.has_qdiscs() { "-qdisc" } else { "" };
        self.driver.description().suffix.to_owned() + qdisc
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use scenario::capability::FEATURES;

    use super::*;

    #[test]
    fn drivers_differ_and_say_something_about_every_feature() {
        let names: [fn(&Description) -> &'static str; 3] =
            [|it| it.name, |it| it.manifest, |it| it.suffix];
        for of in names {
            let all: BTreeSet<&str> =
                DRIVERS.iter().map(|driver| of(driver.description())).collect();
            assert_eq!(all.len(), DRIVERS.len(), "{all:?}");
        }
        for driver in DRIVERS {
            let table = driver.description().capabilities;
            let named: Vec<&str> = table.iter().map(|row| row.feature.name).collect();
            let wanted: Vec<&str> = FEATURES.iter().map(|feature| feature.name).collect();
            assert_eq!(named, wanted, "{driver:?}");
        }
    }
}
