//! The measured quantities: one table per entity of the summary, which declares each quantity once.
//!
//! Units in tables, reports and sweeps, the short names of `[expect]` and `[compare]`, the aggregates over several
//! entities, the rows of `suimon compare` and the reference page of results derive from it.

mod calls;
mod class;
mod completion;
mod conditioner;
mod datagrams;
mod declare;
mod entity;
mod events;
mod exchanges;
mod flow;
mod impairments;
mod mean;
mod mpi;
mod named;
mod notifications;
mod pauses;
mod quantity;
mod reference;
mod results;
mod table;
pub mod totals;
mod value;

pub use calls::{CallSummary, CallsSummary};
pub use class::ClassSummary;
pub use completion::Completion;
pub use conditioner::ElementSummary;
pub use datagrams::DatagramSummary;
pub use entity::{Entity, Part};
pub use events::EventSummary;
pub use exchanges::ExchangeSummary;
pub use flow::{CarriedSummary, FlowSummary, ProgramSummary};
pub use impairments::ImpairmentSummary;
pub use mean::per;
pub use mpi::{MpiSummary, NetworkWaits, RankSummary};
pub use named::Named;
pub use notifications::NotificationSummary;
pub use pauses::PauseSummary;
pub use quantity::{Aggregate, Better, Kind, Quantity};
pub use reference::reference;
pub use results::{FlowResults, GroupResults};
pub use value::{Measured, Value};

/// The size buckets of completion times: the name of each and its upper limit in bytes. The last one has no limit.
pub const SIZE_BUCKETS: [(&str, u64); 5] = [
    ("to_10_kB", 10_000),
    ("to_100_kB", 100_000),
    ("to_1_MB", 1_000_000),
    ("to_10_MB", 10_000_000),
    ("above_10_MB", u64::MAX),
];
