//! The programs of ranks: calls of the library with computing in between, recorded or made of steps.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use base::{Bytes, Duration};

use super::collective::{Collective, Kind};

/// The request of a non-blocking call: each has its own number, below 2^31.
pub type Request = u32;

/// A message between two ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The other rank.
    pub peer: u32,
    /// Its payload.
    pub bytes: u64,
    /// The number of its communicator; collective operations have numbers of their own.
    pub communicator: u32,
    /// Its tag.
    pub tag: i32,
}

/// A call of the library, or the computing between calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Computes.
    Compute(Duration),
    /// Begins to send.
    Send(Message, Request),
    /// Begins to receive.
    Receive(Message, Request),
    /// Waits for all of these requests.
    Wait(Box<[Request]>),
    /// Takes part in a collective operation.
    Collective(Collective),
}

/// A step that all ranks of a job take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Each rank computes for the given time.
    Compute(Duration),
    /// A collective operation of all ranks with the given bytes.
    Collective(Kind, Bytes),
    /// A wave through the grid of ranks: each rank receives from its western and northern neighbours, computes for
    /// the given time, and sends the given bytes to its eastern and southern neighbours.
    Wavefront(Bytes, Duration),
}

/// The steps of all ranks of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The steps.
    pub steps: Arc<[Step]>,
    /// How often the steps are repeated.
    pub iterations: u64,
}

/// A recorded program.
#[derive(Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The name of the file.
    pub name: String,
    /// The calls of each rank.
    pub ranks: Vec<Vec<Call>>,
    /// The content of the file: another run starts with the same.
    pub file: Vec<u8>,
}

impl Recorded {
    /// The name of the file without its folder.
    pub fn file_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

impl fmt::Debug for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorded({:?}, {} ranks)", self.name, self.ranks.len())
    }
}

/// No steps.
impl Default for Program {
    fn default() -> Self {
        Self::Steps(Steps { steps: Arc::default(), iterations: 1 })
    }
}

/// The program of a job's ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// All take the same steps.
    Steps(Steps),
    /// Each rank makes its recorded calls.
    Recorded(Arc<Recorded>),
}

impl Program {
    /// The recorded program, if it is one.
    pub fn recorded(&self) -> Option<&Arc<Recorded>> {
        match self {
            Self::Steps(_) => None,
            Self::Recorded(recorded) => Some(recorded),
        }
    }
}

/// The calls of one rank, one after the other.
#[derive(Clone, Debug)]
pub(super) enum Calls {
    Steps(StepCalls),
    Recorded { recorded: Arc<Recorded>, rank: usize, next: usize },
}

impl Calls {
    pub(super) fn new(program: &Program, rank: usize, members: Arc<[u32]>) -> Self {
        match program {
            Program::Steps(steps) => {
                let (steps, pending) = (steps.clone(), VecDeque::new());
                Self::Steps(StepCalls { steps, members, next: 0, pending })
            }
            Program::Recorded(recorded) => {
                Self::Recorded { recorded: recorded.clone(), rank, next: 0 }
            }
        }
    }
}

impl Iterator for Calls {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        match self {
            Self::Steps(steps) => steps.next(),
            Self::Recorded { recorded, rank, next } => {
                let call = recorded.ranks.get(*rank)?.get(*next)?.clone();
                *next += 1;
                Some(call)
            }
        }
    }
}

/// The calls of steps.
#[derive(Clone, Debug)]
pub(super) struct StepCalls {
    steps: Steps,
    /// All ranks.
    members: Arc<[u32]>,
    /// The next step.
    next: usize,
    /// Calls of the step before.
    pending: VecDeque<Call>,
}

impl StepCalls {
    fn take(&mut self, step: Step) {
        let collective = |kind, bytes: Bytes| {
            let members = self.members.clone();
            Call::Collective(Collective { kind, members, bytes: bytes.0, counts: None })
        };
        match step {
            Step::Compute(time) => self.pending.push_back(Call::Compute(time)),
            Step::Collective(kind, bytes) => self.pending.push_back(collective(kind, bytes)),
            Step::Wavefront(bytes, time) => self.pending.extend([
                collective(Kind::FromNorthwest, bytes),
                Call::Compute(time),
                collective(Kind::ToSoutheast, bytes),
            ]),
        }
    }
}

impl Iterator for StepCalls {
    type Item = Call;

    fn next(&mut self) -> Option<Call> {
        if let Some(call) = self.pending.pop_front() {
            return Some(call);
        }
        if self.next == self.steps.steps.len() {
            self.next = 0;
            self.steps.iterations = self.steps.iterations.saturating_sub(1);
        }
        let step = *self.steps.steps.get(self.next).filter(|_| self.steps.iterations > 0)?;
        self.next += 1;
        self.take(step);
        self.pending.pop_front()
    }
}
