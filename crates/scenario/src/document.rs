//! A scenario's text with the overrides of the command line, and the runs of its sweep.

mod apply;
mod label;
pub(crate) mod path;
mod place;

pub use label::value_label;
pub use path::assigned_path;
pub use place::Place;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use applications::mpi::program::Recorded;
use serde::Deserialize;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};
use traffic::qdisc;

use crate::diagnostic::{Errors, Problems, Source, Span};
use crate::distribution::stated;
use crate::file::Scenario;
use crate::included::{self, Files};
use crate::plan::Plan;
use crate::queue::Queue;
use crate::{aliases, grid, range, resolve, structure, syntax, units};
use path::{Axis, Fragment, RUNS_MAX, Segment, fragment, keys, segments, settable, spell_out};

/// The maximum file size: hand-written files have a thousandth of it.
const FILE_BYTES_MAX: usize = 4 << 20;

/// A scenario file with the changes of the command line.
#[derive(Clone, Debug)]
pub struct Document {
    source: Source,
    length: usize,
    overrides: Vec<Override>,
    axes: Vec<Axis>,
    files: Files,
}

/// A path set to a value; both point into the source.
#[derive(Clone, Debug)]
struct Override {
    path: Vec<Segment>,
    value: Fragment,
}

/// One run of the sweep.
#[derive(Clone, Debug)]
pub struct Run {
    /// The parameters in one line: `emulator.gnet.buffer=512 KiB, seed=2`; empty without a sweep.
    pub label: String,
    /// Path and value of each parameter, in the order of the sweep.
    pub parameters: Vec<(String, String)>,
    document: Document,
}

impl Run {
    /// The plan for a driver.
    ///
    /// # Errors
    ///
    /// The errors of the scenario with these parameters.
    pub fn plan(&self) -> Result<Plan, Errors> {
        self.document.plan()
    }
}

/// Reads the parameters of a single queue, as below `queue` in a scenario: `cbq.class.a.rate = "1 Mbit/s"`.
///
/// # Errors
///
/// Text that is not a queue. The discipline checks its parameters when it is attached.
pub fn queue(name: &str, text: &str) -> Result<qdisc::Parameters, Errors> {
    let source = Source::new(name, text);
    let mut problems = Problems::default();
    let parameters = queue_of(text, &mut problems);
    problems.into_result(&source)?;
    Ok(parameters.expect("a queue without parameters has a problem"))
}

fn queue_of(text: &str, problems: &mut Problems) -> Option<qdisc::Parameters> {
    let mut table = parsed(text, problems);
    aliases::spell_out_queue(table.get_mut());
    structure::check_queue(table.get_ref(), problems);
    if !problems.is_empty() {
        return None;
    }
    match Queue::deserialize(toml::Deserializer::from(table)) {
        Ok(queue) => resolve::queue(&queue, problems),
        Err(error) => {
            let (message, help) = syntax::mismatch(error.message());
            problems.push(&error.span().unwrap_or(0..0), message, help);
            None
        }
    }
}

/// The text's tables, as far as it is readable.
fn parsed<'t>(text: &'t str, problems: &mut Problems) -> Spanned<DeTable<'t>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let (place, message) = (error.span().unwrap_or(0..0), error.message());
        problems.push(&place, message.to_owned(), syntax::advice(message));
    }
    table
}

impl Document {
    /// Reads `text`, from the file `name`.
    ///
    /// # Errors
    ///
    /// Text that is not TOML, and an invalid sweep. [`Self::plan`] checks the contents.
    pub fn parse(name: &str, text: &str) -> Result<Self, Errors> {
        let mut source = Source::new(name, text);
        let mut problems = Problems::default();
        if text.len() > FILE_BYTES_MAX {
            let help = "reduce it to at most 4 MiB: `count` makes many hosts from one table";
            problems.push(&(0..0), format!("the file has {} bytes", text.len()), help);
            problems.into_result(&source)?;
            unreachable!("a problem was noted");
        }
        let table = parsed(text, &mut problems);
        let axes = match problems.is_empty() {
            true => grid::read(table.get_ref(), &mut source, &mut problems),
            false => Vec::new(),
        };
        problems.into_result(&source)?;
        let files = Files::default();
        Ok(Self { source, length: text.len(), overrides: Vec::new(), axes, files })
    }

