//! The reference of results: every quantity of every entity in Markdown.

use std::fmt::Write;

use crate::entity::Entity;
use crate::quantity::{Aggregate, Better, Quantity};

/// How columns of tables are named.
const COLUMNS: &str = "\
## Columns of tables

The name of a column has its unit, in each Parquet table of runs and sweeps and in what `suimon export` writes:

| in the name | unit |
| --- | --- |
| `_bytes_per_s` | bytes per second |
| `_bytes` | bytes |
| `_seconds`, `_us`, `_ns` | seconds, microseconds, nanoseconds |
| `_hertz` | hertz |
| `_packets`, `_frames` | packets, frames |
| none of these | a count, an index, a share of 1, a name |

In `sweep.parquet`, the column of a result is its path with the unit at the end: `flow.bulk.goodput_bytes_per_s`. Fields such as
`min_rtt_seconds` and `backlog_bytes_max` already contain the unit. The column of a varied setting has the unit too:
`link.wan.delay_seconds`. The metadata of each file has unit and meaning of its columns, in `suimon.unit.COLUMN` and
`suimon.about.COLUMN`.
";

/// What the results leave out.
const IDLE: &str = "\
## Idle links and nodes

Links and nodes of a topology or a `count` have no entry if nothing went through them: no packet was sent, dropped or queued, no
discipline failed, and no processor was busy. They are counted instead, by the name of their `count`: `idle.link.host` is how many of
`host.1`, `host.2`, … are left out. Links and nodes that `[expect]`, `[compare]`, a probe or a change names have an entry in any
case. `[expect]`, `[compare]`, sweeps and `suimon compare` take 0 for what is left out. [`probe.idle = true`](probe.md) lists all.

";

/// The reference of results in Markdown: every quantity of every entity.
pub fn reference() -> String {
    let mut text = "# Results

The results of a run, by entity. `[expect]`, `[compare]` and sweeps use the column \
                    `name`, as in `flow.bulk.min_rtt`;
`summary.json` has the same value under `field`. `aggregate` \
                    is how the values of several entities, or of both directions
of a link, become one.

\
                    Totals, means and percentiles are of the whole run: slow start and the filling of queues \
                    count.
[`measure.from`](measure.md) leaves the start-up out: `--set measure.from=2s`. Max \
                    queue lengths and values at the
end are of the run up to the end of the interval in either \
                    case.

"
        .to_owned()
        + IDLE
        + COLUMNS;
    for entity in Entity::ALL {
        let _ = write!(text, "\n## `{}`\n\n", entity.place());
        text += "| name | field | unit | aggregate | better | description |\n";
        text += "| --- | --- | --- | --- | --- | --- |\n";
        entity.quantities().iter().for_each(|quantity| row(&mut text, quantity));
    }
    text
}

fn row(text: &mut String, quantity: &Quantity) {
    let Quantity { name, field, kind, what, .. } = quantity;
    let together = match quantity.aggregate {
        Aggregate::Sum => "sum",
        Aggregate::Max => "max",
        Aggregate::Mean => "mean",
        Aggregate::None => "",
    };
    let better = match quantity.better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "",
    };
    let unit = kind.base_unit();
    let _ = writeln!(text, "| `{name}` | `{field}` | {unit} | {together} | {better} | {what} |");
}
