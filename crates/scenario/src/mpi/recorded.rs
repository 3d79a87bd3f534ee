//! Recorded MPI programs as calls of modelled ranks.

use std::sync::Arc;

use applications::mpi::collective::{Collective, Kind};
use applications::mpi::program::{self, Call, Message, Request};
use base::Duration;
use mpi_trace::{Call as Recorded, Class, Operation, Trace};

/// Reads a trace of `suimon mpi record`, from the file of that name.
///
/// # Errors
///
/// A file that is not a trace, or that is inconsistent: a rank would wait for a message that is never sent.
pub fn read(name: &str, file: &[u8]) -> Result<program::Recorded, String> {
    let trace = Trace::read(file).map_err(|error| error.to_string())?;
    if let Some(first) = trace.inconsistencies(1).first() {
        return Err(first.to_string());
    }
    let members: Vec<Arc<[u32]>> =
        trace.communicators.iter().map(|members| members.as_slice().into()).collect();
    let calls = |calls: &Vec<Recorded>| {
        let mut rank = Rank { members: &members, calls: Vec::new(), blocking: BLOCKING };
        calls.iter().try_for_each(|call| rank.push(call))?;
        Ok::<_, String>(rank.calls)
    };
    let ranks = trace.ranks.iter().map(calls).collect::<Result<_, _>>()?;
    Ok(program::Recorded { name: name.to_owned(), ranks, file: file.to_owned() })
}

/// Request numbers of blocking calls; those of a trace are below.
const BLOCKING: Request = 1 << 30;

/// The calls of a rank so far.
struct Rank<'t> {
    members: &'t [Arc<[u32]>],
    calls: Vec<Call>,
    /// The request of the next blocking call.
    blocking: Request,
}

impl Rank<'_> {
    fn push(&mut self, call: &Recorded) -> Result<(), String> {
        if call.computing > 0 {
            self.calls.push(Call::Compute(Duration::from_ns(call.computing)));
        }
        let message = call.peer.map(|peer| Message {
            peer,
            bytes: call.bytes,
            communicator: call.communicator,
            tag: call.tag,
        });
        let started = || call.requests.first().copied().filter(|request| *request < BLOCKING);
        let class = call.operation.class();
        match (class, message) {
            (Class::Send | Class::Receive, Some(message)) => {
                let request = self.blocking;
                self.blocking = BLOCKING | (self.blocking + 1) & (BLOCKING - 1);
                self.begin(class == Class::Send, message, request);
                self.calls.push(Call::Wait([request].into()));
            }
            (Class::SendStart | Class::ReceiveStart, Some(message)) => {
                let request = started().ok_or("a message that nothing can wait for")?;
                self.begin(class == Class::SendStart, message, request);
            }
            (Class::Wait, _) => self.calls.push(Call::Wait(call.requests.clone())),
            (Class::Collective, _) => self.collective(call)?,
            // A receive from no rank transfers nothing, and a probe leaves its message for the receive.
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, sends: bool, message: Message, request: Request) {
        let begin = if sends { Call::Send } else { Call::Receive };
        self.calls.push(begin(message, request));
    }

    fn collective(&mut self, call: &Recorded) -> Result<(), String> {
        let members = self.members.get(call.communicator as usize);
        let members = members.ok_or("a communicator without members")?.clone();
        let root = call.peer.unwrap_or(0);
        let all = members.len().max(1) as u64;
        let counts = (!call.counts.is_empty()).then(|| Arc::from(&call.counts[..]));
        let (kind, bytes) = match call.operation {
            Operation::Bcast => (Kind::Bcast(root), call.bytes),
            Operation::Reduce => (Kind::Reduce(root), call.bytes),
            Operation::Allreduce => (Kind::Allreduce, call.bytes),
            Operation::Alltoall | Operation::Alltoallv => (Kind::Alltoall, call.bytes),
            Operation::Allgather | Operation::Allgatherv => (Kind::Allgather, call.bytes),
            Operation::Gather | Operation::Gatherv => (Kind::Gather(root), call.bytes),
            Operation::Scatter | Operation::Scatterv => (Kind::Scatter(root), call.bytes),
            Operation::ReduceScatter => (Kind::ReduceScatter, call.bytes / all),
            Operation::ReduceScatterBlock => (Kind::ReduceScatter, call.bytes),
            Operation::Scan | Operation::Exscan => (Kind::Scan, call.bytes),
            // Libraries only synchronise there.
            _ => (Kind::Barrier, 0),
        };
        let counts =
            counts.filter(|_| matches!(kind, Kind::Alltoall | Kind::Allgather | Kind::Scatter(_)));
        self.calls.push(Call::Collective(Collective { kind, members, bytes, counts }));
        Ok(())
    }
}
