//! Workloads as written in a flow: any one of the registry of [`applications::workload`], with the settings that it
//! declares, and the reading of the receiver.

use applications::mpi::Library;
use applications::mpi::program::{Program, Steps};
use applications::mpi::rank::Job;
use applications::sink::Reader;
use applications::workload::{REGISTRY, Workload, WorkloadConfig};
use base::setting::Settings;
use schemars::SchemaGenerator;
use serde::de::MapAccess;
use serde_json::{Map, Value as Json, json};

use crate::diagnostic::{Problems, Span};
use crate::file::{Flow, Mpi};
use crate::included::{self, Files};
use crate::literal::{line, string};
use crate::mpi;
use crate::setting::{Keys, Named, Values, required, table, written};
use crate::value::{Count, Name};

/// The name of the workload that has further keys: see [`crate::file::MpiKeys`].
const MPI: &str = "mpi";

impl Named for Library {
    const NAME: &'static str = "Mpi";
}

impl Named for Reader {
    const NAME: &'static str = "Read";
}

/// The workloads of a flow's table; at most one makes sense.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workloads {
    /// Those with only settings.
    plain: Vec<Plain>,
    /// An MPI job.
    pub(crate) mpi: Option<Mpi>,
}

/// A workload with only settings, as given.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    /// The workload with its default settings.
    blank: Workload,
    /// The given settings.
    pub(crate) values: Values,
}

impl Plain {
    /// The name of its key.
    pub(crate) fn name(&self) -> &'static str {
        self.blank.name().unwrap_or_default()
    }

    /// The place of its first required setting, or of `flow` if none is required.
    pub(crate) fn place<'f>(&'f self, flow: &'f Span) -> &'f Span {
        match required(&self.blank.settings())[..] {
            [first, ..] => self.values.span_of(first).unwrap_or(&self.values.span),
            [] => flow,
        }
    }

    /// Reports keys that cannot be combined with it.
    pub(crate) fn check_alone(&self, table: &Flow, problems: &mut Problems) -> Option<()> {
        alone(&self.blank, self.name(), self.place(&table.from.span), table, problems)
    }

    /// The workload; `None` if a value is invalid, or if they conflict.
    pub(crate) fn read(&self, problems: &mut Problems) -> Option<Workload> {
        let mut workload = self.blank.clone();
        self.values.apply(workload.settings_mut()?, problems)?;
        self.values.accept(workload.check(), problems)?;
        Some(workload)
    }
}

impl Workloads {
    /// The given workload of that name, if it has only settings.
    fn get(&self, name: &str) -> Option<&Plain> {
        self.plain.iter().find(|plain| plain.name() == name)
    }

    /// Those with only settings, in the registry's order.
    fn plain(&self) -> impl DoubleEndedIterator<Item = &Plain> {
        REGISTRY.iter().filter_map(|entry| self.get(entry.name))
    }

    /// The last one in the registry that sends datagrams.
    pub(crate) fn datagrams(&self) -> Option<&Plain> {
        self.plain().rfind(|plain| plain.blank.datagrams().is_some())
    }

    /// Those over a connection that have only settings.
    fn connections(&self) -> impl DoubleEndedIterator<Item = &Plain> {
        self.plain().filter(|plain| plain.blank.datagrams().is_none())
    }

    /// The one whose flows share triggers.
    pub(crate) fn triggered(&self) -> Option<&Plain> {
        self.plain().find(|plain| plain.blank.burst().is_some())
    }

    /// Whether any over a connection is given.
    pub(crate) fn has_connection(&self) -> bool {
        self.connections().next().is_some()
    }

    /// The names of those with only settings, in the registry's order, and whether each is given.
    pub(crate) fn given(&self) -> impl Iterator<Item = (bool, &'static str)> {
        let plain = REGISTRY.iter().filter(|entry| entry.name != MPI);
        plain.map(|entry| (self.get(entry.name).is_some(), entry.name))
    }

    /// Whether the small segments of its connection wait for the ACK of earlier data.
    pub(crate) fn nagle(&self) -> bool {
        self.mpi.is_none() && self.plain.iter().all(|plain| plain.blank.nagle())
    }
}

