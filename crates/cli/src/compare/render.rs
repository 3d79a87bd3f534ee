//! A comparison as text.

use experiment::compare::{Judgement, Table as Words};

use crate::table::{Cell, Table};

/// A table, and a line about the rows it omits.
pub(super) fn text(words: &Words) -> String {
    let last = words.head.len().saturating_sub(1);
    let head = words.head.iter().enumerate();
    let head = head.map(|(place, head)| match (words.names..last).contains(&place) {
        true => format!(">{head}"),
        false => head.clone(),
    });
    let mut table = Table::new(&head.collect::<Vec<_>>());
    for (words, judgement) in &words.rows {
        let mut cells: Vec<Cell> = words.iter().map(|word| word.as_str().into()).collect();
        cells.push(match judgement {
            Judgement::Judged(ok) => Cell::verdict(*ok),
            Judgement::Note(text) => (*text).into(),
        });
        table.row(cells);
    }
    let table = if table.is_empty() { String::new() } else { table.render() };
    let left_out = words.left_out.as_ref().map_or_else(String::new, |text| format!("{text}\n"));
    format!("{table}{left_out}")
}