    /// Sets `path=value` as if in the file: `emulator.gnet.buffer=1MiB`. `path=none` removes the entry of the file,
    /// unless `none` is a valid value there.
    ///
    /// # Errors
    ///
    /// An unreadable path or value. [`Self::plan`] checks whether the scenario has such a key.
    pub fn set(&mut self, assignment: &str) -> Result<(), Errors> {
        let (path, values) = self.assignment("--set", assignment, false)?;
        self.axes.retain(|axis| keys(&axis.path) != keys(&path));
        self.overrides
            .extend(values.into_iter().map(|value| Override { path: path.clone(), value }));
        Ok(())
    }

    /// Runs once for each value of `path=a,b,c`. Ranges are possible: `10ms..200ms/8` has eight points at equal
    /// distances, `1..64/7log` seven at equal ratios.
    ///
    /// # Errors
    ///
    /// An unreadable path, value or range.
    pub fn vary(&mut self, assignment: &str) -> Result<(), Errors> {
        let (path, values) = self.assignment("--vary", assignment, true)?;
        self.axes.retain(|axis| keys(&axis.path) != keys(&path));
        self.axes.push(Axis { path, values });
        Ok(())
    }

    /// Runs once for each seed of `first..last`, both included.
    ///
    /// # Errors
    ///
    /// Text that is not a range, or a range that is empty or has more than 100 000 seeds.
    pub fn seeds(&mut self, range: &str) -> Result<(), Errors> {
        let bounds = range.split_once("..").and_then(|(first, last)| {
            let last = last.strip_prefix('=').unwrap_or(last);
            Some((first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?))
        });
        match bounds {
            Some((first, last)) if first <= last && ((last - first) as usize) < RUNS_MAX => {
                let seeds: Vec<String> = (first..=last).map(|seed| seed.to_string()).collect();
                self.vary(&format!("seed={}", seeds.join(",")))
            }
            _ => {
                let start = self.source.append("--seeds", range);
                let help = "write the first and the last seed, at most 100000 in all: 1..8";
                let span = start..start + range.len();
                self.reject(&span, format!("invalid seed range `{range}`"), help)
            }
        }
    }

    /// The text files named by values of the scenario, such as `cdf file:sizes.txt`, and by the command line.
    pub fn files(&self) -> BTreeSet<String> {
        self.named(|kind| kind != included::TRACE)
    }

    /// The traces of MPI programs named by values of the scenario: `mpi file:lu.parquet`.
    pub fn traces(&self) -> BTreeSet<String> {
        self.named(|kind| kind == included::TRACE)
    }

