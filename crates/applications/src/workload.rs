//! Workloads: what the programs at the two ends of a flow do. A new one is a file with its settings, its programs and
//! a [`WorkloadConfig`], and a line of the registry here.

pub mod config;

use core::ops::Deref;

use base::setting::Settings;

use crate::bulk::{Bulk, Train};
use crate::datagrams;
use crate::event_builder::Readout;
use crate::exchange::{Exchange, Ping};
use crate::mpi::rank::Job;
use crate::voip::Voip;

pub use config::WorkloadConfig;

/// An entry of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in a scenario: that of its key in a flow.
    pub name: &'static str,
    /// The name of its settings in the schema.
    pub schema: &'static str,
    /// The documentation of its key.
    pub doc: &'static str,
}

/// The registry: variant, settings, name in a scenario, documentation of the key. A workload cannot be combined with
/// those before it.
macro_rules! workloads {
    ($($kind:ident($config:ty) = $name:literal, $doc:literal;)*) => {
        /// Every workload except bulk, which a flow without a workload has.
        pub const REGISTRY: &[Entry] =
            &[$(Entry { name: $name, schema: stringify!($kind), doc: $doc },)*];

        /// What the programs of a flow do.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Workload {
            /// The program that connects writes as much as it can.
            Bulk,
            $(#[doc = concat!("See [`", stringify!($config), "`].")]
            $kind($config),)*
        }

        impl Workload {
            /// The named workload with its default settings.
            pub fn blank(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$kind(Settings::blank())),)*
                    _ => None,
                }
            }

            /// Its name in a scenario; none for bulk.
            pub const fn name(&self) -> Option<&'static str> {
                match self {
                    Self::Bulk => None,
                    $(Self::$kind(_) => Some($name),)*
                }
            }

            /// Its settings, to be changed; none for bulk.
            pub fn settings_mut(&mut self) -> Option<&mut dyn Settings> {
                match self {
                    Self::Bulk => None,
                    $(Self::$kind(config) => Some(config),)*
                }
            }
        }

        impl Deref for Workload {
            type Target = dyn WorkloadConfig;

            fn deref(&self) -> &(dyn WorkloadConfig + 'static) {
                match self {
                    Self::Bulk => &Bulk,
                    $(Self::$kind(config) => config,)*
                }
            }
        }
    };
}

workloads! {
    Datagrams(datagrams::Config) = "datagrams", "UDP datagrams at a given rate, unresponsive to loss, in place of TCP.";
    Voip(Voip) = "voip", "Call by voice over IP, in one direction: RTP packets of a codec over UDP, a de-jitter buffer, and the mean opinion score of what is heard.";
    Train(Train) = "train", "Messages with pauses between them, instead of continuous writing.";
    Exchange(Exchange) = "exchange", "Alternating requests and responses on one connection, instead of continuous writing.";
    Ping(Ping) = "ping", "Small periodic requests that measure latency: `ping = {}`.";
    Events(Readout) = "events", "Data acquisition: at each trigger, every flow of the table sends a fragment of an event to one event builder\non the receiving host.";
    Mpi(Job) = "mpi", "MPI job: the hosts of both ends are its ranks, in file order, and every two share a connection.";
}
