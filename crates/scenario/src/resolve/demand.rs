//! When flows send and how much, and whether they start at all: a flow that a stagger puts behind the end would be
//! missing without a word.

use traffic::{Distribution, Duration, Instant};

use super::flows::Ends;
use super::{Network, load};
use crate::diagnostic::Problems;
use crate::file;
use crate::plan::Demand;
use crate::quantity;
use crate::value::Name;

/// What the table says of so many flows between these pairs of hosts.
pub(super) fn read(
    table: &file::Flow,
    members: usize,
    pairs: &[Ends],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Demand> {
    let (_, declared) = &table.settings;
    let demand = declared.read(problems);
    let bytes = demand.as_ref().and_then(|demand| demand.bytes.as_ref());
    let load = match &table.events {
        None => load::stagger(table, bytes, pairs, network, problems),
        // Its triggers make the load.
        Some(_) => None,
    };
    let mut demand = demand?;
    demand.stagger = match members {
        // One flow has no next one.
        ..=1 => Distribution::Fixed(Duration::ZERO),
        _ => load.unwrap_or(demand.stagger),
    };
    let start = demand.start.min();
    if let Some(span) = declared.span_of("start").filter(|_| start >= network.duration) {
        let help = "set `start` below `duration`";
        problems.push(span, "the flow starts after the end of the run", help);
    }
    if let Some(span) = declared.span_of("stop").filter(|_| demand.stop <= Some(start)) {
        let help = "set `stop` above `start`; both count from the start of the run";
        problems.push(span, "the flow stops before it starts", help);
    }
    Some(demand)
}

/// Complains where not all of a table's flows start before the run ends or they stop. What is drawn at random
/// is left to the warnings: it differs with the seed.
pub(super) fn check(
    name: &Name,
    table: &file::Flow,
    pairs: usize,
    (demand, starts): (&Demand, &[Instant]),
    network: &Network<'_>,
    problems: &mut Problems,
) {
    let stop = demand.stops();
    let end = stop.min(Instant::ZERO + network.duration);
    let stagger = table.settings.1.span_of("stagger");
    let (Some(span), Some(&last)) = (stagger, starts.last()) else { return };
    let begun = starts.iter().filter(|&&start| start < end).count();
    if !demand.is_fixed() || begun == starts.len() || begun == 0 {
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
    problems.push(span, message, help);
}
