//! Runs of one scenario, or of one paper, side by side.

use std::path::{Path, PathBuf};

use report::Cell;
use report::differences::Differences;
use serde_json::Value;

use crate::error::Error;
use crate::paper;

pub use loads::Pair;

mod difference;
mod folders;
mod groups;
mod loads;
mod papers;
mod render;
mod render_groups;
mod rows;
mod runs;

/// The result of a comparison: what is compared, and the differences.
#[derive(Debug)]
pub struct Comparison {
    of: Compared,
    /// Warnings about the runs for the reader.
    pub notes: Vec<String>,
}

#[derive(Debug)]
enum Compared {
    /// Single runs.
    Runs(runs::Comparison),
    /// Samples: each consists of several runs that differ only in their seed.
    Groups(groups::Comparison),
    /// Figures of one paper.
    Papers(papers::Comparison),
}

/// A comparison as text.
#[derive(Clone, Debug)]
pub struct Table {
    /// The column headings; the last is that of the judgement.
    pub head: Vec<String>,
    /// The number of columns with names; the others are numbers.
    pub names: usize,
    /// A row for each quantity: the text of each column but the last, and the judgement.
    pub rows: Vec<(Vec<String>, Judgement)>,
    /// A note about the rows that are left out.
    pub left_out: Option<String>,
}

/// The judgement of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Judged: whether the difference is within tolerance.
    Judged(bool),
    /// Reported, but not judged.
    Note(&'static str),
}

impl From<Judgement> for Cell {
    fn from(judgement: Judgement) -> Self {
        match judgement {
            Judgement::Judged(ok) => Self::Held(ok),
            Judgement::Note(text) => Self::text_of(text),
        }
    }
}

/// Compares the runs in these folders, of runs, sweeps or papers. The first folder is the reference; runs that
/// differ only in their seed count as one sample. `all` keeps quantities that are equal or differ by noise, and
/// every flow of a count.
///
/// # Errors
/// Less than two runs, a folder that cannot be read, runs of different scenarios or papers, a tolerance for a
/// quantity that no run has.
pub fn compare<P: AsRef<Path>>(folders: &[P], all: bool) -> Result<Comparison, Error> {
    compare_paired(folders, all, &[])
}

/// Compares runs as [`compare`] does, with `pairs` for flows whose names differ between the first run and the
/// others.
///
/// # Errors
/// Those of [`compare`], and a pair that names a flow which a run does not have.
pub fn compare_paired<P: AsRef<Path>>(
    folders: &[P],
    all: bool,
    pairs: &[Pair],
) -> Result<Comparison, Error> {
    let folders: Vec<PathBuf> = folders.iter().map(|folder| folder.as_ref().to_owned()).collect();
    let is_paper = |folder: &&PathBuf| folder.join(paper::ITEMS).exists();
    let (papers, runs): (Vec<_>, Vec<_>) = folders.iter().partition(is_paper);
    match (papers.as_slice(), runs.as_slice()) {
        ([], _) => of_runs(&folders, all, pairs),
        _ if !pairs.is_empty() => {
            let help = "remove --pair: items of a paper have the same names";
            Err(Error::usage("a paper has no flows", help))
        }
        ([_], []) => {
            let help = "name another folder of the same paper";
            Err(Error::usage("a single paper cannot be compared", help))
        }
        (_, []) => {
            let of = Compared::Papers(papers::compare(&folders, all)?);
            Ok(Comparison { of, notes: Vec::new() })
        }
        ([paper, ..], [run, ..]) => {
            let (paper, run) = (paper.display(), run.display());
            let message = format!("{paper} is the folder of a paper, but {run} is not");
            Err(Error::usage(message, "give run folders only, or folders of papers only"))
        }
    }
}

/// Compares runs one by one, or as samples if several differ only in their seed.
fn of_runs(folders: &[PathBuf], all: bool, pairs: &[Pair]) -> Result<Comparison, Error> {
    let runs = folders::read(folders, pairs)?;
    let mut lacking = loads::lacking(&runs);
    lacking.extend(loads::unknown_to_programs(&runs));
    let groups = groups::gather(runs.clone());
    if groups.len() > 1 && groups.len() < runs.len() {
        let notes = groups.iter().flat_map(|group| &group.runs).flat_map(runs::notes);
        let notes = notes.chain(lacking).collect();
        return Ok(Comparison { of: Compared::Groups(groups::compare(groups, all)?), notes });
    }
    let notes = runs.iter().flat_map(runs::notes).chain(lacking);
    let notes = notes.chain(runs::differing_settings(&runs)).collect();
    Ok(Comparison { of: Compared::Runs(runs::compare(runs, all)?), notes })
}

impl Comparison {
    /// Whether every judged difference is within tolerance.
    pub fn ok(&self) -> bool {
        match &self.of {
            Compared::Runs(runs) => runs.ok(),
            Compared::Groups(groups) => groups.ok(),
            Compared::Papers(papers) => papers.ok(),
        }
    }

    /// The comparison as data.
    pub fn to_value(&self) -> Value {
        match &self.of {
            Compared::Runs(runs) => render::json(runs),
            Compared::Groups(groups) => render_groups::json(groups),
            Compared::Papers(papers) => papers.to_value(),
        }
    }

    /// The comparison as text.
    pub fn table(&self) -> Table {
        match &self.of {
            Compared::Runs(runs) => render::table(runs),
            Compared::Groups(groups) => render_groups::table(groups),
            Compared::Papers(papers) => papers.table(),
        }
    }

    /// The comparison as a page, with its differences as dots and the runs' curves in the same charts;
    /// `command` is the command line that creates it again.
    ///
    /// # Errors
    /// A table of a run that cannot be read.
    pub fn page(&self, command: Vec<String>) -> Result<Differences, Error> {
        let page = match &self.of {
            Compared::Runs(runs) => render::page(runs)?,
            Compared::Groups(groups) => render_groups::page(groups)?,
            Compared::Papers(papers) => papers.page(),
        };
        Ok(Differences { command, ..page })
    }
}
