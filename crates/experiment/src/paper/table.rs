//! Tables of a paper: several runs over the same cells, by quantities. Each row of a quantity becomes an item.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::published::{Case, Item, Limits, Over};

/// A table: a row for each run, a column for each cell, once for each quantity.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// Its name: `MANY`.
    pub(super) table: String,
    /// The meaning of the columns: `senders`.
    pub(super) columns_are: String,
    /// The columns, cells of every row's run.
    pub(super) columns: Vec<String>,
    /// The rows.
    pub(super) row: Vec<Row>,
    /// The measured quantities.
    pub(super) quantity: Vec<Quantity>,
    /// A note for the reader.
    #[serde(default)]
    pub(super) note: String,
}

/// A row of every quantity.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    /// The label: `CUBIC`.
    pub(super) label: String,
    /// The run that measures it.
    pub(super) run: String,
    /// The columns of this row; all by default.
    columns: Option<Vec<String>>,
    /// The limits, by quantity.
    #[serde(default)]
    limits: BTreeMap<String, RowLimits>,
    /// An additional factor, by quantity.
    #[serde(default)]
    scale: BTreeMap<String, f64>,
}

/// The limits of a row's values.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RowLimits {
    /// The lower limit.
    low: Option<f64>,
    /// The upper limit.
    high: Option<f64>,
    /// The columns that are known to miss the limits: they are shown as such, and nothing fails.
    #[serde(default)]
    short: Vec<String>,
}

/// A quantity of every row.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quantity {
    /// The measured quantity: `goodput`.
    pub(super) quantity: String,
    /// The unit: `Gbit/s`; none for a ratio or count.
    #[serde(default)]
    pub(super) unit: String,
    /// The quantity in the summary.
    path: String,
    /// The factor from the run's value to the measured value.
    #[serde(default = "one")]
    scale: f64,
    /// An additional factor, by column.
    #[serde(default)]
    columns: BTreeMap<String, f64>,
    /// The divisor, a quantity of the same run: makes a ratio.
    over: Option<String>,
    /// Whether the value is proportional to the rates.
    #[serde(default)]
    of_rate: bool,
    /// The columns without this quantity.
    #[serde(default)]
    without: Vec<String>,
}

const fn one() -> f64 {
    1.0
}

/// The position of an item in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InTable {
    /// The table's index in the paper.
    pub(super) table: usize,
    /// The quantity's index in the table.
    pub(super) quantity: usize,
    /// The row's index in the table.
    pub(super) row: usize,
}

impl Table {
    /// The table's items, quantity by quantity; `table` is its index in the paper.
    ///
    /// # Errors
    /// A row with a column or quantity that the table does not have.
    pub(super) fn items(&self, table: usize) -> Result<Vec<Item>, String> {
        for row in &self.row {
            row.check(self).map_err(|what| format!("{} {}: no {what}", self.table, row.label))?;
        }
        let mut items = Vec::new();
        for (number, quantity) in self.quantity.iter().enumerate() {
            for (place, row) in self.row.iter().enumerate() {
                let place = InTable { table, quantity: number, row: place };
                items.push(self.item(quantity, row, place));
            }
        }
        Ok(items)
    }

    fn item(&self, quantity: &Quantity, row: &Row, place: InTable) -> Item {
        let columns = row.columns.as_ref().unwrap_or(&self.columns);
        let with = columns.iter().filter(|column| !quantity.without.contains(column));
        let limits = row.limits.get(&quantity.quantity).cloned().unwrap_or_default();
        let scale = quantity.scale * row.scale.get(&quantity.quantity).copied().unwrap_or(1.0);
        let over = |path: &String| Over { path: Some(path.clone()), ..Over::default() };
        let case = |column: &String| {
            let asked = Limits { low: limits.low, high: limits.high };
            let short = limits.short.contains(column);
            let kept = if short { Limits::default() } else { asked };
            let short_of = short.then_some(asked);
            Case {
                case: column.clone(),
                low: kept.low,
                high: kept.high,
                short_of,
                scale: quantity.columns.get(column).map(|by| by * scale),
                ..Case::default()
            }
        };
        Item {
            item: self.table.clone(),
            quantity: format!("{}, {}", quantity.quantity, row.label),
            unit: quantity.unit.clone(),
            run: Some(row.run.clone()),
            path: Some(quantity.path.clone()),
            scale,
            over: quantity.over.as_ref().map(over),
            of_rate: quantity.of_rate,
            cases: with.map(case).collect(),
            place: Some(place),
            ..Item::default()
        }
    }
}

impl Row {
    /// The limits of its values of a quantity: lower, upper.
    pub(super) fn asked(&self, quantity: &str) -> Option<(Option<f64>, Option<f64>)> {
        self.limits.get(quantity).map(|limits| (limits.low, limits.high))
    }

    /// Fails with the column or quantity that this row names and the table does not have.
    fn check(&self, table: &Table) -> Result<(), String> {
        let short = self.limits.values().flat_map(|limits| &limits.short);
        let mut columns = self.columns.iter().flatten().chain(short);
        if let Some(unknown) = columns.find(|column| !table.columns.contains(column)) {
            return Err(format!("column `{unknown}`"));
        }
        let is = |name: &String| table.quantity.iter().any(|quantity| quantity.quantity == *name);
        let mut quantities = self.limits.keys().chain(self.scale.keys());
        quantities.find(|name| !is(name)).map_or(Ok(()), |name| Err(format!("quantity `{name}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
table = "MANY"
columns_are = "senders"
columns = ["1", "2", "4"]
row = [
    { label = "CUBIC", run = "cubic" },
    { label = "sluice", run = "sluice", columns = ["2", "4"], limits = { fairness = { low = 0.999, short = ["4"] } } },
]
quantity = [
    { quantity = "goodput", unit = "Gbit/s", path = "run.goodput", scale = 8e-9, of_rate = true },
    { quantity = "fairness", path = "run.fairness", without = ["1"] },
]
"#;

    #[test]
    fn a_table_is_an_item_for_each_row_of_each_quantity() {
        let table: Table = toml::from_str(TABLE).expect("a table");
        let items = table.items(0).expect("items");
        let told = items.iter().map(|item| (item.quantity.as_str(), item.cases.len()));
        let wanted = [
            ("goodput, CUBIC", 3),
            ("goodput, sluice", 2),
            ("fairness, CUBIC", 2),
            ("fairness, sluice", 2),
        ];
        assert!(told.eq(wanted), "{items:?}");
        let [two, four] = &items[3].cases[..] else { panic!("{items:?}") };
        assert_eq!((two.low, two.short_of.is_some()), (Some(0.999), false));
        assert_eq!((four.low, four.short_of.and_then(|limits| limits.low)), (None, Some(0.999)));
    }

    #[test]
    fn what_a_row_names_must_be_there() {
        for (from, to, told) in [
            ("short = [\"4\"]", "short = [\"5\"]", "MANY sluice: no column `5`"),
            ("limits = { fairness", "limits = { fairnes", "MANY sluice: no quantity `fairnes`"),
        ] {
            let table: Table = toml::from_str(&TABLE.replace(from, to)).expect("a table");
            assert_eq!(table.items(0).map(|_| ()), Err(told.to_owned()));
        }
    }
}
