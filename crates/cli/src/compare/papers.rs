//! A paper's figures by several drivers.

use std::path::Path;

use report::Cell as PageCell;
use report::confidence::Interval;
use report::differences::{Differences, Row as PageRow};
use results::paper::{Item, Results};
use results::quantity::digits;
use serde_json::{Value, json};

use super::render_groups::{number, percent};
use super::{Arguments, answer, difference};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::format;
use crate::paper::ITEMS;
use crate::table::{Cell, Table};

/// One figure, by all of them.
struct Row<'a> {
    /// As the first that has it.
    item: &'a Item,
    /// What each has; none where its runs were left out.
    all: Vec<Option<&'a Item>>,
}

impl Row<'_> {
    /// Whether each keeps its own limits.
    fn ok(&self) -> bool {
        self.all.iter().flatten().all(|item| item.ok)
    }

    fn measured(&self, paper: usize) -> Option<f64> {
        self.all.get(paper).copied().flatten().map(|item| item.measured)
    }

    fn is_judged(&self) -> bool {
        self.all.iter().flatten().any(|item| item.low.is_some() || item.high.is_some())
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let papers = arguments.folders.iter().map(|folder| read(folder));
    let papers: Vec<Results> = papers.collect::<Result<_, _>>()?;
    for (paper, folder) in papers.iter().zip(&arguments.folders) {
        if paper.paper != papers[0].paper {
            let message = format!("{} is of paper {}", folder.display(), paper.paper);
            return Err(Failure::usage(message, format!("compare folders of {}", papers[0].paper)));
        }
    }
    let rows = rows(&papers, arguments.all);
    let ok = rows.iter().all(Row::ok);
    answer(
        arguments,
        || Ok(page(&papers, &rows)),
        || as_json(&papers, &rows, ok),
        || as_text(&papers, &rows),
    )?;
    Ok(Exit::met(ok))
}

fn read(folder: &Path) -> Result<Results, Failure> {
    let path = folder.join(ITEMS);
    let text = std::fs::read_to_string(&path).map_err(Failure::file(&path))?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Failure::usage(
            message,
            "run `suimon paper` again: the file is damaged or of an older version",
        )
    })
}

/// Every figure that at least two of them have, or `all`.
fn rows(papers: &[Results], all: bool) -> Vec<Row<'_>> {
    let same =
        |a: &Item, b: &Item| (&a.item, &a.quantity, &a.case) == (&b.item, &b.quantity, &b.case);
    let mut rows: Vec<Row<'_>> = Vec::new();
    for item in papers.iter().flat_map(|paper| &paper.items) {
        if !rows.iter().any(|row| same(row.item, item)) {
            let of = |paper: &'_ Results| paper.items.iter().position(|known| same(known, item));
            let found = papers.iter().map(|paper| of(paper).and_then(|at| paper.items.get(at)));
            rows.push(Row { item, all: found.collect() });
        }
    }
    rows.retain(|row| all || row.all.iter().flatten().count() > 1);
    rows
}

