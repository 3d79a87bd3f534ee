//! The rows of the members of a count, such as the ports of 64 hosts, as one row with the range of each column.

use std::collections::BTreeMap;

use report::{FOLDED_MIN, name_of_members};

use super::cell::Cell;

/// Folds formatted rows by their names, which are in the first column. Each is where its first row is.
pub(super) fn rows(rows: &[Vec<Cell>]) -> Vec<Vec<Cell>> {
    let name = |row: &Vec<Cell>| name_of_members(&row.first()?.text);
    let names: Vec<Option<String>> = rows.iter().map(name).collect();
    let mut members: BTreeMap<&str, Vec<&[Cell]>> = BTreeMap::new();
    for (row, name) in rows.iter().zip(&names) {
        name.iter().for_each(|name| members.entry(name).or_default().push(row));
    }
    members.retain(|_, members| members.len() >= FOLDED_MIN);
    let mut folded = Vec::new();
    for (row, name) in rows.iter().zip(&names) {
        match name.as_deref().and_then(|name| members.get_key_value(name)) {
            Some((name, members)) if std::ptr::eq(members[0], row.as_slice()) => {
                let ranges = (1..row.len()).map(|column| range(members, column));
                let name = format!("{name} × {}", members.len()).into();
                folded.push([name].into_iter().chain(ranges).collect());
            }
            Some(_) => {}
            // Its text is in the unit of the column.
            None => folded
                .push(row.iter().cloned().map(|cell| Cell { quantity: None, ..cell }).collect()),
        }
    }
    folded
}

/// A column's minimum and maximum, or its text if all rows have the same.
fn range(rows: &[&[Cell]], column: usize) -> Cell {
    let cells = || rows.iter().filter_map(|row| row.get(column));
    let Some(first) = cells().next() else { return String::new().into() };
    if cells().all(|cell| cell.text == first.text) {
        return first.text.clone().into();
    }
    let mut quantities: Vec<(f64, &str)> =
        cells().filter_map(|cell| Some((cell.quantity?.1, cell.text.as_str()))).collect();
    quantities.sort_by(|a, b| a.0.total_cmp(&b.0));
    match quantities.as_slice() {
        [(_, min), .., (_, max)] if min != max => format!("{min} .. {max}").into(),
        [(_, text), ..] => (*text).into(),
        [] => "…".into(),
    }
}

#[cfg(test)]
mod tests {
    use record::quantity::Kind;
    use scenario::Units;

    use crate::table::{Cell, Table};

    fn text(hosts: usize, shown: usize) -> String {
        let mut table =
            Table::new(&["class", ">rate", ">wait", ">drops"]).in_units(Units::default());
        for host in 1..=hosts {
            let rate = Cell::quantity(Kind::Rate, 1.25e6 * host as f64);
            let wait = Cell::measured(Kind::Time, (host > 1).then_some(0.002));
            table.row([format!("h.{host}:l.{host} all").into(), rate, wait, "0".into()]);
        }
        table.row(["r:out all".into(), Cell::quantity(Kind::Rate, 1.25e9), "".into(), "7".into()]);
        anstream::adapter::strip_str(&table.folded().at_most(shown).render()).to_string()
    }

    #[test]
    fn classes_of_a_counts_ports_are_one_row() {
        let wanted = "class                                rate  wait  drops\n\
                      h.*:l.* all × 64  10 Mbit/s .. 640 Mbit/s  2 ms      0\n\
                      r:out all                    10000 Mbit/s            7\n";
        assert_eq!(text(64, 24), wanted);
    }

    #[test]
    fn few_rows_stay_as_they_are() {
        assert_eq!(text(7, 24).lines().count(), 1 + 7 + 1);
        assert_eq!(text(7, 5).lines().count(), 1 + 5);
        assert_eq!(text(8, 24).lines().count(), 1 + 1 + 1);
    }
}
