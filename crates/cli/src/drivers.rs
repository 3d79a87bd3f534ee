//! `suimon drivers`: what each driver can do, and which of them can run a scenario.

use base::Fault;
use clap::Args;
use experiment::DriverChoice;
use experiment::driver::{self, Description, Role};
use scenario::capability::{Capability, FEATURES, Support};
use scenario::{Document, Place, Plan};
use serde_json::{Value, json};

use crate::driver::{On, parser};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::scenario_args::ScenarioArgs;
use crate::table::{Cell, Table};

/// List the drivers and what each can do, or which of them can run a scenario
#[derive(Debug, Args)]
#[command(mut_arg("file", |file| file.required(false)))]
#[command(mut_args(|arg| match arg.get_id().as_str() {
    "set" | "vary" | "seed" | "seeds" => arg.requires("file"),
    _ => arg,
}))]
pub(crate) struct Arguments {
    #[command(flatten)]
    scenario: Option<ScenarioArgs>,
    /// Only this driver; exits with 1 if it cannot run the scenario
    #[arg(long, value_parser = parser(), value_name = "DRIVER")]
    on: Option<On>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Prints the drivers.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let drivers = arguments.on.map_or_else(|| listed().collect(), |on| vec![on.driver]);
    let Some(scenario) = &arguments.scenario else {
        match arguments.json {
            true => output::print_json(&json!({ "drivers": features_json(&drivers) }))?,
            false => output::print(&features(&drivers))?,
        }
        return Ok(Exit::Fine);
    };
    let experiment = scenario.experiment()?;
    let document = experiment.document()?;
    let plans = experiment.runs()?.into_iter().map(|run| Ok(run.plan()?));
    let plans = plans.collect::<Result<Vec<Plan>, Failure>>()?;
    let found: Vec<Found> =
        drivers.iter().map(|&driver| Found::of(driver, &document, &plans)).collect();
    match arguments.json {
        true => output::print_json(&json!({
            "file": experiment.file.display().to_string(),
            "drivers": found.iter().map(Found::json).collect::<Vec<_>>(),
        }))?,
        false => output::print(&found.iter().map(Found::text).collect::<Vec<_>>().join("\n"))?,
    }
    Ok(Exit::met(arguments.on.is_none() || found.iter().all(Found::runs)))
}

/// The drivers that are listed.
pub(crate) fn listed() -> impl Iterator<Item = DriverChoice> {
    driver::of_role(Role::Run).chain(driver::of_role(Role::Policy))
}

/// Whether a driver has a feature, and what to know about it.
pub(crate) const fn words(support: Support) -> (&'static str, &'static str) {
    match support {
        Support::Full => ("yes", ""),
        Support::Limited(limit) => ("limited", limit),
        Support::Lacking(instead) => ("no", instead),
    }
}

fn cell(support: Support) -> Cell {
    let is_lacking = matches!(support, Support::Lacking(_));
    Cell::state(words(support).0, support == Support::Full, is_lacking)
}

/// A table of all features, then what to know about those that a driver has not, or with a limit.
fn features(drivers: &[DriverChoice]) -> String {
    let abouts: Vec<&Description> = drivers.iter().map(|driver| driver.description()).collect();
    let mut headings = vec!["feature"];
    headings.extend(abouts.iter().map(|about| about.name));
    let mut table = Table::new(&headings);
    for (row, feature) in FEATURES.iter().enumerate() {
        let cells = abouts.iter().map(|about| cell(about.capabilities[row].support));
        table.row([Cell::from(feature.name)].into_iter().chain(cells));
    }
    let sections = abouts.iter().map(|about| {
        let mut table = Table::new(&["", "", ""]);
        for Capability { feature, support, .. } in about.capabilities {
            if *support != Support::Full {
                let name = format!("  {}", feature.name);
                table.row([name.into(), cell(*support), words(*support).1.into()]);
            }
        }
        format!("\n{}: {}\n{}", about.name, about.help, table.render())
    });
    table.render() + &sections.collect::<String>()
}

fn features_json(drivers: &[DriverChoice]) -> Vec<Value> {
    let feature = |Capability { feature, support, .. }: &Capability| {
        let (has, why) = words(*support);
        json!({ "feature": feature.name, "support": has, "why": why, "keys": feature.keys() })
    };
    let driver = |driver: &DriverChoice| {
        let about = driver.description();
        json!({
            "name": about.name,
            "manifest": about.manifest,
            "about": about.help,
            "real_time": about.is_real_time,
            "runs": about.role != Role::Policy,
            "features": about.capabilities.iter().map(feature).collect::<Vec<_>>(),
        })
    };
    drivers.iter().map(driver).collect()
}

/// What a driver says about a scenario.
struct Found {
    about: &'static Description,
    obstacle: Option<Fault>,
    /// The keys that ask for what it lacks, or has with a limit.
    keys: Vec<(Place, Support)>,
    left_out: Vec<String>,
}

impl Found {
    fn of(driver: DriverChoice, document: &Document, plans: &[Plan]) -> Self {
        let about = driver.description();
        let plans: Vec<Plan> = plans.iter().map(|plan| driver.prepared(plan)).collect();
        let obstacle = plans.iter().find_map(|plan| driver.check(plan).err());
        let places = |row: &Capability| {
            let support = row.support;
            row.places(document).into_iter().map(move |place| (place, support))
        };
        let keys = about.capabilities.iter().flat_map(places).collect();
        let all = plans.iter().flat_map(|plan| driver.left_out(plan));
        let left_out = if obstacle.is_none() { crate::check::each_once(all) } else { Vec::new() };
        Self { about, obstacle, keys, left_out }
    }

    /// Whether the driver runs the scenario.
    fn runs(&self) -> bool {
        self.obstacle.is_none() && self.about.role != Role::Policy
    }

    fn text(&self) -> String {
        let verdict = match (&self.obstacle, self.about.role) {
            (Some(obstacle), _) => format!("cannot run it: {obstacle}"),
            (None, Role::Policy) => "runs nothing: suimon host plan FILE HOST".into(),
            (None, _) => "runs it".into(),
        };
        let mut table = Table::new(&["", "", ""]);
        for (place, support) in &self.keys {
            let place = format!("  {place}");
            table.row([place.into(), cell(*support), words(*support).1.into()]);
        }
        let left_out = self.left_out.iter().map(|what| format!("  left out: {what}\n"));
        let left_out = left_out.collect::<String>();
        format!("{}: {verdict}\n{left_out}{}", self.about.name, table.render())
    }

    fn json(&self) -> Value {
        let key = |(place, support): &(Place, Support)| {
            let (has, why) = words(*support);
            let Place { name, line, path } = place;
            json!({ "file": name, "line": line, "path": path, "support": has, "why": why })
        };
        let obstacle = self.obstacle.as_ref();
        json!({
            "name": self.about.name,
            "runs": self.runs(),
            "obstacle": obstacle.map(|it| json!({ "message": it.message, "help": it.help })),
            "keys": self.keys.iter().map(key).collect::<Vec<_>>(),
            "left_out": self.left_out,
        })
    }
}
