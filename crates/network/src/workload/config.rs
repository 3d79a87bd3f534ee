//! What a workload declares: its settings, its programs, and what follows from them for their flow.

use core::fmt::Debug;

use base::Duration;
use base::setting::Settings;

use crate::application::{ActivePeriod, Application};
use crate::datagram;
use crate::invalid::Invalid;
use crate::results;
use crate::sink::Reader;

/// The shortest time from one thing that a program does to the next: a full frame at 100 Gbit/s.
pub const INTERVAL_MIN: Duration = Duration::from_ns(100);

/// The programs of a flow, the one that connects or sends datagrams first.
pub type Applications = [Box<dyn Application>; 2];

/// A kind of workload: its settings, its programs, and what follows from them for their flow.
pub trait Config: Settings + Debug {
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

    /// The programs of the flow of that name in a run with that seed. The first is active for `span`; what is written
    /// to the other, that one reads as `reader` says. Applications that flows can share have only this one.
    fn applications(&self, span: ActivePeriod, reader: Reader, stream: (u64, &str))
    -> Applications;

    /// The datagrams that it sends, for a workload without connections.
    fn datagrams(&self) -> Option<datagram::Config> {
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

    /// The results that its programs have besides those of every flow.
    fn results(&self) -> Option<results::Kind> {
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
