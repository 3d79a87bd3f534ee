//! When flows start, and whether they start at all: a flow that a stagger puts behind the end would be
//! missing without a word.

use traffic::{Distribution, Duration, Instant};

use super::Network;
use crate::arrival::Arrival;
use crate::diagnostic::Problems;
use crate::file;
use crate::quantity;
use crate::value::{Name, Quantity, RandomTimeUnit};

/// What the table says of the starts, or its load of the stagger.
pub(super) fn read(
    table: &file::Flow,
    members: usize,
    load: Option<Distribution<Duration>>,
    problems: &mut Problems,
) -> Option<Arrival> {
    const NONE: Distribution<Duration> = Distribution::Fixed(Duration::ZERO);
    let time = |time: Option<&Quantity<RandomTimeUnit>>, problems: &mut Problems| {
        time.map_or(Some(NONE), |quantity| quantity.read(problems))
    };
    let start = time(table.start.as_ref(), problems);
    let stagger = time(table.stagger.as_ref(), problems);
    let (start, stagger) = (start?, load.or(stagger)?);
    // One flow has no next one.
    Some(Arrival { start, stagger: if members > 1 { stagger } else { NONE } })
}

/// Complains where not all of a table's flows start before the run ends or they stop. What is drawn at random
/// is left to the warnings: it differs with the seed.
pub(super) fn check(
    name: &Name,
    table: &file::Flow,
    (pairs, stop): (usize, Instant),
    (arrival, starts): (&Arrival, &[Instant]),
    network: &Network<'_>,
    problems: &mut Problems,
) {
    let end = stop.min(Instant::ZERO + network.duration);
    let (Some(quantity), Some(&last)) = (&table.stagger, starts.last()) else { return };
    let begun = starts.iter().filter(|&&start| start < end).count();
    if !arrival.is_fixed() || begun == starts.len() || begun == 0 {
        return;
    }
    let time = |instant: Instant| quantity::nearly(instant - Instant::ZERO);
    let (what, key) = match stop < Instant::ZERO + network.duration {
        true => ("they stop", format!("flow.{}.stop", name.text)),
        false => ("the run ends", "duration".to_owned()),
    };
    let message = format!(
        "only {begun} of {} flows start before {what} at {}: the last would start at {}",
        starts.len(),
        time(end),
        time(last)
    );
    let room = (end - starts[0]).as_ps() / (starts.len() as u64 - 1);
    let stagger = quantity::nearly(Duration::from_ps(room));
    let mut help = format!("set `flow.{}.stagger` below {stagger}, ", name.text);
    if table.count.is_some() && begun >= pairs {
        help += &format!("`flow.{}.count` to {} or less, ", name.text, begun / pairs);
    }
    help += &format!("or `{key}` above {}", time(last));
    problems.push(&quantity.span, message, help);
}
