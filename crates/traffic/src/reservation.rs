//! Reservations: classes requested while a discipline runs, as with RSVP (RFC 2205), and released again.
//!
//! A discipline admits a class if it can keep the promise for any traffic of all others. Otherwise it refuses
//! with the arithmetic. So the promises never exceed the link.

use alloc::string::String;
use alloc::vec::Vec;

use crate::classify::Filter;
use crate::tree;
use base::units::{Bytes, Duration, Rate};

/// The disciplines that take reservations.
pub const TAKERS: &[&str] = &["cbq", "hfsc"];

/// A requested class: a token bucket (RFC 2215, section 3.6) and a bound on its delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The class's name, unlike any other's.
    pub name: String,
    /// The parent, a class that has children already; `None` at the top.
    pub parent: Option<String>,
    /// The rate guaranteed in the long run, counted as the discipline counts its classes' rates.
    pub rate: Rate,
    /// The bytes that may arrive at once in addition and still keep the delay bound: the bucket's size, at
    /// least 1, counted as the rate is.
    pub burst: Bytes,
    /// The maximum time from a packet's arrival to the sending of its last bit, while arrivals keep to rate
    /// and burst.
    pub delay: Duration,
    /// The filters of its packets, at least one. They are checked before the parameters' own filters, and
    /// after those of earlier reservations.
    pub filters: Vec<Filter>,
}

/// Why a reservation is refused; nothing has changed then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A discipline that promises nothing to a class.
    #[error("this discipline takes no reservations: attach one that does, such as {takers}")]
    NoneTaken {
        /// [`TAKERS`] as a text.
        takers: String,
    },
    /// A reservation of nothing.
    #[error("a reservation `{0}` with a burst of 0 bytes: set the burst")]
    NoBurst(String),
    /// A reservation without a filter.
    #[error("a reservation `{0}` without a filter: add at least one")]
    NoFilter(String),
    /// The parent holds packets itself.
    #[error(
        "the parent `{parent}` of the reservation `{name}` has a queue of its own: name a class with children, \
         or none"
    )]
    ParentIsLeaf {
        /// The reservation.
        name: String,
        /// The parent asked for.
        parent: String,
    },
    /// No reservation has the name.
    #[error("no reservation is named `{name}`: {known}")]
    NotReserved {
        /// The name given.
        name: String,
        /// The existing names.
        known: String,
    },
    /// A refusal by the discipline: the class's name, its place, its share of the link, its delay bound.
    #[error("{0}")]
    Class(String),
}

impl Refusal {
    /// A discipline that promises nothing to a class.
    pub(crate) fn none_taken() -> Self {
        Self::NoneTaken { takers: tree::list(TAKERS.iter().copied()) }
    }
}
