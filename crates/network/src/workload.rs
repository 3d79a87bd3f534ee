//! Workloads: what the programs at the two ends of a connection do. A new one is an application file and a line
//! here.

use traffic::Duration;

use crate::application::{ActivePeriod, Application};
use crate::bulk::{BulkSender, Train};
use crate::event_builder::{Mode, Names, Readout};
use crate::exchange::{Exchange, Ping, RequestClient, RequestServer, Requests};
use crate::mpi::rank::{Job, Rank};
use crate::sink::{Reader, Sink};

/// The shortest time from one thing that a program does to the next: a full frame at 100 Gbit/s.
pub const INTERVAL_MIN: Duration = Duration::from_ns(100);

/// What the program that connects does; the other one suits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Writes as much as it can.
    Bulk,
    /// Writes messages with silence between.
    Train(Train),
    /// Asks, and is answered.
    Exchange(Exchange),
    /// Asks by the clock.
    Ping(Ping),
    /// Sends its fragments of events to an event builder, which it shares with other sources.
    Events(Readout),
    /// Is a rank of an MPI job, with a connection to each other rank.
    Mpi(Job),
}

impl Workload {
    /// The programs of the flow of that name in a run with that seed, the one that connects first. It is active
    /// for `span`; what is written to the other, that one reads as `reader` says. A source of events has a builder of its
    /// own, and an MPI job two ranks.
    pub fn applications(
        &self,
        span: ActivePeriod,
        reader: Reader,
        stream: (u64, &str),
    ) -> [Box<dyn Application>; 2] {
        let bulk = |train: Option<Train>| -> [Box<dyn Application>; 2] {
            [Box::new(BulkSender::new(span, train)), Box::new(Sink::new(reader))]
        };
        let asking = |requests: &Requests| -> [Box<dyn Application>; 2] {
            [
                Box::new(RequestClient::new(span, requests, stream)),
                Box::new(RequestServer::new(requests, stream)),
            ]
        };
        match self {
            Self::Bulk => bulk(None),
            Self::Train(train) => bulk(Some(*train)),
            Self::Exchange(exchange) => asking(&exchange.into()),
            Self::Ping(ping) => asking(&ping.into()),
            Self::Events(readout) => {
                let names = Names { seed: stream.0, flow: stream.1, group: stream.1 };
                [
                    Box::new(readout.source(span, (0, 1), names)),
                    Box::new(readout.builder(span, [names])),
                ]
            }
            Self::Mpi(job) => {
                let rank = |rank: &Rank| -> Box<dyn Application> { Box::new(rank.clone()) };
                let ranks = job.ranks(span, 2);
                [rank(&ranks[0]), rank(&ranks[1])]
            }
        }
    }

    /// Whether what counts is what the program that connects reads: responses.
    pub const fn asks(&self) -> bool {
        matches!(self, Self::Exchange(_) | Self::Ping(_))
    }

    /// Whether the program that is connected to writes, too: responses, requests for fragments, or messages of a rank.
    pub fn both_write(&self) -> bool {
        let pull = matches!(self, Self::Events(Readout { mode: Mode::Pull, .. }));
        pull || self.asks() || matches!(self, Self::Mpi(_))
    }
}