    /// The files named by values of these kinds.
    fn named(&self, kinds: impl Fn(&str) -> bool) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let (table, _) = DeTable::parse_recoverable(self.source.slice(&(0..self.length)));
        included::note(table.get_ref(), &mut names);
        let varied = self.axes.iter().flat_map(|axis| &axis.values);
        for fragment in self.overrides.iter().map(|change| &change.value).chain(varied) {
            if let Ok(value) = self.value(fragment) {
                included::note_value(value.get_ref(), &mut names);
            }
        }
        names.into_iter().filter(|(kind, _)| kinds(kind)).map(|(_, name)| name).collect()
    }

    /// Provides the contents of one of [`Self::files`].
    pub fn supply(&mut self, name: String, text: String) {
        self.files.texts.insert(name, text.into());
    }

    /// Provides one of [`Self::traces`], read by [`crate::read_trace`].
    ///
    /// # Errors
    ///
    /// Another trace of that name in another folder, because the folder of a run has all traces in one place.
    pub fn supply_trace(&mut self, name: String, trace: Arc<Recorded>) -> Result<(), String> {
        let same_name = |known: &&Arc<Recorded>| known.file_name() == trace.file_name();
        if self.files.traces.values().find(same_name).is_some_and(|known| known.file != trace.file)
        {
            return Err(format!(
                "another trace has the name `{}`: rename one of them",
                trace.file_name()
            ));
        }
        self.files.traces.insert(name, trace);
        Ok(())
    }

    /// Every run of the sweep, with the last axis changing fastest; one run without a sweep.
    ///
    /// # Errors
    ///
    /// A sweep of more than 100 000 runs.
    pub fn runs(&self) -> Result<Vec<Run>, Errors> {
        let sizes = self.axes.iter().map(|axis| axis.values.len());
        let count = sizes.clone().try_fold(1, usize::checked_mul).filter(|&n| n <= RUNS_MAX);
        let Some(count) = count else {
            let sizes: Vec<String> = sizes.map(|n| n.to_string()).collect();
            let message = format!("the sweep has {} runs", sizes.join(" x "));
            let span = self.axes[0].path[0].span.clone();
            return self.clone().reject(&span, message, "reduce them to at most 100000");
        };
        Ok((0..count).map(|index| self.run(index)).collect())
    }

    /// The run with number `index`, in mixed radix.
    fn run(&self, index: usize) -> Run {
        // `axes` is not cloned: it has as many values as the sweep has runs.
        let mut document = Self {
            source: self.source.clone(),
            length: self.length,
            overrides: self.overrides.clone(),
            axes: Vec::new(),
            files: self.files.clone(),
        };
        let mut stride: usize = self.axes.iter().map(|axis| axis.values.len()).product();
        let mut parameters = Vec::new();
        for axis in &self.axes {
            stride /= axis.values.len();
            let value = axis.values[index / stride % axis.values.len()].clone();
            let path = axis.path.clone();
            parameters.push((keys(&path).join("."), self.shown(&value)));
            document.overrides.push(Override { path, value });
        }
        let pairs = parameters.iter().map(|(k, v)| format!("{k}={}", value_label(v)));
        let pairs: Vec<String> = pairs.collect();
        Run { label: pairs.join(", "), parameters, document }
    }

    /// The plan without the sweep.
    ///
    /// # Errors
    ///
    /// All independent errors of the scenario.
    pub fn plan(&self) -> Result<Plan, Errors> {
        let text = self.source.slice(&(0..self.length));
        let mut problems = Problems::default();
        let plan = self.plan_of(text, &mut problems);
        problems.into_result(&self.source)?;
        Ok(plan.expect("a scenario without a plan has a problem"))
    }

    fn plan_of(&self, text: &str, problems: &mut Problems) -> Option<Plan> {
        let (mut table, _) = DeTable::parse_recoverable(text);
        aliases::spell_out(table.get_mut());
        // The units of the file itself, so that all runs of a scenario have the same.
        let units = units::written::units(table.get_ref());
        for change in &self.overrides {
            self.apply(change, &mut table, problems);
        }
        // An override may have set a whole table.
        aliases::spell_out(table.get_mut());
        included::spell_out(table.get_mut(), &self.files, problems);
        structure::check(table.get_ref(), problems);
        if !problems.is_empty() {
            return None;
        }
        let file_warnings = stated::check(table.get_ref(), units);
        match Scenario::deserialize(toml::Deserializer::from(table)) {
            Ok(scenario) => resolve::resolve(&scenario, units, &self.files, problems)
                .map(|plan| Plan { file_warnings, ..plan }),
            Err(error) => {
                let (message, help) = syntax::mismatch(error.message());
                problems.push(&error.span().unwrap_or(0..0), message, help);
                None
            }
        }
    }

    /// The value of a fragment.
    fn value(&self, fragment: &Fragment) -> Result<Spanned<DeValue<'_>>, String> {
        let text = self.source.slice(&fragment.span);
        if fragment.bare {
            return Ok(Spanned::new(fragment.span.clone(), DeValue::String(text.into())));
        }
        let parsed = DeValue::parse(text).map_err(|error| error.message().to_owned())?;
        Ok(shifted(parsed, fragment.span.start))
    }

    /// A value for a label: without quotes.
    fn shown(&self, fragment: &Fragment) -> String {
        match self.value(fragment).map(Spanned::into_inner) {
            Ok(DeValue::String(text)) => text.into_owned(),
            _ => self.source.slice(&fragment.span).to_owned(),
        }
    }

    /// Splits `path=value`; with `several`, `path=a,b,c`.
    fn assignment(
        &mut self,
        option: &str,
        text: &str,
        several: bool,
    ) -> Result<(Vec<Segment>, Vec<Fragment>), Errors> {
        let start = self.source.append(option, text);
        let all = start..start + text.len();
        let Some((path, values)) = text.split_once('=') else {
            let help = "write path=value, such as link.wan.delay=10ms";
            return self.reject(&all, format!("`{text}` has no `=`"), help);
        };
        let mut path = match segments(path, start) {
            Ok(path) => path,
            Err((message, help)) => return self.reject(&all, message, help),
        };
        spell_out(&mut path);
        if let Err((message, help)) = settable(&path) {
            return self.reject(&all, message, help);
        }
        let offset = start + text.len() - values.len();
        let values = match several {
            true => self.varied(option, values, offset)?,
            false => vec![fragment(values, 0..values.len(), offset)],
        };
        Ok((path, values))
    }

    /// The values of a list, with ranges expanded.
    fn varied(
        &mut self,
        option: &str,
        values: &str,
        offset: usize,
    ) -> Result<Vec<Fragment>, Errors> {
        let mut all = Vec::new();
        for piece in pieces(values) {
            match range::points(&values[piece.clone()]) {
                Ok(None) => all.push(fragment(values, piece, offset)),
                Ok(Some(points)) => {
                    let points = points.iter();
                    all.extend(points.map(|p| Fragment::written(option, p, &mut self.source)));
                }
                Err(error) => {
                    let span = offset + piece.start..offset + piece.end;
                    return self.reject(&span, error.message, &error.help);
                }
            }
        }
        Ok(all)
    }

    fn reject<T>(&mut self, span: &Span, message: String, help: &str) -> Result<T, Errors> {
        let mut problems = Problems::default();
        problems.push(span, message, help);
        problems.into_result(&self.source)?;
        unreachable!("a problem was noted")
    }
}

/// The ranges of the values in a comma-separated list. A comma within quotes or brackets is part of a value.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut from, mut depth, mut quoted) = (Vec::new(), 0, 0_usize, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => depth += 1,
            b']' | b'}' if !quoted => depth = depth.saturating_sub(1),
            b',' if !quoted && depth == 0 => {
                found.push(from..at);
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(from..text.len());
    found
}

/// Adds `offset` to every place within `value`.
fn shifted(value: Spanned<DeValue<'_>>, offset: usize) -> Spanned<DeValue<'_>> {
    let span = value.span().start + offset..value.span().end + offset;
    let inner = match value.into_inner() {
        DeValue::Array(items) => {
            DeValue::Array(items.into_iter().map(|item| shifted(item, offset)).collect())
        }
        DeValue::Table(table) => {
            let entries = table.into_iter().map(|(key, inner)| {
                let span = key.span().start + offset..key.span().end + offset;
                (Spanned::new(span, key.into_inner()), shifted(inner, offset))
            });
            DeValue::Table(entries.collect())
        }
        scalar => scalar,
    };
    Spanned::new(span, inner)
}
