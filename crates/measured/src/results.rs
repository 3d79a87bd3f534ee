//! The parts of the summary that only flows of some workloads have: the registry of their results.

use applications::Results;

use crate::calls::{CallSummary, CallsSummary};
use crate::events::EventSummary;
use crate::exchanges::ExchangeSummary;
use crate::mpi::{MpiSummary, NetworkWaits};
use crate::part::Part;
use crate::{Measured, Quantity, Value};

/// Declares the results of an entity: for each key of the summary its documentation, what sums up the results, and
/// further structs with quantities below it.
macro_rules! results {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident;
        $($(#[doc = $doc:literal])* $key:ident: $summary:ty $(, $below:ty)*;)*
    ) => {
        $(#[$attribute])*
        #[derive(
            Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        pub struct $name {
            $(
                $(#[doc = $doc])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $key: Option<$summary>,
            )*
        }

        impl $name {
            const PARTS: &[&[&[Quantity]]] =
                &[$(<$summary>::QUANTITIES, $(<$below>::QUANTITIES,)*)*];

            /// The quantities of each part, in the order of the parts.
            pub const QUANTITIES: &[&[Quantity]] = &fields::<{ count(Self::PARTS) }>(Self::PARTS);

            /// Sums up the results of flows over `seconds` seconds.
            pub fn of<'r>(results: impl Iterator<Item = &'r Results> + Clone, seconds: f64) -> Self {
                Self {
                    $($key: {
                        let all: Vec<_> = results.clone().filter_map(Results::get).collect();
                        (!all.is_empty()).then(|| <$summary>::of(&all, seconds))
                    },)*
                }
            }
        }

        impl Measured for $name {
            fn value(&self, path: &str) -> Option<Value> {
                let (part, path) = path.split_once('.').unwrap_or((path, ""));
                match part {
                    $(stringify!($key) => self.$key.value(path),)*
                    _ => None,
                }
            }
        }
    };
}

results! {
    /// The results of a flow's workload.
    pub struct FlowResults;
    /// What was heard of the call, if it is one.
    call: CallSummary;
    /// What became of its requests, if it asks. The bytes above are then those of responses, and retransmissions are
    /// of both ends.
    exchanges: ExchangeSummary;
    /// What became of the events of the builder that it sends fragments to, and of its own fragments. Retransmissions
    /// are of both ends.
    events: EventSummary;
}

results! {
    /// The results of the workload of several flows.
    pub struct GroupResults;
    /// What was heard of their calls, if they are calls.
    calls: CallsSummary;
    /// What became of their requests, if they ask: the mean of all, and the longest.
    exchanges: ExchangeSummary;
    /// What became of the events that they are the sources of, and of all fragments.
    events: EventSummary;
    /// What became of the MPI job that they are the connections of, in the whole run.
    mpi: MpiSummary, NetworkWaits;
}

impl Part {
    /// What only flows of some workloads have, with its title in tables.
    pub fn workloads() -> impl Iterator<Item = (Self, &'static str)> {
        let mut parts = vec![(Self::Datagrams, "datagrams")];
        for part in GroupResults::QUANTITIES.iter().flat_map(|field| *field).filter_map(|q| q.part)
        {
            if let Self::Results { title, .. } = part
                && parts.iter().all(|(known, _)| *known != part)
            {
                parts.push((part, title));
            }
        }
        parts.into_iter()
    }
}

/// The number of fields of these parts.
const fn count(parts: &[&[&[Quantity]]]) -> usize {
    let (mut all, mut part) = (0, 0);
    while part < parts.len() {
        all += parts[part].len();
        part += 1;
    }
    all
}

/// The fields of these parts, in order.
const fn fields<const N: usize>(
    parts: &[&'static [&'static [Quantity]]],
) -> [&'static [Quantity]; N] {
    let mut fields: [&[Quantity]; N] = [&[]; N];
    let (mut filled, mut part) = (0, 0);
    while part < parts.len() {
        let mut field = 0;
        while field < parts[part].len() {
            fields[filled] = parts[part][field];
            filled += 1;
            field += 1;
        }
        part += 1;
    }
    fields
}
