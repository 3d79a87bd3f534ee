//! Reservations within the tree: the rate is checked by the sums that hold for every class, the delay by the
//! formula derived here.
//!
//! A reservation is a leaf of the highest priority that may not borrow, with an estimator that gives it
//! exactly its burst as credit. Let the wire become busy at time 0 with leaves of that priority that are
//! within their rate. Either guideline serves such a leaf before all others, so until all their packets are
//! sent the wire carries only, in bytes of the wire:
//! - a frame F that was in flight;
//! - for each other such leaf, with burst B and rate r, at most `B + r t` by time t and one frame more,
//!   because a leaf may send if it is not over its limit before that (see [`super::meter`]);
//! - for the leaf itself `B' + r' u`, if it keeps to its bucket and the packet in question arrives at u.
//!
//! At a line rate of C that packet is sent by x with `C x = F + B' + r' u + sum(B + F) + sum(r) x`. Its delay
//! `x - u` is longest for u = 0, if the sum of all rates is at most C:
//!
//! ```text
//! delay <= (F + B' + sum(B + F)) / (C - sum(r))
//! ```
//!
//! The round-robin order does not matter, nor do lower priorities except for the one frame. Bytes of bursts
//! and rates count as in the shortest frames, where preamble and gap weigh most. A leaf's own estimator never
//! makes it wait: its credit is its burst, and it may catch up after waiting for its turn.
//!
//! A class that was released or changed may have sent its burst at the start of this busy time, and another
//! class in its place would send its own. The past class therefore counts until that time is over, at most
//! `(F + sum(B + F)) / (C - sum(r))`, or until no leaf of that priority waits.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Cbq;
use super::nodes::{Leaf, Nodes, own_ring};
use super::parameters::{self, Class, Error, Estimator, PRIORITIES, Parameters, frame_max};
use crate::discipline::Port;
use crate::qdisc::promises::{self, PastPromise, Promise, Reservations, refusals};
use crate::reservation::Refusal;
use crate::tree;
use base::packet::FRAME_MIN;
use base::text;
use base::units::{Duration, Instant, PS_PER_SECOND};

/// The priority of reservations.
const HIGHEST: usize = PRIORITIES - 1;

refusals!();

/// A leaf of the highest priority: the bytes that it may send before others of that priority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rival {
    name: String,
    /// The burst, in frame bytes.
    burst: u64,
    /// The rate, in frame bits per second.
    rate: u64,
}

impl Rival {
    fn of(leaf: &Leaf) -> Self {
        let rate = leaf.rate.bits_per_second();
        let bits = u128::from(leaf.meter.credit_max().as_ps()) * u128::from(rate);
        let burst = bits.div_ceil(8 * u128::from(PS_PER_SECOND));
        let burst = u64::try_from(burst).unwrap_or(u64::MAX);
        Self { name: leaf.name.clone(), burst, rate }
    }
}

impl Promise for Rival {
    fn name_mut(&mut self) -> &mut String {
        &mut self.name
    }
}

fn rivals(nodes: &Nodes) -> impl Iterator<Item = Rival> {
    nodes.leaves.iter().filter(|leaf| usize::from(leaf.priority) == HIGHEST).map(Rival::of)
}

/// The joint load of some rivals, in bytes of the wire.
#[derive(Clone, Copy, Debug, Default)]
struct Load {
    /// Bursts, and a frame for each rival other than the one in question.
    bytes: u128,
    /// The sum of the rates, in bit/s.
    rate: u128,
}

impl Load {
    fn of<'a>(rivals: impl Iterator<Item = &'a Rival>, port: Port) -> Self {
        rivals.fold(Self::default(), |sum, rival| Self {
            bytes: sum.bytes + on_wire(rival.burst.into(), port) + frame(port),
            rate: sum.rate + on_wire(rival.rate.into(), port),
        })
    }

    /// When the wire has carried this load, `own` bytes and a frame in flight; `None` if never.
    fn time(self, own: u128, port: Port) -> Option<Duration> {
        let left = u128::from(port.rate.bits_per_second()).checked_sub(self.rate)?;
        let bits = (frame(port) + own + self.bytes).saturating_mul(8 * u128::from(PS_PER_SECOND));
        let ps = (left > 0).then(|| bits.div_ceil(left))?;
        Some(Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX)))
    }
}

/// A longest frame on the wire.
fn frame(port: Port) -> u128 {
    u128::from(frame_max(port)) + u128::from(port.overhead.0)
}

/// Frame bytes, or bits, in the shortest frames on the wire.
fn on_wire(frames: u128, port: Port) -> u128 {
    let least = u128::from(FRAME_MIN);
    frames.saturating_mul(least + u128::from(port.overhead.0)).div_ceil(least)
}

/// A time for people: rounded up, to four digits or more.
fn rounded(time: Duration) -> Duration {
    let units = [1_000_000_000, 1_000_000, 1_000];
    let unit = units.into_iter().find(|unit| time.as_ps() / unit >= 1_000).unwrap_or(1);
    Duration::from_ps(time.as_ps().div_ceil(unit).saturating_mul(unit))
}