/// The names of workloads over a connection that have only settings.
pub(crate) fn connections() -> impl Iterator<Item = &'static str> {
    let blank = REGISTRY.iter().filter(|entry| entry.name != MPI);
    blank
        .map(|entry| entry.name)
        .filter(|name| Workload::blank(name).is_some_and(|workload| workload.datagrams().is_none()))
}

impl Keys for Workloads {
    fn takes(name: &str) -> bool {
        REGISTRY.iter().any(|entry| entry.name == name)
    }

    fn take<'de, A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        match Workload::blank(&key.text) {
            Some(Workload::Mpi(_)) => self.mpi = Some(map.next_value()?),
            Some(blank) => self.plain.push(Plain { blank, values: map.next_value()? }),
            None => {}
        }
        Ok(())
    }

    fn properties(generator: &mut SchemaGenerator, _: &str) -> Map<String, Json> {
        let keys = REGISTRY.iter().map(|entry| {
            let reference = if entry.name == MPI {
                generator.subschema_for::<Mpi>().to_value()
            } else {
                let blank = Workload::blank(entry.name).expect("the registry names workloads");
                let schema = table(as_settings(&blank), generator).to_value();
                generator.definitions_mut().insert(entry.schema.to_owned(), schema);
                json!({ "$ref": format!("#/$defs/{}", entry.schema) })
            };
            let key = json!({
                "anyOf": [reference, { "type": "null" }],
                "description": entry.doc,
            });
            (entry.name.to_owned(), key)
        });
        keys.collect()
    }
}

/// The workload of the flow's programs over a connection.
pub(crate) fn read(table: &Flow, files: &Files, problems: &mut Problems) -> Option<Workload> {
    let workloads = table.workloads();
    if let Some(mpi) = &workloads.mpi {
        return read_mpi(mpi, table, files, problems).map(Workload::Mpi);
    }
    let Some(last) = workloads.connections().next_back() else { return Some(Workload::Bulk) };
    let place = last.place(&table.from.span);
    last.check_alone(table, problems)?;
    let workload = last.read(problems)?;
    if let Some((_, every)) = workload.burst() {
        check_triggers(every.is_some(), place, table, problems)?;
    }
    Some(workload)
}

/// Checks that events have triggers. With `load` the network determines them.
fn check_triggers(every: bool, place: &Span, table: &Flow, problems: &mut Problems) -> Option<()> {
    match (every, &table.load) {
        (false, None) => {
            let help = "add `every = \"exponential 1 ms\"` to the events, or `load = \"50 %\"` to the flow";
            problems.push(place, "events without triggers", help);
            None
        }
        (true, Some(load)) => {
            let help = "remove one of them: `load` sets the time between triggers";
            problems.push(&load.span, "`load` and `every` are mutually exclusive", help);
            None
        }
        _ => Some(()),
    }
}

/// The workload of the flow's hosts as ranks of an MPI job.
fn read_mpi(mpi: &Mpi, table: &Flow, files: &Files, problems: &mut Problems) -> Option<Job> {
    alone(&Workload::Mpi(Job::default()), MPI, mpi.span(), table, problems)?;
    let library = mpi.settings.read(problems);
    let program = program(mpi, files, problems);
    let (library, program) = (library?, program?);
    mpi.settings.accept(library.check(), problems)?;
    Some(Job { library, program })
}

/// The program of the ranks.
fn program(mpi: &Mpi, files: &Files, problems: &mut Problems) -> Option<Program> {
    let steps = match (&mpi.steps, &mpi.trace) {
        (Some(steps), None) => steps,
        (None, Some(name)) => return recorded(name, mpi, files, problems),
        (Some(_), Some(_)) => {
            problems.push(
                mpi.span(),
                "`steps` and `trace` are mutually exclusive",
                "remove one of them",
            );
            return None;
        }
        (None, None) => {
            let help =
                "add `steps = \"compute 10 ms, alltoall 32 KiB\"`, or `trace = \"mpi file:NAME\"`";
            problems.push(mpi.span(), "an MPI job without steps or a trace", help);
            return None;
        }
    };
    let iterations = match &mpi.iterations {
        Some(Count { value: 0, span }) => {
            problems.push(span, "no iterations", "give at least 1");
            return None;
        }
        Some(count) => count.value,
        None => 1,
    };
    let steps = steps.read(problems)?.into();
    Some(Program::Steps(Steps { steps, iterations }))
}

