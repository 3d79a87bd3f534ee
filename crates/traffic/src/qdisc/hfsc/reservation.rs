//! Reservations by curves. A reservation is admitted if the sum of all curves stays under the link's line at
//! every time.
//!
//! A reservation stays through a change of parameters. The change is refused if both together promise too
//! much.
//!
//! A class that was released or changed may have sent its burst just before, and a class in its place would
//! send its own: together more than the checked sum of curves. So its curve counts until all packets that
//! were eligible with it are sent. By time t after this began, these are for each class at most the service
//! of its curve without a late start, and a frame. With the frame in flight, the link has carried them, at a
//! rate of C, by the time
//!
//! ```text
//! (F + sum(F + (m1 - m2) d, where m1 > m2)) / (C - sum(m2))
//! ```
//!
//! or earlier, when nothing is eligible.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::admission::{Guarantee, guaranteed};
use super::curve::{self, Curve, PICOBITS_PER_BYTE};
use super::error::Error;
use super::parameters::{self, Class, Parameters};
use super::{Hfsc, wire_time_max};
use crate::discipline::Port;
use crate::qdisc::promises::{self, PastPromise, Promise, Reservations, refusals};
use crate::reservation::Request;
use base::text;
use base::units::{Duration, Instant, Rate};

refusals!();

/// The class with curves that keep the promise. A packet may be sent up to one longest frame's time after its
/// deadline, so the curve is that much earlier than the bound.
fn class(request: &Request, has_share: bool, port: Port) -> Result<Class, Error> {
    let frame = wire_time_max(port);
    if request.delay <= frame {
        let [bound, frame] = [request.delay, frame].map(text::time);
        return Err(Error::Bound { name: request.name.clone(), bound, frame });
    }
    let rate = request.rate.bits_per_second();
    let curve = curve::for_burst(rate, request.burst.0, request.delay - frame);
    Ok(Class {
        name: request.name.clone(),
        parent: request.parent.clone(),
        real_time_m1: Rate::from_bits_per_second(curve.m1),
        real_time_d: Duration::from_ps(curve.d),
        real_time_m2: Some(request.rate),
        link_share_m2: has_share.then_some(request.rate),
        queue: promises::queue(request, port),
        ..Class::default()
    })
}

/// The parameters with the reservations' classes and filters. If the parent class shares the link with its
/// siblings, so does the reservation, with its rate as weight.
pub(super) fn with_reservations(
    parameters: &Parameters,
    reservations: &Reservations,
    port: Port,
) -> Result<Parameters, Error> {
    let mut all = parameters.clone();
    for request in reservations.list() {
        let within = promises::parent(request, &parameters.classes, Class::branch)?;
        let has_share = within.is_none_or(|class| class.link_share_m2.is_some());
        all.classes.push(class(request, has_share, port)?);
    }
    reservations.add_rules(&mut all.filters);
    Ok(all)
}

impl Promise for Guarantee {
    fn name_mut(&mut self) -> &mut String {
        &mut self.name
    }
}

/// The longest time without a break in which a class may be eligible.
fn busy_max<'a>(curves: impl Iterator<Item = &'a Curve>, frame: u64, port: Port) -> Duration {
    let frame = u128::from(frame) * PICOBITS_PER_BYTE;
    let (bits, rate) = curves.fold((frame, 0), |(bits, rate): (u128, u128), curve| {
        (bits + frame + curve.head_start(), rate + u128::from(curve.m2))
    });
    let left = u128::from(port.rate.bits_per_second()).checked_sub(rate);
    let time = left.filter(|&left| left > 0).map_or(u128::MAX, |left| bits.div_ceil(left));
    Duration::from_ps(u64::try_from(time).unwrap_or(u64::MAX))
}

impl Hfsc {
    /// Takes new parameters and reservations together, or refuses them together.
    pub(super) fn reconfigure(
        &mut self,
        base: Parameters,
        reservations: Reservations,
        now: Instant,
    ) -> Result<(), Error> {
        let all = with_reservations(&base, &reservations, self.port)?;
        let checked = parameters::check(&all, self.port)?;
        let mut new = guaranteed(&all.classes, &checked.curves);
        let past_promises = self.past_promises(&new, now)?;
        if !reservations.list().is_empty() {
            new.extend(past_promises.iter().map(|past| past.promise.clone()));
            parameters::check_link(&new, self.port)?;
        }
        let mut old = Box::new(Self::build(checked, base, all, self.port));
        core::mem::swap(self, &mut old);
        self.reservations = reservations;
        self.past_promises = past_promises;
        self.take_over(old, now);
        Ok(())
    }

    /// The past promises that still count in addition to `new`: those removed or changed.
    #[inline(never)]
    fn past_promises(
        &mut self,
        new: &[Guarantee],
        now: Instant,
    ) -> Result<Vec<PastPromise<Guarantee>>, Error> {
        if self.deadlines.first(now.as_ps(), &mut self.seats).is_none() {
            return Ok(Vec::new());
        }
        let curves = parameters::check(&self.parameters, self.port)?.curves;
        let old = guaranteed(&self.parameters.classes, &curves);
        let busy = |promises: &[&Guarantee]| {
            let curves = promises.iter().map(|promise| &promise.curve);
            busy_max(curves, self.frame_max(), self.port)
        };
        Ok(PastPromise::beside(new, old, &self.past_promises, now, busy))
    }
}
