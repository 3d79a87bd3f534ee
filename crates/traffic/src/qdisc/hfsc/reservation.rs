//! Reservations: a class asked for while the discipline runs, as RSVP does, and released again.
//!
//! Admitted is what the curves' sum leaves under the link's line at every time; so never more is
//! promised than the link has. A reservation stays through a change of parameters, which is refused
//! if both together promise too much.

use alloc::string::String;
use alloc::vec::Vec;

use super::curve;
use super::parameters::{self, Class, Error, Parameters};
use super::{Hfsc, admission, wire_time_max};
use crate::classify::{Filter, Rule};
use crate::discipline::Port;
use crate::qdisc;
use crate::tree;
use crate::units::{Bytes, Duration, Rate};

/// A class to be admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The class's name, unlike any other's.
    pub name: String,
    /// The class to be within, one that is divided already; `None`: at the top. If it shares the
    /// link with its siblings, so does the reservation, with its rate as weight.
    pub parent: Option<String>,
    /// What is guaranteed in the long run, counted as in [`Class`].
    pub rate: Rate,
    /// Bytes that may come at once beyond that and still keep the delay bound: a token bucket's
    /// size, at least 1. With [`Parameters::overhead`] for each packet.
    pub burst: Bytes,
    /// The most time from a packet's arrival to its last bit's sending, while no more comes than
    /// rate and burst allow. Longer than one longest frame of another class takes on the wire.
    pub delay: Duration,
    /// Its packets; looked at before the parameters' filters, and after earlier reservations'.
    pub filter: Filter,
    /// Its queue, as in [`Class::queue`].
    pub queue: qdisc::Parameters,
}

impl Reservation {
    /// The class whose curves keep the promise. A packet may be sent one longest frame's time after
    /// its deadline, so the curve must be that much earlier than the bound.
    fn class(&self, has_share: bool, port: Port) -> Result<Class, Error> {
        let (name, frame) = (self.name.clone(), wire_time_max(port));
        if self.burst == Bytes(0) {
            return Err(Error::NoBurst(name));
        }
        if self.delay <= frame {
            let [bound, frame] = [self.delay, frame].map(|time| admission::text(time.as_ps()));
            return Err(Error::Bound { name, bound, frame });
        }
        let rate = self.rate.bits_per_second();
        let curve = curve::for_burst(rate, self.burst.0, self.delay - frame);
        Ok(Class {
            name,
            parent: self.parent.clone(),
            real_time_m1: Rate::from_bits_per_second(curve.m1),
            real_time_d: Duration::from_ps(curve.d),
            real_time_m2: Some(self.rate),
            link_share_m2: has_share.then_some(self.rate),
            queue: self.queue.clone(),
            ..Class::default()
        })
    }
}

/// The parameters with the reservations' classes and filters.
pub(super) fn with_reservations(
    parameters: &Parameters,
    reservations: &[Reservation],
    port: Port,
) -> Result<Parameters, Error> {
    let mut all = parameters.clone();
    for reservation in reservations {
        let parent = reservation.parent.as_deref();
        let named = |class: &&Class| Some(class.name.as_str()) == parent;
        let within = parameters.classes.iter().find(named);
        let divided = parameters.classes.iter().any(|class| class.parent.as_deref() == parent);
        if let Some(within) = within
            && !divided
        {
            let (name, parent) = (reservation.name.clone(), within.name.clone());
            return Err(Error::ParentIsLeaf { name, parent });
        }
        let has_share = within.is_none_or(|class| class.link_share_m2.is_some());
        all.classes.push(reservation.class(has_share, port)?);
    }
    let rule = |r: &Reservation| Rule { filter: r.filter, priority: 0, class: r.name.clone() };
    all.filters.splice(0..0, reservations.iter().map(rule));
    Ok(all)
}

/// Reservations.
impl Hfsc {
    /// Admits a class, whose packets are told by its filter from now on; an error shows the
    /// arithmetic that refuses it, and changes nothing.
    pub fn reserve(&mut self, reservation: &Reservation) -> Result<(), Error> {
        let mut reservations = self.reservations.clone();
        reservations.push(reservation.clone());
        self.reconfigure(self.base.clone(), reservations)
    }

    /// Gives a reservation's promise back. Its packets that are queued go to the default class; an
    /// error if there is none of this name.
    pub fn release(&mut self, name: &str) -> Result<(), Error> {
        let mut reservations = self.reservations.clone();
        let Some(index) = reservations.iter().position(|r| r.name == name) else {
            let known = match tree::list(reservations.iter().map(|r| r.name.as_str())) {
                none if none.is_empty() => "there are none".into(),
                names => alloc::format!("name one of {names}"),
            };
            return Err(Error::NotReserved { name: name.into(), known });
        };
        reservations.remove(index);
        self.reconfigure(self.base.clone(), reservations)
    }

    /// The reservations in force, the earliest first.
    pub fn reservations(&self) -> &[Reservation] {
        &self.reservations
    }

    /// Takes new parameters and reservations together, or refuses them together.
    pub(super) fn reconfigure(
        &mut self,
        base: Parameters,
        reservations: Vec<Reservation>,
    ) -> Result<(), Error> {
        let all = with_reservations(&base, &reservations, self.port)?;
        let checked = parameters::check(&all, self.port)?;
        let fresh = Self::build(checked, base, all, self.port);
        let old = core::mem::replace(self, fresh);
        self.reservations = reservations;
        self.take_over(old);
        Ok(())
    }
}
