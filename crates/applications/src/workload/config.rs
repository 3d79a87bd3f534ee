//! What a workload declares: its settings, its programs, and what follows from them for their flow.

use core::any::TypeId;
use core::fmt::Debug;

use base::setting::Settings;
use base::{Bytes, Duration};
use network::application::{ActivePeriod, Application};
use network::invalid::Invalid;

use crate::datagrams;
use crate::mpi::Phases;
use crate::sink::Reader;

/// Which flows of a table have programs in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// None: each has two programs of its own.
    None,
    /// Those to one host, where one program reads them all.
    Receiver,
    /// All: each host has one program.
    All,
}

/// A flow, as its programs see it.
#[derive(Clone, Copy, Debug)]
pub struct Member<'f> {
    /// When the program that connects, or sends datagrams, is active.
    pub span: ActivePeriod,
    /// How the program that is connected to reads.
    pub reader: Reader,
    /// What seeds its random numbers.
    pub names: Names<'f>,
    /// The hosts at its ends.
    pub hosts: [usize; 2],
}

/// The names that seed the random numbers of a flow's programs.
#[derive(Clone, Copy, Debug)]
pub struct Names<'n> {
    /// The run's seed.
    pub seed: u64,
    /// The flow's name.
    pub flow: &'n str,
    /// The common name of the flows of a table.
    pub group: &'n str,
}

/// An application, with the flow ends of its sockets.
#[derive(Debug)]
pub struct PlannedApplication {
    /// The application.
    pub application: Box<dyn Application>,
    /// The flow end of each of its sockets, in this order, all on one host; never empty.
    pub sockets: Vec<FlowEnd>,
}

impl PlannedApplication {
    /// An application with these ends of flows.
    pub fn new(application: impl Application + 'static, sockets: Vec<FlowEnd>) -> Self {
        Self { application: Box::new(application), sockets }
    }
}

/// The two programs of a flow that shares none, the one that connects or sends datagrams first.
pub fn pair(
    near: impl Application + 'static,
    far: impl Application + 'static,
) -> Vec<PlannedApplication> {
    let at = |end| vec![FlowEnd { flow: 0, end }];
    vec![PlannedApplication::new(near, at(0)), PlannedApplication::new(far, at(1))]
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowEnd {
    /// The flow, an index into `Plan::flows`, or into the flows that share programs.
    pub flow: usize,
    /// 0 for `from`, 1 for `to`.
    pub end: usize,
}

/// A kind of workload: its settings, its programs, and what follows from them for their flow.
pub trait WorkloadConfig: Settings + Debug {
    /// The workload in messages, with its article: "an exchange".
    fn title(&self) -> &'static str;

    /// Checks whether the settings make sense together, each being within its range.
    ///
    /// # Errors
    ///
    /// The first conflict.
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }

    /// Which flows of a table with equal settings have programs in common.
    fn sharing(&self) -> Sharing {
        Sharing::None
    }

    /// The programs of one flow, or of all that share some, in the order in which hosts run them.
    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication>;

    /// The mean payload that each flow sends at a trigger, and the mean time between triggers unless the network's load
    /// determines it, for a workload whose flows send together.
    fn burst(&self) -> Option<(Bytes, Option<Duration>)> {
        None
    }

    /// The name of a file that its programs read, with the content.
    fn file(&self) -> Option<(&str, &[u8])> {
        None
    }

    /// The phases that its programs announce to the kernel.
    fn phases(&self) -> Phases {
        Phases::Off
    }

    /// The datagrams that it sends, for a workload without connections.
    fn datagrams(&self) -> Option<datagrams::Config> {
        None
    }

    /// Keys of a flow that cannot be combined with it.
    fn excludes(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether its settings determine what both programs write and read, so that `bytes` and `read` of a flow have no
    /// meaning.
    fn sets_data(&self) -> bool {
        true
    }

    /// Whether its programs write as much as they can.
    fn is_greedy(&self) -> bool {
        false
    }

    /// Whether what counts is what the program that connects reads: responses.
    fn asks(&self) -> bool {
        false
    }

    /// Whether the program that is connected to writes, too: responses, requests for fragments, or messages of a rank.
    fn both_write(&self) -> bool {
        self.asks()
    }

    /// Whether its small segments wait for the ACK of earlier data (Nagle's algorithm, RFC 896).
    fn nagle(&self) -> bool {
        true
    }

    /// The number of responses after which it is complete, if it is limited.
    fn responses(&self) -> Option<u64> {
        None
    }

    /// The type of what its programs count besides what their sockets do.
    fn results(&self) -> Option<TypeId> {
        None
    }

    /// What it lacks for a quantity of its results, in messages, and how it gets that.
    fn lacking(&self, _quantity: &str) -> Option<[&'static str; 2]> {
        None
    }

    /// Whether random numbers decide what its programs do.
    fn draws(&self) -> bool {
        true
    }
}
