//! The rows of the members of a count, such as 64 ports of a switch, as one row with the range of each column.

use std::collections::BTreeMap;

use scenario::Units;

use super::Cell;

/// Fewer rows than these are not folded: they are as easy to read.
pub const FOLDED_MIN: usize = 8;

/// A row, or several as one.
#[derive(Debug)]
pub(super) struct Row<'g> {
    pub(super) cells: &'g [Cell],
    /// Name, number and ranges of the rows that this one stands for.
    pub(super) folded: Option<Folded>,
}

/// What several rows have in common.
#[derive(Debug)]
pub(super) struct Folded {
    /// Their name with `*` for the numbers of members: `tor:rack.*`.
    pub(super) name: String,
    pub(super) rows: usize,
    /// The other columns, in units of the column.
    pub(super) ranges: Vec<String>,
}

/// Folds the rows of members of one count, where `units` are those of the columns. Each is where its first row is.
pub(super) fn rows<'g>(rows: &'g [Vec<Cell>], units: &[Units]) -> Vec<Row<'g>> {
    let kinds: Vec<Option<String>> = rows.iter().map(|row| kind(row)).collect();
    let mut members: BTreeMap<&str, Vec<&[Cell]>> = BTreeMap::new();
    for (row, kind) in rows.iter().zip(&kinds) {
        kind.iter().for_each(|kind| members.entry(kind).or_default().push(row));
    }
    members.retain(|_, members| members.len() >= FOLDED_MIN);
    let mut folded = Vec::new();
    for (row, kind) in rows.iter().zip(&kinds) {
        let Some((kind, found)) = kind.as_deref().and_then(|k| members.get_key_value(k)) else {
            folded.push(Row { cells: row, folded: None });
            continue;
        };
        if std::ptr::eq(found[0], row.as_slice()) {
            let columns = units.iter().enumerate().skip(1);
            let ranges = columns.map(|(column, units)| range(found, column, *units)).collect();
            let folded_rows = Folded { name: (*kind).to_owned(), rows: found.len(), ranges };
            folded.push(Row { cells: row, folded: Some(folded_rows) });
        }
    }
    folded
}

fn kind(row: &[Cell]) -> Option<String> {
    let Some(Cell::Text(name)) = row.first() else { return None };
    name_of_members(name)
}

/// Returns a name with `*` for each number of a member of a count, `tor:rack.*` for `tor:rack.7`; none if it has no
/// such number.
pub fn name_of_members(name: &str) -> Option<String> {
    let mut parts = name.split('.');
    let mut kind = parts.next()?.to_owned();
    let mut found = false;
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = rest.len() < part.len() && !rest.starts_with(|c: char| c.is_alphanumeric());
        found |= number;
        kind += &if number { format!(".*{rest}") } else { format!(".{part}") };
    }
    found.then_some(kind)
}

/// Returns a column's least and greatest number, or its text where all rows have the same.
fn range(rows: &[&[Cell]], column: usize, units: Units) -> String {
    let cells = || rows.iter().filter_map(|row| row.get(column));
    let Some(first) = cells().next() else { return String::new() };
    let first = shown(first, units);
    if cells().all(|cell| shown(cell, units) == first) {
        return first;
    }
    let numbers = cells().filter_map(|cell| Some((cell.value()?, cell)));
    let mut numbers: Vec<(f64, &Cell)> = numbers.collect();
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    match numbers.as_slice() {
        [(_, least), .., (_, greatest)] => {
            format!("{} .. {}", shown(least, units), shown(greatest, units))
        }
        _ => "…".to_owned(),
    }
}

/// What a cell shows, as text.
fn shown(cell: &Cell, units: Units) -> String {
    match cell {
        Cell::Measure(measure) => measure.text.clone(),
        Cell::Quantity(kind, value, _) => units.unit(*kind).show(*value),
        Cell::Text(text) | Cell::Number(text) => text.clone(),
        Cell::Held(held) => if *held { "✓ holds" } else { "✗ fails" }.to_owned(),
    }
}

impl Cell {
    /// Its number, if it is one of the summary or a quantity.
    fn value(&self) -> Option<f64> {
        match self {
            Self::Measure(measure) => measure.value.parse().ok(),
            Self::Quantity(_, value, _) => Some(*value),
            Self::Text(_) | Self::Number(_) | Self::Held(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Cell, Grid};

    fn html(names: &[String], drops: impl Fn(usize) -> u32) -> String {
        let mut grid = Grid::new(&["Port", "Drops", "Why"]).at_most(20);
        for (place, name) in names.iter().enumerate() {
            let (path, drops) = (format!("link.{name}.drops"), drops(place));
            let drops = Cell::measure(path, f64::from(drops), drops);
            grid.row(vec![Cell::text_of(name), drops, Cell::text_of("full")]);
        }
        let mut html = String::new();
        grid.write(&mut html);
        html
    }

    #[test]
    fn ports_of_a_count_are_one_row_that_opens() {
        let ports = (1..=64).flat_map(|n| [format!("tor:rack.{n}"), format!("a.{n}:rack.{n} p3")]);
        let names: Vec<String> = ports.chain(["tor:builder".to_owned()]).collect();
        let html = html(&names, |place| place as u32 * 3);
        let (first, rest) = html.split_once("<details").expect("what opens");
        assert_eq!(first.matches("<tr>").count(), 1 + 3, "{first}");
        assert!(
            first.contains("<td>tor:rack.* × 64</td><td class=\"n\">0 .. 378</td><td>full</td>")
        );
        assert!(first.contains("<td>a.*:rack.* p3 × 64</td>"), "{first}");
        assert!(first.contains("<td>tor:builder</td>"), "a port by itself stays");
        assert!(rest.contains("129 rows</summary>") && rest.contains("link.tor:rack.1.drops"));
        assert_eq!(rest.matches("<tr>").count(), 1 + 20, "within the limit");
    }

    #[test]
    fn a_number_that_all_share_is_shown_once_and_few_rows_stay() {
        let names: Vec<String> = (1..=9).map(|n| format!("f.{n}")).collect();
        let many = html(&names, |_| 7);
        assert!(many.contains("<td>f.* × 9</td><td class=\"n\">7</td>"), "{many}");
        let few = html(&names[..7], |_| 7);
        assert!(!few.contains("<details") && few.matches("<tr>").count() == 8, "{few}");
        let versions: Vec<String> = (1..=9).map(|n| format!("linux-6.{n}x")).collect();
        assert!(!html(&versions, |_| 7).contains("<details"), "no members of a count");
    }
}
