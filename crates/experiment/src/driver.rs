//! Who moves the packets of an experiment.

use lab::device::Kind;
use network::host::Kernel;
use scenario::Plan;
use scenario::plan::NodeKind;

use crate::error::Error;

/// Who moves the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The simulator: virtual time, modelled TCP.
    #[default]
    Simulator,
    /// The simulator with a real kernel at every host: virtual time, the kernel's TCP.
    Kernel(Kernel),
    /// The lab: real packets and the kernel's TCP, in real time on this machine.
    Lab(Fabric),
}

/// How the lab's fabric does its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// How it meets the hosts' interfaces; the best that this machine grants unless given.
    pub port: Option<Kind>,
    /// Whether it sleeps between packets, and leaves its processor to others; packets are a little later then.
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

    /// Whether it is the lab.
    pub const fn is_lab(self) -> bool {
        matches!(self, Self::Lab(_))
    }

    /// Whether its hosts are real stacks, whatever profile they are to have.
    pub(crate) const fn is_real(self) -> bool {
        !matches!(self, Self::Simulator)
    }

    /// Puts a kernel at every host of `plan`, if the driver is that.
    pub fn set_kernels(self, plan: &mut Plan) {
        let Self::Kernel(kernel) = self else { return };
        for node in &mut plan.nodes {
            if let NodeKind::Host(host) = &mut node.kind {
                host.kernel = Some(kernel);
            }
        }
    }

    /// Gets the right to build a lab, if that is the driver: root's, or a user namespace, for which the process
    /// must have only one thread yet.
    ///
    /// # Errors
    /// A machine that does not grant it.
    pub fn acquire(self) -> Result<(), Error> {
        if self.is_lab() {
            lab::privilege::acquire()?;
        }
        Ok(())
    }

    /// The words of a command line that choose it; none for the simulator.
    pub(crate) fn words(self) -> Vec<String> {
        match self {
            Self::Simulator => Vec::new(),
            Self::Kernel(kernel) => vec!["--on".into(), kernel.name().into()],
            Self::Lab(fabric) => [vec!["--on".into(), "lab".into()], fabric.words()].concat(),
        }
    }

    /// What the folder of a run or sweep has at the end of its name: one of the lab does not take the place of
    /// the simulator's.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::Simulator => "",
            Self::Kernel(_) => "-kernel",
            Self::Lab(_) => "-lab",
        }
    }
}

impl Fabric {
    /// As the lab takes it.
    pub fn options(self) -> lab::Options<'static> {
        lab::Options { kind: self.port, sleeps: self.sleep, ..<_>::default() }
    }

    /// The words of a command line that choose it.
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