/// A recorded program.
fn recorded(name: &Name, mpi: &Mpi, files: &Files, problems: &mut Problems) -> Option<Program> {
    if let Some(iterations) = &mpi.iterations {
        problems.push(
            &iterations.span,
            "`iterations` and `trace` are mutually exclusive",
            "remove it: a trace runs once",
        );
        return None;
    }
    let Some((included::TRACE, file)) = included::named(&name.text) else {
        let help = "write \"mpi file:NAME\", with a file that `suimon mpi record` wrote";
        problems.push(&name.span, format!("invalid trace `{}`", name.text), help);
        return None;
    };
    let trace = files.traces.get(file);
    if trace.is_none() {
        let help = "load the scenario from its own file: the name is relative to its folder";
        problems.push(
            &name.span,
            format!("cannot load the file `{file}`: its contents were not provided"),
            help,
        );
    }
    trace.cloned().map(Program::Recorded)
}

/// Reports keys that cannot be combined with a workload, whose key is `name`: another workload, a key that it
/// excludes, and keys without a meaning for it.
fn alone(
    workload: &Workload,
    name: &str,
    place: &Span,
    table: &Flow,
    problems: &mut Problems,
) -> Option<()> {
    let demand = table.demand();
    let is_udp = |workload: &Workload| workload.datagrams().is_some();
    let alike = table.workloads().plain().filter(|other| is_udp(&other.blank) == is_udp(workload));
    let others = alike.map(Plain::name).filter(|other| *other != name);
    let excluded = workload.excludes().iter().copied().filter(|key| match *key {
        "load" => table.load.is_some(),
        key => demand.span_of(key).is_some(),
    });
    if let Some(key) = others.chain(excluded).next() {
        beside(place, key, workload.title(), problems);
        return None;
    }
    // Datagrams are sent without what `read` is for.
    let read = table.read.is_some() && !is_udp(workload);
    let data = [(demand.span_of("bytes").is_some(), "bytes"), (read, "read")];
    for (_, key) in data.iter().filter(|(given, _)| *given && workload.sets_data()) {
        beside(place, key, workload.title(), problems);
    }
    Some(())
}

/// Reports a key that cannot be combined with a workload.
fn beside(workload: &Span, key: &str, name: &str, problems: &mut Problems) {
    let message = format!("`{key}` cannot be combined with {name}");
    let (_, word) = name.split_once(' ').unwrap_or(("", name));
    problems.push(workload, message, format!("remove {key}, or {word}"));
}

/// Its table within a flow's, and its settings; `None` for bulk.
pub(crate) fn settings(workload: &Workload) -> Option<(&'static str, &dyn Settings)> {
    workload.name().map(|name| (name, as_settings(workload)))
}

/// The settings of a workload.
fn as_settings(workload: &Workload) -> &dyn Settings {
    let config: &dyn WorkloadConfig = &**workload;
    config
}

/// Writes its lines of a lock file.
pub(crate) fn write(workload: &Workload, text: &mut String) {
    let Some((table, settings)) = settings(workload) else { return };
    if let Workload::Mpi(job) = workload {
        match &job.program {
            Program::Steps(steps) => {
                line(text, "mpi.steps", &string(&mpi::text(&steps.steps)));
                line(text, "mpi.iterations", &steps.iterations.to_string());
            }
            Program::Recorded(recorded) => {
                let (trace, folder) = (included::TRACE, mpi::TRACES);
                let file = format!("{trace} file:{folder}/{}", recorded.file_name());
                line(text, "mpi.trace", &string(&file));
            }
        }
    }
    for (name, value) in written(settings) {
        line(text, &format!("{table}.{name}"), &value);
    }
}