/// The parameters with the reservations' classes and filters.
#[inline(never)]
fn with_reservations(
    parameters: &Parameters,
    reservations: &Reservations,
    port: Port,
) -> Result<Parameters, Refusal> {
    let mut all = parameters.clone();
    for request in reservations.list() {
        promises::parent(request, &parameters.classes, Class::branch)?;
        all.classes.push(Class {
            name: request.name.clone(),
            parent: request.parent.clone(),
            rate: Some(request.rate),
            priority: HIGHEST as u32,
            queue: promises::queue(request, port),
            ..Class::default()
        });
    }
    reservations.add_rules(&mut all.filters);
    Ok(all)
}

/// A delay bound that cannot be kept, with the arithmetic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the delay bound of `{name}`, {bound}, cannot be kept: before its last bit there may be {parts}, \
     {bytes} bytes on the wire; the others' rates leave {left} for them; that takes {time}, {excess} too \
     long: allow that much more, lower bursts, or use hfsc, where a delay does not depend on the others' bursts"
)]
pub struct Late {
    /// The reservation: the requested one, or one in force.
    name: String,
    bound: String,
    /// The parts of the delay before the packet's last bit.
    parts: String,
    bytes: u128,
    left: String,
    time: String,
    excess: String,
}

/// The longest delay of any reservation's packets beside `rivals`, which include its own leaf, if each has
/// its bound.
fn check_delays(
    reservations: &Reservations,
    rivals: &[Rival],
    port: Port,
) -> Result<Duration, Error> {
    let mut longest = Duration::ZERO;
    for request in reservations.list() {
        let others: Vec<_> = rivals.iter().filter(|rival| rival.name != request.name).collect();
        let load = Load::of(others.iter().copied(), port);
        let own = on_wire(request.burst.0.into(), port);
        let time = load.time(own, port).unwrap_or(Duration::MAX);
        if time > request.delay {
            let (frame, bytes) = (frame(port), frame(port) + own + load.bytes);
            let mut parts = format!("a frame in flight of {frame} B + its burst of {own} B");
            if !others.is_empty() {
                let names = tree::list(others.iter().map(|rival| rival.name.as_str()));
                parts += &format!(" + {} B of the bursts of {names} and a frame each", load.bytes);
            }
            let left = u128::from(port.rate.bits_per_second()).saturating_sub(load.rate);
            let rounded = rounded(time);
            return Err(Error::Late(Box::new(Late {
                name: request.name.clone(),
                bound: text::time(request.delay),
                parts,
                bytes,
                left: tree::sum_text(left),
                time: text::time(rounded),
                excess: text::time(rounded - request.delay),
            })));
        }
        longest = longest.max(time);
    }
    Ok(longest)
}

/// Checks that the link carries the rivals' rates in frames of any length.
fn check_rates(rivals: &[Rival], port: Port) -> Result<(), Error> {
    let (link, needs) = (port.rate.bits_per_second(), Load::of(rivals.iter(), port).rate);
    if needs <= link.into() {
        return Ok(());
    }
    let sum: u128 = rivals.iter().map(|rival| u128::from(rival.rate)).sum();
    let wire = on_wire(FRAME_MIN.into(), port);
    let most = u128::from(link) * u128::from(FRAME_MIN) / wire;
    Err(Error::Wire {
        classes: tree::list(rivals.iter().map(|rival| rival.name.as_str())),
        sum: tree::sum_text(sum),
        wire,
        needs: tree::sum_text(needs),
        has: port.rate,
        excess: tree::sum_text(sum.saturating_sub(most).max(1)),
    })
}

impl Cbq {
    /// Takes new parameters and reservations together, or refuses them together.
    pub(super) fn reconfigure(
        &mut self,
        base: Parameters,
        reservations: Reservations,
        now: Instant,
    ) -> Result<(), Error> {
        let all = with_reservations(&base, &reservations, self.port)?;
        let mut checked = parameters::check(&all, self.port)?;
        let reserved = &mut checked.figures[base.classes.len()..];
        for (figures, request) in reserved.iter_mut().zip(reservations.list()) {
            figures.credit = Some(request.rate.time_for(request.burst));
        }
        let mut fresh = Nodes::new(&all, checked, self.port);
        let mut rivals: Vec<_> = rivals(&fresh).collect();
        let past_promises = self.past_promises(&rivals);
        if !reservations.list().is_empty() {
            if base.estimator == Estimator::Average {
                return Err(Error::Forgetful);
            }
            rivals.extend(past_promises.iter().map(|past| past.promise.clone()));
            check_rates(&rivals, self.port)?;
            fresh.round = fresh.round.max(check_delays(&reservations, &rivals, self.port)?);
        }
        self.past_promises = past_promises;
        (self.base, self.reservations) = (base, reservations);
        self.take_over(fresh, &all, now);
        Ok(())
    }

    /// The past promises that still count in addition to `new`: those removed or changed.
    #[inline(never)]
    fn past_promises(&self, new: &[Rival]) -> Vec<PastPromise<Rival>> {
        if self.nodes.rings.head(own_ring(HIGHEST)).is_none() {
            return Vec::new();
        }
        let busy = |rivals: &[&Rival]| {
            let load = Load::of(rivals.iter().copied(), self.port);
            load.time(0, self.port).unwrap_or(Duration::MAX)
        };
        PastPromise::beside(
            new,
            rivals(&self.nodes).collect(),
            &self.past_promises,
            self.wire.free,
            busy,
        )
    }
}
