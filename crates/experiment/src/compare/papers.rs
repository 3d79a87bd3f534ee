//! A paper's figures, measured by several drivers.

use std::path::{Path, PathBuf};

use record::paper::{Item, Results};
use record::quantity::digits;
use report::Cell as PageCell;
use report::confidence::Interval;
use report::differences::{Differences, Row as PageRow};
use serde_json::{Value, json};

use super::render_groups::{number, percent};
use super::{Judgement, Table, difference};
use crate::error::Error;
use crate::format;
use crate::paper::ITEMS;

/// Papers, and their values for each figure.
#[derive(Debug)]
pub(super) struct Comparison {
    papers: Vec<Results>,
    rows: Vec<Row>,
}

/// One figure, measured by all of them.
#[derive(Debug)]
struct Row {
    /// The item of the first paper that has it.
    item: Item,
    /// The item of each paper; none if its runs were left out.
    all: Vec<Option<Item>>,
}

impl Row {
    /// Whether each item is within its own limits.
    fn ok(&self) -> bool {
        self.all.iter().flatten().all(|item| item.ok != Some(false))
    }

    fn measured(&self, paper: usize) -> Option<f64> {
        self.all.get(paper)?.as_ref().map(|item| item.measured)
    }

    fn is_judged(&self) -> bool {
        self.all.iter().flatten().any(Item::is_judged)
    }

    fn judgement(&self) -> Judgement {
        if self.is_judged() { Judgement::Judged(self.ok()) } else { Judgement::Note("") }
    }
}

/// Compares the papers in these folders.
///
/// # Errors
/// A folder that cannot be read, different papers.
pub(super) fn compare(folders: &[PathBuf], all: bool) -> Result<Comparison, Error> {
    let papers = folders.iter().map(|folder| read(folder));
    let papers: Vec<Results> = papers.collect::<Result<_, _>>()?;
    for (paper, folder) in papers.iter().zip(folders) {
        if paper.paper != papers[0].paper {
            let message = format!("{} belongs to paper {}", folder.display(), paper.paper);
            return Err(Error::usage(message, format!("compare folders of {}", papers[0].paper)));
        }
    }
    let rows = rows(&papers, all);
    Ok(Comparison { papers, rows })
}

fn read(folder: &Path) -> Result<Results, Error> {
    let path = folder.join(ITEMS);
    let text = record::regular::read_text(&path).map_err(record::error::file(&path))?;
    serde_json::from_str(&text).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        Error::usage(
            message,
            "run `suimon paper` again: the file is damaged or of an older version",
        )
    })
}

/// Every figure that at least two of them have, or `all`.
fn rows(papers: &[Results], all: bool) -> Vec<Row> {
    let same =
        |a: &Item, b: &Item| (&a.item, &a.quantity, &a.case) == (&b.item, &b.quantity, &b.case);
    let mut rows: Vec<Row> = Vec::new();
    for item in papers.iter().flat_map(|paper| &paper.items) {
        if !rows.iter().any(|row| same(&row.item, item)) {
            let of = |paper: &Results| paper.items.iter().find(|known| same(known, item)).cloned();
            rows.push(Row { item: item.clone(), all: papers.iter().map(of).collect() });
        }
    }
    rows.retain(|row| all || row.all.iter().flatten().count() > 1);
    rows
}

fn name(item: &Item) -> String {
    let unit = if item.unit.is_empty() { String::new() } else { format!(" ({})", item.unit) };
    format!("{} {}{unit}", item.item, item.quantity)
}

impl Comparison {
    /// Whether every judged item is within its limits.
    pub(super) fn ok(&self) -> bool {
        self.rows.iter().all(Row::ok)
    }

