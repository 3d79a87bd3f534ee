//! The papers that are part of the program: their published figures and their scenarios.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use applications::mpi::program::Recorded;

use super::published::Published;
use crate::error::Error;

/// Paper, file name, text.
type File = (&'static str, &'static str, &'static str);

/// Every file of `papers/`, embedded when the program was built.
const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/papers.rs"));

/// Every trace of an MPI program: paper, file name, contents.
const TRACES: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/traces.rs"));

/// The file that makes a folder of `papers/` a paper that can be run.
const PUBLISHED: &str = "published.toml";

/// The file with the rows of a paper's last simulation.
const MEASURED: &str = "measured.json";

/// Every paper, by name.
pub fn papers() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter(|(_, name, _)| *name == PUBLISHED).map(|(paper, ..)| *paper)
}

/// The text of a file in a paper's folder.
pub(super) fn file(paper: &str, name: &str) -> Option<&'static str> {
    FILES.iter().find(|(p, n, _)| *p == paper && *n == name).map(|(.., text)| *text)
}

/// A trace of a paper, which scenarios call `traces/NAME`; read once for any number of runs.
pub(super) fn trace(paper: &str, name: &str) -> Result<Arc<Recorded>, String> {
    static READ: Mutex<BTreeMap<(String, String), Arc<Recorded>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (paper.to_owned(), name.to_owned());
    if let Some(trace) = read.get(&key) {
        return Ok(trace.clone());
    }
    let file = name.strip_prefix("traces/").unwrap_or(name);
    let found = TRACES.iter().find(|(p, n, _)| *p == paper && *n == file);
    let (.., bytes) = found.ok_or_else(|| format!("there is no trace {name}"))?;
    let trace = Arc::new(scenario::read_trace(name, bytes)?);
    read.insert(key, trace.clone());
    Ok(trace)
}

/// Item, quantity, case and value of a row of a paper's last simulation.
pub(super) type Simulated = (String, String, String, f64);

/// The rows of a paper's last simulation, `measured.json`.
pub(super) fn simulated(paper: &str) -> Result<Vec<Simulated>, Error> {
    let text = file(paper, MEASURED).unwrap_or("[]");
    serde_json::from_str(text).map_err(|error| Error::paper(paper, &format!("{MEASURED}: {error}")))
}

/// The title of a paper; none if it is unknown.
pub fn title(paper: &str) -> Option<String> {
    published(paper).ok().map(|published| published.title)
}

/// A paper's published figures.
pub(super) fn published(paper: &str) -> Result<Published, Error> {
    let Some(text) = file(paper, PUBLISHED) else {
        let known: Vec<_> = papers().collect();
        let message = format!("there is no paper `{paper}`");
        return Err(Error::usage(message, format!("available: {}", known.join(", "))));
    };
    Published::read(text).map_err(|message| Error::paper(paper, &message))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use traffic::qdisc::REGISTRY;

    use super::*;
    use crate::driver::{DriverChoice, Lab};
    use crate::paper::cells::{Cells, Mode};
    use crate::paper::costs::Costs;
    use crate::paper::published::Item;

    #[test]
    fn every_paper_refers_to_runs_cells_and_scenarios_that_there_are() {
        assert!(papers().count() > 0);
        let drivers = [DriverChoice::default(), DriverChoice::of(&Lab)];
        let modes = drivers.map(|driver| Mode { driver, quick: driver.is_real_time() });
        for (paper, mode) in papers().flat_map(|paper| modes.map(|mode| (paper, mode))) {
            let published = published(paper).expect(paper);
            let cells = Cells::new(&published, Path::new("nowhere"), mode).expect(paper);
            let costs = Costs::new(&published);
            for item in &published.item {
                for case in item.cases.iter().filter(|case| !case.mean) {
                    let run = case.run.as_deref().or(item.run.as_deref()).expect("a run");
                    let cell = case.cell.as_deref().unwrap_or(&case.case);
                    let found = if costs.has(run) {
                        costs.read(run, cell, "").map(drop)
                    } else {
                        cells.find(run, cell).map(drop)
                    };
                    assert_eq!(found, Ok(()), "{} {}", item.item, case.case);
                }
            }
        }
    }

    #[test]
    fn table_3_has_every_discipline() {
        let items = published("p1").expect("p1").item;
        let of = |item: &Item| item.item == "T3" && item.quantity.contains("every discipline");
        let tables: Vec<_> = items.iter().filter(|item| of(item)).collect();
        assert_eq!(tables.len(), 2, "time and instructions");
        for (table, entry) in tables.iter().flat_map(|t| REGISTRY.iter().map(move |e| (t, e))) {
            let listed = table.cases.iter().any(|case| case.case == entry.name);
            assert!(listed, "add {} to T3 in papers/p1/published.toml", entry.name);
        }
    }
}
