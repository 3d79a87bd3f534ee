//! Costs as a table.

use cost::{Cost, Costs};
use experiment::format;
use record::quantity::digits;

use crate::table::Table;

/// A line for each case, and the meaning of the columns.
pub(super) fn text(costs: &Costs, rounds: usize) -> String {
    let mut table = Table::new(&[
        "queue",
        ">classes",
        ">filters",
        ">flows",
        ">ns",
        ">median",
        ">over fifo",
        ">instructions",
        ">over fifo",
        ">dropped",
    ]);
    for Cost { case, timed, instructions } in &costs.cases {
        let ns = timed.nanoseconds;
        let counted = instructions.map(|i| [i.count, i.over_fifo].map(|n| format!("{n:.0}")));
        let [count, over] = counted.unwrap_or_default();
        table.row([
            case.queue.as_str().into(),
            timed.classes.to_string().into(),
            timed.filters.to_string().into(),
            timed.flows.to_string().into(),
            format!("{:.1}", ns.best).into(),
            format!("{:.1}", ns.median).into(),
            format!("{:.1}", ns.over_fifo).into(),
            count.into(),
            over.into(),
            format!("{} %", digits(timed.dropped_share * 100.0)).into(),
        ]);
    }
    let why = costs.not_counted.as_ref();
    let why =
        why.map_or_else(String::new, |why| format!("Instructions were not counted: {why}.\n"));
    format!(
        "{}\nCost of a packet in, with classification, and a packet out: best and median of {}, minus\n\
         the cost of the same load without a discipline. Instructions are user-mode, counted by \
         callgrind.\n{why}",
        table.render(),
        format::count(rounds, "round")
    )
}
