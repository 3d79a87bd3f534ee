//! The drivers of an experiment: simulator, guest kernels and lab.

use lab::device::Kind;
use network::host::{Kernel, QdiscPlace};
use scenario::Plan;
use scenario::plan::NodeKind;

use crate::error::Error;

/// A driver, which moves the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The simulator: virtual time, modelled TCP.
    #[default]
    Simulator,
    /// The simulator with a real kernel at every host: virtual time, the kernel's TCP.
    Kernel(Guests),
    /// The lab: real packets and the kernel's TCP, in real time on this machine.
    Lab(Fabric),
}

/// The kernels of hosts in virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guests {
    /// The kernel of every host.
    pub kernel: Kernel,
    /// The place of the disciplines of every host's ports; that of the scenario unless given.
    pub qdisc: Option<QdiscPlace>,
}

impl From<Kernel> for Guests {
    fn from(kernel: Kernel) -> Self {
        Self { kernel, qdisc: None }
    }
}

/// The options of the lab's fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// The kind of port to the hosts' interfaces; by default the best that this machine permits.
    pub port: Option<Kind>,
    /// Whether it sleeps between packets, to leave its processor to others; packets are a little later then.
    pub sleep: bool,
}

impl Driver {
    /// Its name in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulate",
            Self::Kernel(_) => "kernel",
            Self::Lab(_) => "lab",
        }
    }

    /// Whether it has the disciplines of all hosts as qdiscs of their kernels.
    pub(crate) fn has_qdiscs(self) -> bool {
        matches!(self, Self::Kernel(Guests { qdisc: Some(QdiscPlace::Kernel), .. }))
    }

    /// Whether it is the lab.
    pub const fn is_lab(self) -> bool {
        matches!(self, Self::Lab(_))
    }

    /// Whether its hosts have real stacks, regardless of their profiles.
    pub(crate) const fn is_real(self) -> bool {
        !matches!(self, Self::Simulator)
    }

    /// Sets a kernel at every host of `plan`, if this is the kernel driver.
    pub fn set_kernels(self, plan: &mut Plan) {
        let Self::Kernel(guests) = self else { return };
        for node in &mut plan.nodes {
            if let NodeKind::Host(host) = &mut node.kind {
                host.kernel = Some(guests.kernel);
                host.qdisc = guests.qdisc.or(host.qdisc);
            }
        }
    }

    /// Acquires the privileges to build a lab, if this is the lab: root's, or a user namespace, for which the
    /// process must still have a single thread.
    ///
    /// # Errors
    /// A machine that does not permit it.
    pub fn acquire(self) -> Result<(), Error> {
        if self.is_lab() {
            lab::privilege::acquire()?;
        }
        Ok(())
    }

    /// The command-line arguments that choose this driver; none for the simulator.
    pub(crate) fn words(self) -> Vec<String> {
        match self {
            Self::Simulator => Vec::new(),
            Self::Kernel(Guests { kernel, qdisc }) => {
                let qdisc = qdisc.into_iter().flat_map(|place| ["--qdisc", place.name()]);
                ["--on", kernel.name()].into_iter().chain(qdisc).map(str::to_owned).collect()
            }
            Self::Lab(fabric) => [vec!["--on".into(), "lab".into()], fabric.words()].concat(),
        }
    }

    /// The suffix of the default folder of a run or sweep, so that the lab does not overwrite the simulator's.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Simulator => "",
            Self::Kernel(_) if self.has_qdiscs() => "-kernel-qdisc",
            Self::Kernel(_) => "-kernel",
            Self::Lab(_) => "-lab",
        }
    }
}

impl Fabric {
    /// The options for the lab.
    pub fn options(self) -> lab::Options<'static> {
        lab::Options { kind: self.port, sleeps: self.sleep, ..<_>::default() }
    }

    /// The command-line arguments that choose these options.
    fn words(self) -> Vec<String> {
        let port = self.port.map(|port| match port {
            Kind::Xdp { native: false } => "xdp",
            Kind::Xdp { native: true } => "xdp-native",
            Kind::Packet { .. } => "packet",
        });
        let port = port.into_iter().flat_map(|port| ["--port".to_owned(), port.to_owned()]);
        port.chain(self.sleep.then(|| "--sleep".to_owned())).collect()
    }
}
