//! `suimon list`: the names that a scenario can use, from the registries, and the catalogue of disciplines and
//! algorithms.

use clap::{Args, ValueEnum};
use experiment::paper;
use scenario::catalogue::{self, Unknown};
use serde_json::{Value, json};
use transport::Profile;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

use crate::table::Table;

/// List algorithms, disciplines, profiles, probes, papers and templates
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// List only these
    list: Option<List>,
    /// Show the page of one entry: `suimon list disciplines cbq`, `suimon list profiles linux-6`
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
    /// Additional recordings of a run, for `[probe]`
    Probes,
}

/// A name and its summary.
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
                let all = Profile::all().iter();
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

/// The papers. An unreadable paper has no title; `suimon paper` reports why.
fn papers() -> Vec<Entry> {
    let title = |name| paper::title(name).unwrap_or_default();
    paper::papers().map(|name| (name.to_owned(), title(name))).collect()
}

/// The probes, with the descriptions of the schema of scenario files.
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
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
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

/// Prints the page of one discipline, algorithm or profile.
fn page(arguments: &Arguments, name: &str) -> Result<Exit, Failure> {
    match arguments.list {
        Some(List::Disciplines) => discipline(arguments, name),
        Some(List::Algorithms) => algorithm(arguments, name),
        Some(List::Profiles) => profile(arguments, name),
        _ => {
            let help = "leave out the name, or use `suimon list disciplines NAME`, `suimon list algorithms NAME` or \
                        `suimon list profiles NAME`";
            let message = "only disciplines, algorithms and profiles have pages";
            Err(Failure::usage(message.to_owned(), help))
        }
    }
}

fn unknown(unknown: Unknown) -> Failure {
    Failure::usage(unknown.to_string(), unknown.help)
}

fn algorithm(arguments: &Arguments, name: &str) -> Result<Exit, Failure> {
    let page = catalogue::algorithm(name).map_err(unknown)?;
    if arguments.json { output::print_json(&page) } else { output::print(&page.markdown()) }?;
    Ok(Exit::Fine)
}

fn discipline(arguments: &Arguments, name: &str) -> Result<Exit, Failure> {
    let page = catalogue::page(name).map_err(unknown)?;
    if arguments.json { output::print_json(&page) } else { output::print(&page.markdown()) }?;
    Ok(Exit::Fine)
}

/// What a TCP stack of that era does, with sources.
fn profile(arguments: &Arguments, name: &str) -> Result<Exit, Failure> {
    let Some(profile) = Profile::by_name(name) else {
        let names: Vec<_> = Profile::all().iter().map(Profile::name).collect();
        let message = format!("there is no profile `{name}`");
        return Err(Failure::usage(message, format!("choose one of {}", names.join(", "))));
    };
    let settings: Vec<(&str, &str)> =
        profile.sources().iter().map(|source| (source.setting, source.source)).collect();
    if arguments.json {
        let settings: Vec<_> = settings
            .iter()
            .map(|(key, source)| json!({ "setting": key, "source": source }))
            .collect();
        let page = json!({
            "name": name,
            "summary": profile.summary(),
            "congestion": profile.config().congestion.algorithm().name(),
            "settings": settings,
        });
        output::print_json(&page)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["setting", "what the stack does, and the source"]);
    settings.iter().for_each(|(key, source)| table.row([(*key).into(), (*source).into()]));
    let (summary, congestion) = (profile.summary(), profile.config().congestion.algorithm().name());
    let table = table.render();
    output::print(&format!(
        "{name}: {summary}\ncongestion control: {congestion}\n\n{table}\nin a scenario: \
         [host.NAME] profile = \"{name}\"\n"
    ))?;
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
