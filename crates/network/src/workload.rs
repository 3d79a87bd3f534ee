//! Workloads: what the programs at the two ends of a connection do. A new one is an application file and a line
//! here.

use crate::application::{ActivePeriod, Application};
use crate::bulk::{BulkSender, Train};
use crate::exchange::{Exchange, RequestClient, RequestServer};
use crate::sink::{Reader, Sink};

/// What the program that connects does; the other one suits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Writes as much as it can.
    Bulk,
    /// Writes messages with silence between.
    Train(Train),
    /// Asks, and is answered.
    Exchange(Exchange),
}

impl Workload {
    /// The programs of the flow of that name in a run with that seed, the one that connects first. It is active
    /// for `span`; what is written to the other, that one reads as `reader` says.
    pub fn applications(
        &self,
        span: ActivePeriod,
        reader: Reader,
        stream: (u64, &str),
    ) -> [Box<dyn Application>; 2] {
        let bulk = |train: Option<Train>| -> [Box<dyn Application>; 2] {
            [Box::new(BulkSender::new(span, train)), Box::new(Sink::new(reader))]
        };
        match self {
            Self::Bulk => bulk(None),
            Self::Train(train) => bulk(Some(*train)),
            Self::Exchange(exchange) => [
                Box::new(RequestClient::new(span, exchange, stream)),
                Box::new(RequestServer::new(exchange, stream)),
            ],
        }
    }

    /// Whether what counts is what the program that connects reads: responses.
    pub const fn asks(&self) -> bool {
        matches!(self, Self::Exchange(_))
    }
}
