//! Starts and sizes of flows, with a check that all flows start: a flow with a start after the end of the run would
//! be missing silently.

use base::{Distribution, Duration, Instant};

use super::load;
use super::network::{Ends, Network};
use crate::diagnostic::Problems;
use crate::file;
use crate::plan::Demand;
use crate::quantity;
use crate::value::Name;

/// The demand of a table with this number of flows between these pairs of hosts.
pub(super) fn read(
    table: &file::Flow,
    members: usize,
    pairs: &[Ends],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Demand> {
    let declared = table.demand();
    let demand = declared.read(problems);
    let bytes = demand.as_ref().and_then(|demand| demand.bytes.as_ref());
    let load = match table.workloads().triggered() {
        None => load::stagger(table, bytes, pairs, network, problems),
        // The load determines the triggers.
        Some(_) => None,
    };
    let mut demand = demand?;
    demand.stagger = match members {
        // A single flow has no successor.
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

/// Reports a table with flows that start after the end of the run or after their stop. Random starts depend on the
/// seed and are left to the warnings.
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
    let stagger = table.demand().span_of("stagger");
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
