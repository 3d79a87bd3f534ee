//! What a discipline keeps of its reservations: those in force, and the promises to classes that are gone.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::classify::{Filter, Rule};
use crate::discipline::Port;
use crate::qdisc::{self, fifo};
use crate::reservation::{Refusal, Request};
use crate::tree::{self, Branch};
use base::packet::ETHERNET_HEADER_AND_FCS;
use base::units::{Bytes, Duration, Instant, PS_PER_SECOND};

/// A queue that never drops packets that keep to the bucket: none of them waits longer than the bound.
pub(crate) fn queue(request: &Request, port: Port) -> qdisc::Parameters {
    let meanwhile = u128::from(request.rate.bits_per_second()) * u128::from(request.delay.as_ps());
    let meanwhile = (meanwhile / 8).div_ceil(PS_PER_SECOND.into());
    let bytes = u64::try_from(meanwhile).unwrap_or(u64::MAX).saturating_add(request.burst.0);
    let frame = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
    qdisc::Parameters::Fifo(fifo::Parameters::of_bytes(Bytes(bytes.max(frame))))
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
                    error => Self::Class(alloc::string::ToString::to_string(&error)),
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
