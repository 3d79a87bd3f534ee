//! Reservations: classes requested while a discipline runs, as with RSVP (RFC 2205), and released again.
//!
//! A discipline admits a class if it can keep the promise for any traffic of all others. Otherwise it refuses
//! with the arithmetic. So the promises never exceed the link.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::classify::{Filter, Rule};
use crate::discipline::Port;
use crate::packet::ETHERNET_HEADER_AND_FCS;
use crate::qdisc::{self, fifo};
use crate::tree::{self, Branch};
use crate::units::{Bytes, Duration, Instant, Rate};

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

impl Request {
    /// A queue that never drops packets that keep to the bucket: none of them waits longer than the bound.
    pub(crate) fn queue(&self, port: Port) -> qdisc::Parameters {
        let meanwhile = u128::from(self.rate.bits_per_second()) * u128::from(self.delay.as_ps());
        let meanwhile = (meanwhile / 8).div_ceil(crate::units::PS_PER_SECOND.into());
        let bytes = u64::try_from(meanwhile).unwrap_or(u64::MAX).saturating_add(self.burst.0);
        let frame = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
        qdisc::Parameters::Fifo(fifo::Parameters::of_bytes(Bytes(bytes.max(frame))))
    }
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
    #[error(transparent)]
    Class(qdisc::Error),
}

impl Refusal {
    /// A discipline that promises nothing to a class.
    pub(crate) fn none_taken() -> Self {
        Self::NoneTaken { takers: tree::list(TAKERS.iter().copied()) }
    }
}

/// The reservations in force, the earliest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reservations(Vec<Request>);

impl Reservations {
    pub(crate) fn list(&self) -> &[Request] {
        &self.0
    }

    /// These reservations with one more, if it makes sense by itself.
    pub(crate) fn with(&self, request: &Request) -> Result<Self, Refusal> {
        if request.burst == Bytes(0) {
            return Err(Refusal::NoBurst(request.name.clone()));
        }
        if request.filters.is_empty() {
            return Err(Refusal::NoFilter(request.name.clone()));
        }
        let mut all = self.clone();
        all.0.push(request.clone());
        Ok(all)
    }

    /// These reservations without the one of this name.
    pub(crate) fn without(&self, name: &str) -> Result<Self, Refusal> {
        let mut all = self.clone();
        let Some(index) = all.0.iter().position(|request| request.name == name) else {
            let known = match tree::list(all.0.iter().map(|request| request.name.as_str())) {
                none if none.is_empty() => "there are none".into(),
                names => format!("name one of {names}"),
            };
            return Err(Refusal::NotReserved { name: name.into(), known });
        };
        all.0.remove(index);
        Ok(all)
    }

    /// Puts the reservations' filters before all others.
    pub(crate) fn add_rules(&self, rules: &mut Vec<Rule>) {
        let own = |request: &'_ Request| {
            let class = request.name.clone();
            let priority = u16::MAX;
            let rule = move |&filter: &Filter| Rule { filter, priority, class: class.clone() };
            request.filters.iter().map(rule).collect::<Vec<_>>()
        };
        rules.splice(0..0, self.0.iter().flat_map(own));
    }
}

/// The promise to a class.
pub(crate) trait Promise: Clone + PartialEq {
    /// The class's name.
    fn name_mut(&mut self) -> &mut String;
}

/// A removed or changed promise that still counts until an instant: its class may have sent its burst just
/// before, and a class in its place would send its own.
#[derive(Clone, Debug)]
pub(crate) struct PastPromise<P> {
    pub(crate) promise: P,
    until: Instant,
}

impl<P: Promise> PastPromise<P> {
    /// Returns the past promises that still count in addition to `new`: the `earlier` ones that have not
    /// expired at `now`, and the `old` ones that are not in `new`, for the longest time that all of these can
    /// keep the link busy.
    pub(crate) fn beside(
        new: &[P],
        old: Vec<P>,
        earlier: &[Self],
        now: Instant,
        busy: impl FnOnce(&[&P]) -> Duration,
    ) -> Vec<Self> {
        let counts = |past: &&Self| past.until > now;
        let mut past_promises: Vec<_> = earlier.iter().filter(counts).cloned().collect();
        let all: Vec<_> =
            old.iter().chain(past_promises.iter().map(|past| &past.promise)).collect();
        let until = now + busy(&all);
        let gone = old.into_iter().filter(|promise| !new.contains(promise));
        past_promises.extend(gone.map(|mut promise| {
            promise.name_mut().push_str(" (before)");
            Self { promise, until }
        }));
        past_promises
    }
}

/// Adds conversions from [`Refusal`] to the `Error` of the surrounding discipline module, and from such an
/// error to a refusal.
macro_rules! refusals {
    () => {
        impl From<$crate::reservation::Refusal> for Error {
            fn from(refusal: $crate::reservation::Refusal) -> Self {
                Self::Reservation(alloc::boxed::Box::new(refusal))
            }
        }

        impl From<Error> for $crate::reservation::Refusal {
            fn from(error: Error) -> Self {
                match error {
                    Error::Reservation(refusal) => *refusal,
                    error => Self::Class(error.into()),
                }
            }
        }
    };
}
pub(crate) use refusals;

/// The parent class of a request; `None` at the top, or if no class has that name.
pub(crate) fn parent<'a, C>(
    request: &Request,
    classes: &'a [C],
    branch: fn(&C) -> Branch<'_>,
) -> Result<Option<&'a C>, Refusal> {
    let Some(parent) = request.parent.as_deref() else { return Ok(None) };
    let within = classes.iter().find(|&class| branch(class).name == parent);
    if within.is_some() && !classes.iter().any(|class| branch(class).parent == Some(parent)) {
        let (name, parent) = (request.name.clone(), parent.into());
        return Err(Refusal::ParentIsLeaf { name, parent });
    }
    Ok(within)
}

/// A time in the largest unit that keeps the number whole.
pub(crate) fn time_text(time: Duration) -> String {
    let ps = time.as_ps();
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let whole = units.into_iter().find(|(unit, _)| ps.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or((1, "ps"));
    format!("{} {name}", ps / unit)
}