    /// Item, case, published value, each paper's measured value, and its differences from the first and from
    /// the published value.
    pub(super) fn table(&self) -> Table {
        let papers = &self.papers;
        let first = &papers[0].driver;
        let mut head = words(&["item", "case", "published"]);
        head.extend(papers.iter().map(|paper| paper.driver.clone()));
        head.extend(papers.iter().skip(1).map(|paper| format!("{}/{first}", paper.driver)));
        head.extend(papers.iter().map(|paper| format!("{}/published", paper.driver)));
        head.extend(words(&["allowed", "verdict"]));
        let mut above = String::new();
        let row = |row: &Row| {
            let name = name(&row.item);
            let shown = if above == name { String::new() } else { name.clone() };
            above = name;
            (cells(row, papers.len(), shown), row.judgement())
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        let left_out = rows.is_empty().then(|| "they have no item in common".to_owned());
        Table { head, names: 2, rows, left_out }
    }

    /// `{"paper","drivers":[…],"items":[…],"ok"}`; differences are relative, null if the reference is zero.
    pub(super) fn to_value(&self) -> Value {
        let papers = &self.papers;
        let row = |row: &Row| {
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
            "items": self.rows.iter().map(row).collect::<Vec<_>>(),
            "ok": self.ok(),
        })
    }

    /// The comparison as a page with dots.
    pub(super) fn page(&self) -> Differences {
        let drivers: Vec<String> = self.papers.iter().map(|paper| paper.driver.clone()).collect();
        let row = |row: &Row| page_row(row, self.papers.len());
        Differences {
            title: format!("Paper {}", self.papers[0].paper),
            lead: format!("published, {}", drivers.join(", ")),
            ok: self.rows.iter().any(Row::is_judged).then(|| self.ok()),
            head: [words(&["item", "case", "published"]), drivers, words(&["verdict"])].concat(),
            rows: self.rows.iter().map(row).collect(),
            notes: vec![
                "One dot per driver, in the order of the columns: the difference of its measured value from the \
                 published one (dashed line) in percent, or from the first driver's value if nothing was \
                 published. The line spans the tolerance."
                    .to_owned(),
            ],
            ..Differences::default()
        }
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn cells(row: &Row, papers: usize, name: String) -> Vec<String> {
    let optional = |value: Option<f64>| value.map_or_else(String::new, digits);
    let apart = |reference: Option<f64>, value: Option<f64>| match (reference, value) {
        (Some(reference), Some(value)) => difference::text(reference, value, digits),
        _ => String::new(),
    };
    let mut cells = vec![name, row.item.case.clone(), optional(row.item.published)];
    cells.extend((0..papers).map(|paper| optional(row.measured(paper))));
    cells.extend((1..papers).map(|paper| apart(row.measured(0), row.measured(paper))));
    cells.extend((0..papers).map(|paper| apart(row.item.published, row.measured(paper))));
    let limits = row.all.iter().flatten().next_back();
    let limits = limits.map(|item| format::range(item.low, item.high, digits));
    cells.push(limits.unwrap_or_default());
    cells
}

fn page_row(row: &Row, papers: usize) -> PageRow {
    let mut cells = vec![
        PageCell::text_of(name(&row.item)),
        PageCell::text_of(&row.item.case),
        number(row.item.published),
    ];
    cells.extend((0..papers).map(|paper| number(row.measured(paper))));
    cells.push(row.judgement().into());
    // Without a published value, the first paper is the reference.
    let reference = row.item.published.or_else(|| row.measured(0));
    let dots = row.all.iter().flatten().filter_map(|item| Some(dot(item, reference?)));
    PageRow { cells, dots: dots.collect(), beyond: !row.ok() }
}

/// The measured value and its limits, relative to `reference`.
fn dot(item: &Item, reference: f64) -> Interval {
    let mean = item.measured - reference;
    let from = |limit: Option<f64>| limit.map(|limit| limit - reference);
    let ends = match (from(item.low), from(item.high)) {
        (None, None) => None,
        (Some(low), Some(high)) => Some((low, high)),
        // An open end is drawn up to the measured value.
        (Some(limit), None) | (None, Some(limit)) => Some((limit.min(mean), limit.max(mean))),
    };
    percent(Interval { mean, ends }, reference)
}
