//! What a driver is: the facts about it, and the steps of a run that it takes.

use std::fmt::Debug;
use std::num::NonZeroUsize;

use ::lab::device::Kind;
use guest::Kernel;
use network::host::QdiscPlace;
use record::{Files, LabReport, Recording, Totals};
use scenario::Plan;
use scenario::capability::Capability;
use simulate::guests::Findings;

use crate::error::Error;
use crate::live::Live;

/// A driver: what moves the packets of a plan.
pub trait Driver: Debug + Send + Sync {
    /// The facts about it.
    fn description(&self) -> &'static Description;

    /// Acquires the privileges that a run needs, for which the process must still have a single thread.
    ///
    /// # Errors
    /// A machine that does not permit it.
    fn acquire(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Makes the changes to a plan that the driver is chosen for.
    fn prepare(&self, plan: &mut Plan, options: Options) {
        let _ = (plan, options);
    }

    /// A description of everything in a plan that it leaves out.
    fn left_out(&self, plan: &Plan) -> Vec<String> {
        let _ = plan;
        Vec::new()
    }

    /// Removes from a plan what it leaves out; returns the description.
    fn leave_out(&self, plan: &mut Plan) -> Vec<String> {
        self.left_out(plan)
    }

    /// The guest kernel that it starts for a plan, if any.
    ///
    /// # Errors
    /// A kernel that is not built.
    fn kernel(&self, plan: &Plan) -> Result<Option<Kernel>, Error> {
        let _ = plan;
        Ok(None)
    }

    /// Runs a prepared plan.
    ///
    /// # Errors
    /// A plan that it refuses, a machine that lacks something. What ends a run early is part of the result.
    fn run(&self, request: Request<'_>) -> Result<Run, Error>;
}

/// The facts about a driver.
#[derive(Debug)]
pub struct Description {
    /// The value of `--on`.
    pub name: &'static str,
    /// Its name in manifests.
    pub manifest: &'static str,
    /// What it is, for help.
    pub help: &'static str,
    /// Its name in a sentence.
    pub subject: &'static str,
    /// What it does for a time, for a sentence.
    pub doing: &'static str,
    /// Where it measures, for a sentence.
    pub place: &'static str,
    /// The suffix of the default folder of a run or a sweep, so that drivers do not overwrite each other's.
    pub suffix: &'static str,
    /// Its stacks.
    pub stacks: Stacks,
    /// Whether time is real: runs go one after the other, and programs start on this machine.
    pub is_real_time: bool,
    /// What it is for.
    pub role: Role,
    /// The topic of `suimon doctor` that finds out whether it runs here; none if there is nothing to find out.
    pub topic: Option<&'static str>,
    /// What it can do.
    pub capabilities: &'static [Capability],
}

/// What a driver is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It runs scenarios.
    Run,
    /// It takes the policy of one host from a scenario, and runs nothing.
    Policy,
    /// It runs scenarios in tests, and is in no list.
    Test,
}

/// The stacks of a driver's hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stacks {
    /// Modelled, by each host's profile.
    Modelled,
    /// Kernels in virtual time, regardless of profiles.
    Guests,
    /// This machine's kernel, regardless of profiles.
    Machine,
}

/// The options of drivers, each for some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The lab's fabric.
    pub fabric: Fabric,
    /// The place of the disciplines of hosts with guest kernels; that of the scenario unless given.
    pub qdisc: Option<QdiscPlace>,
    /// The number of cores for one run of the simulator, where its hosts are modelled; one unless given. Results do not
    /// depend on it.
    pub cores: Option<NonZeroUsize>,
}

/// The options of the lab's fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// The kind of port to the hosts' interfaces; by default the best that this machine permits.
    pub port: Option<Kind>,
    /// Whether it sleeps between packets, to leave its processor to others; packets are a little later then.
    pub sleep: bool,
}

/// What a driver runs.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The plan, prepared.
    pub plan: &'a Plan,
    /// The options.
    pub options: Options,
    /// The kernel of [`Driver::kernel`].
    pub kernel: Option<&'a Kernel>,
    /// The files of the run's folder.
    pub files: &'a Files,
    /// The socket for live statistics.
    pub(crate) live: &'a Live,
    /// The control from outside.
    pub steering: record::Steering<'a>,
}

/// The result of a driver.
#[derive(Debug)]
pub struct Run {
    /// What every part counted.
    pub totals: Totals,
    /// The recording of the plan's probes.
    pub recording: Option<Recording>,
    /// The lab's report on the machine.
    pub lab: Option<LabReport>,
    /// Findings about programs on guest kernels.
    pub guests: Option<Findings>,
    /// Why it ended early, unless it was interrupted.
    pub failure: Option<Error>,
}

impl Fabric {
    /// The options for the lab.
    pub fn options(self) -> ::lab::Options<'static> {
        ::lab::Options { kind: self.port, sleeps: self.sleep, ..<_>::default() }
    }

    /// The command-line arguments that choose these options.
    pub(super) fn words(self) -> Vec<String> {
        let port = self.port.map(|port| match port {
            Kind::Xdp { native: false } => "xdp",
            Kind::Xdp { native: true } => "xdp-native",
            Kind::Packet { .. } => "packet",
        });
        let port = port.into_iter().flat_map(|port| ["--port".to_owned(), port.to_owned()]);
        port.chain(self.sleep.then(|| "--sleep".to_owned())).collect()
    }
}
