//! `suimon list`: what a scenario can name, from the registries themselves, and the catalogue of disciplines.

use clap::{Args, ValueEnum};
use scenario::catalogue::{self, Unknown};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::paper::library;
use crate::table::Table;

/// What `list` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// One list only
    list: Option<List>,
    /// The catalogue's page of one discipline: `suimon list disciplines cbq`
    name: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum List {
    /// Congestion control algorithms, for a flow's `congestion`
    Algorithms,
    /// Queueing disciplines, for a link's `queue`
    Disciplines,
    /// TCP stacks by era, for a host's `profile`
    Profiles,
    /// Papers, for `suimon paper`
    Papers,
    /// Scenarios to start from, for `suimon init`
    Templates,
    /// What a run records beside its totals, for `[probe]`
    Probes,
}

/// A name and what it is.
type Entry = (String, String);

impl List {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn entries(self) -> Vec<Entry> {
        let entry = |name: &str, summary: &str| (name.to_owned(), summary.to_owned());
        match self {
            Self::Algorithms => {
                let all = congestion::Algorithm::all().iter();
                all.map(|a| entry(a.name(), a.summary())).collect()
            }
            Self::Disciplines => {
                let all = traffic::qdisc::REGISTRY.iter();
                all.map(|d| entry(d.name, d.summary)).collect()
            }
            Self::Profiles => {
                let all = transport::Profile::all().iter();
                all.map(|p| entry(p.name(), p.summary())).collect()
            }
            Self::Papers => papers(),
            Self::Templates => {
                let all = scenario::TEMPLATES.iter();
                all.map(|t| entry(t.name, t.summary)).collect()
            }
            Self::Probes => probes(),
        }
    }
}

/// The papers; one that cannot be read has no title, and `suimon paper` says why.
fn papers() -> Vec<Entry> {
    let title = |name| library::published(name).map(|paper| paper.title).unwrap_or_default();
    library::papers().map(|name| (name.to_owned(), title(name))).collect()
}

/// The probes, as the schema of scenario files has them.
fn probes() -> Vec<Entry> {
    let properties = &scenario::schema()["$defs"]["Probes"]["properties"];
    let properties = properties.as_object().into_iter().flatten();
    let summary = |probe: &Value| {
        let description = probe["description"].as_str().unwrap_or_default();
        description.split('\n').collect::<Vec<_>>().join(" ")
    };
    properties.map(|(name, probe)| (name.clone(), summary(probe))).collect()
}

/// Prints the lists.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(name) = &arguments.name {
        return page(arguments, name);
    }
    let lists = arguments.list.map_or_else(|| List::value_variants().to_vec(), |one| vec![one]);
    if arguments.json {
        output::print_json(&as_json(&lists))?;
    } else {
        output::print(&as_text(&lists))?;
    }
    Ok(Exit::Fine)
}

/// Prints one discipline's page.
fn page(arguments: &Arguments, name: &str) -> Result<Exit, Failure> {
    if arguments.list != Some(List::Disciplines) {
        let help = "name no entry, or see `suimon list disciplines NAME`";
        return Err(Failure::usage("only disciplines have pages".to_owned(), help));
    }
    let unknown = |unknown: Unknown| Failure::usage(unknown.to_string(), unknown.help);
    let page = catalogue::page(name).map_err(unknown)?;
    if arguments.json { output::print_json(&page) } else { output::print(&page.markdown()) }?;
    Ok(Exit::Fine)
}

fn as_json(lists: &[List]) -> Value {
    let entry = |(name, summary): Entry| json!({ "name": name, "summary": summary });
    let entries = |list: &List| list.entries().into_iter().map(entry).collect::<Value>();
    lists.iter().map(|list| (list.name(), entries(list))).collect::<serde_json::Map<_, _>>().into()
}

fn as_text(lists: &[List]) -> String {
    let sections = lists.iter().map(|list| {
        let mut table = Table::new(&["", ""]);
        for (name, summary) in list.entries() {
            table.row([format!("  {name}").into(), summary.into()]);
        }
        format!("{}\n{}", list.name(), table.render())
    });
    sections.collect::<Vec<_>>().join("\n")
}
