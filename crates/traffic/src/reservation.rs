//! Reservations: a class asked for while a discipline runs, as RSVP does (RFC 2205), and released again.
//!
//! A discipline admits a class if it can keep the promise whatever all others send, and otherwise refuses
//! with the arithmetic; so never more is promised than the link has.

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

/// A class to be admitted: a token bucket (RFC 2215, section 3.6) and a bound on its delay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The class's name, unlike any other's.
    pub name: String,
    /// The class to be within, one that is divided already; `None`: at the top.
    pub parent: Option<String>,
    /// What is guaranteed in the long run, counted as the discipline counts its classes' rates.
    pub rate: Rate,
    /// Bytes that may come at once beyond that and still keep the delay bound: the bucket's size, at
    /// least 1, counted as the rate is.
    pub burst: Bytes,
    /// The most time from a packet's arrival to its last bit's sending, while no more comes than rate and
    /// burst allow.
    pub delay: Duration,
    /// Its packets, at least one filter; looked at before the parameters' own, and after those of earlier
    /// reservations.
    pub filters: Vec<Filter>,
}

impl Request {
    /// A queue that never drops what keeps to the bucket: none of it waits longer than the bound.
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
    #[error("a reservation `{0}` with a burst of 0 bytes: say how many may come at once")]
    NoBurst(String),
    /// A reservation for nobody.
    #[error("a reservation `{0}` without a filter: say by at least one which packets are its own")]
    NoFilter(String),
    /// A class below one that holds packets.
    #[error(
        "the reservation `{name}` is to be within `{parent}`, which holds packets itself: name a \
         class that is divided, or none"
    )]
    ParentIsLeaf {
        /// The reservation.
        name: String,
        /// The parent asked for.
        parent: String,
    },
    /// Nothing to release.
    #[error("no reservation is named `{name}`: {known}")]
    NotReserved {
        /// The name given.
        name: String,
        /// Those there are.
        known: String,
    },
    /// What the discipline refuses: the class's name, its place, its share of the link, its delay bound.
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

    /// With one more, if that makes sense by itself.
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

    /// Without the one of this name.
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

/// What a class is promised.
pub(crate) trait Promise: Clone + PartialEq {
    /// The class's name.
    fn name_mut(&mut self) -> &mut String;
}

/// A promise that is no more, or was different, and counts until then: its class may have sent its burst just
/// before, and one in its place would send its own.
#[derive(Clone, Debug)]
pub(crate) struct Former<P> {
    pub(crate) promise: P,
    until: Instant,
}

impl<P: Promise> Former<P> {
    /// Those that count beside `new` promises: of the `earlier` ones those whose time is not over at `now`, and
    /// of the `old` ones those that are not among the new, for as long as all these may keep the link busy.
    pub(crate) fn beside(
        new: &[P],
        old: Vec<P>,
        earlier: &[Self],
        now: Instant,
        busy: impl FnOnce(&[&P]) -> Duration,
    ) -> Vec<Self> {
        let counts = |former: &&Self| former.until > now;
        let mut formers: Vec<_> = earlier.iter().filter(counts).cloned().collect();
        let all: Vec<_> = old.iter().chain(formers.iter().map(|former| &former.promise)).collect();
        let until = now + busy(&all);
        let gone = old.into_iter().filter(|promise| !new.contains(promise));
        formers.extend(gone.map(|mut promise| {
            promise.name_mut().push_str(" (before)");
            Self { promise, until }
        }));
        formers
    }
}

/// Makes a [`Refusal`] an `Error` of the discipline in whose module this stands, and such an error a refusal.
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

/// The class that a request is to be within; `None` at the top, or if there is none of that name.
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
