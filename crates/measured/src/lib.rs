//! The measured quantities: one table per entity of the summary, which declares each quantity once.
//!
//! Units in tables, reports and sweeps, the short names of `[expect]` and `[compare]`, the aggregates over several
//! entities, the rows of `suimon compare` and the reference page of results derive from it.

mod calls;
mod change;
mod class;
mod completion;
mod conditioner;
mod datagrams;
mod declare;
mod emulator;
mod engine;
mod entity;
mod events;
mod exchanges;
mod fairness;
mod flow;
mod goodput;
mod group;
mod ideal;
mod idle;
mod impairments;
mod link;
mod mean;
mod member;
mod member_name;
mod mpi;
mod named;
mod node;
mod notifications;
mod part;
mod pauses;
mod quantity;
mod reference;
mod results;
mod run;
mod table;
pub mod totals;
mod value;

pub use calls::{CallSummary, CallsSummary};
pub use change::ChangeSummary;
pub use class::ClassSummary;
pub use completion::Completion;
pub use conditioner::ElementSummary;
pub use datagrams::DatagramSummary;
pub use emulator::EmulatorSummary;
pub use engine::EngineSummary;
pub use entity::Entity;
pub use events::EventSummary;
pub use exchanges::ExchangeSummary;
pub use fairness::jain;
pub use flow::{CarriedSummary, FlowSummary, ProgramSummary};
pub use group::Group;
pub use ideal::Ideal;
pub use idle::IdleSummary;
pub use impairments::ImpairmentSummary;
pub use link::{Direction, LinkSummary};
pub use mean::per;
pub use member::Member;
pub use member_name::{group_of, is_of};
pub use mpi::{MpiSummary, NetworkWaits, RankSummary};
pub use named::Named;
pub use node::{MemorySummary, NodePauseSummary, NodeSummary, ProcessorSummary};
pub use notifications::NotificationSummary;
pub use part::Part;
pub use pauses::PauseSummary;
pub use quantity::{Aggregate, Better, Kind, Quantity};
pub use reference::reference;
pub use results::{FlowResults, GroupResults};
pub use run::{Run, RunTotals};
pub use value::{Measured, Value};

/// The size buckets of completion times: the name of each and its upper limit in bytes. The last one has no limit.
pub const SIZE_BUCKETS: [(&str, u64); 5] = [
    ("to_10_kB", 10_000),
    ("to_100_kB", 100_000),
    ("to_1_MB", 1_000_000),
    ("to_10_MB", 10_000_000),
    ("above_10_MB", u64::MAX),
];

/// The bucket of a size in bytes; `None` for nothing.
pub fn size_bucket(bytes: u64) -> Option<&'static str> {
    let mut fitting = SIZE_BUCKETS.iter().filter(|(_, up_to)| bytes > 0 && bytes <= *up_to);
    fitting.next().map(|(name, _)| *name)
}