/// Item, case, published, what each measured, and of each what it differs by from the first and from
/// what was published.
fn as_text(papers: &[Results], rows: &[Row<'_>]) -> String {
    let first = &papers[0].driver;
    let mut headings = ["item", "case", ">published"].map(str::to_owned).to_vec();
    headings.extend(papers.iter().map(|paper| format!(">{}", paper.driver)));
    headings.extend(papers.iter().skip(1).map(|paper| format!(">{}/{first}", paper.driver)));
    headings.extend(papers.iter().map(|paper| format!(">{}/published", paper.driver)));
    headings.extend([">allowed", "verdict"].map(str::to_owned));
    let mut table = Table::new(&headings);
    let mut above = None;
    for row in rows {
        let name = name(row.item);
        table.row(cells(row, papers.len(), if above.as_ref() == Some(&name) { "" } else { &name }));
        above = Some(name);
    }
    if table.is_empty() {
        return "they have no item in common\n".to_owned();
    }
    table.render()
}

fn name(item: &Item) -> String {
    let unit = if item.unit.is_empty() { String::new() } else { format!(" ({})", item.unit) };
    format!("{} {}{unit}", item.item, item.quantity)
}

fn cells(row: &Row<'_>, papers: usize, name: &str) -> Vec<Cell> {
    let optional = |value: Option<f64>| value.map_or_else(String::new, digits);
    let apart = |reference: Option<f64>, value: Option<f64>| match (reference, value) {
        (Some(reference), Some(value)) => difference::text(reference, value, digits),
        _ => String::new(),
    };
    let mut cells: Vec<Cell> =
        vec![name.into(), row.item.case.as_str().into(), optional(row.item.published).into()];
    cells.extend((0..papers).map(|paper| optional(row.measured(paper)).into()));
    cells.extend((1..papers).map(|paper| apart(row.measured(0), row.measured(paper)).into()));
    cells.extend((0..papers).map(|paper| apart(row.item.published, row.measured(paper)).into()));
    let limits = row.all.iter().flatten().next_back();
    let limits = limits.map(|item| format::range(item.low, item.high, digits));
    cells.push(limits.unwrap_or_default().into());
    cells.push(if row.is_judged() { Cell::verdict(row.ok()) } else { "".into() });
    cells
}

/// `{"paper","drivers":[…],"items":[…],"ok"}`; differences are shares, null where there is nothing to
/// be a share of.
fn as_json(papers: &[Results], rows: &[Row<'_>], ok: bool) -> Value {
    let row = |row: &Row<'_>| {
        let measured: Vec<_> = (0..papers.len()).map(|paper| row.measured(paper)).collect();
        let from = |reference: Option<f64>| -> Vec<Option<f64>> {
            measured.iter().map(|m| difference::relative(reference?, (*m)?)).collect()
        };
        json!({
            "item": row.item.item,
            "case": row.item.case,
            "quantity": row.item.quantity,
            "unit": row.item.unit,
            "published": row.item.published,
            "measured": measured,
            "from_first": from(measured.first().copied().flatten()),
            "from_published": from(row.item.published),
            "ok": row.ok(),
        })
    };
    json!({
        "paper": papers[0].paper,
        "drivers": papers.iter().map(|paper| &paper.driver).collect::<Vec<_>>(),
        "items": rows.iter().map(row).collect::<Vec<_>>(),
        "ok": ok,
    })
}

/// The same as a page with dots.
fn page(papers: &[Results], rows: &[Row<'_>]) -> Differences {
    let row = |row: &Row<'_>| {
        let mut cells = vec![
            PageCell::text_of(name(row.item)),
            PageCell::text_of(&row.item.case),
            number(row.item.published),
        ];
        cells.extend((0..papers.len()).map(|paper| number(row.measured(paper))));
        cells.push(match row.is_judged() {
            true => PageCell::Held(row.ok()),
            false => PageCell::text_of(""),
        });
        // Where nothing was published, the others are held against the first.
        let reference = row.item.published.or_else(|| row.measured(0));
        let dots = row.all.iter().flatten().filter_map(|item| Some(dot(item, reference?)));
        PageRow { cells, dots: dots.collect() }
    };
    let drivers: Vec<String> = papers.iter().map(|paper| paper.driver.clone()).collect();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    Differences {
        title: format!("Paper {}", papers[0].paper),
        lead: format!("published, {}", drivers.join(", ")),
        ok: rows.iter().any(Row::is_judged).then(|| rows.iter().all(Row::ok)),
        head: [words(&["item", "case", "published"]), drivers, words(&["verdict"])].concat(),
        rows: rows.iter().map(row).collect(),
        notes: vec![
            "A dot for each driver, in the order of the columns: it is what that driver measured, in percent \
             from what was published (the dashed line), or from the first driver where nothing was; the \
             line spans what is allowed."
                .to_owned(),
        ],
        ..Differences::default()
    }
}

/// What was measured and what is allowed, from `reference`.
fn dot(item: &Item, reference: f64) -> Interval {
    let mean = item.measured - reference;
    let from = |limit: Option<f64>| limit.map(|limit| limit - reference);
    let ends = match (from(item.low), from(item.high)) {
        (None, None) => None,
        (Some(low), Some(high)) => Some((low, high)),
        // What is open at one end is drawn up to what was measured.
        (Some(limit), None) | (None, Some(limit)) => Some((limit.min(mean), limit.max(mean))),
    };
    percent(Interval { mean, ends }, reference)
}
