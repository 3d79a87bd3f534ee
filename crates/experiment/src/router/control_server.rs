//! Requests to a running router, and the answers.

use std::path::Path;

use base::Fault;
use lab::router::{Look, Port};
use network::PortId;
use scenario::plan::{Action, NodeKind};
use scenario::{Document, Plan, Units};
use serde::Deserialize;
use serde_json::{Value, json};

use super::counters;
use crate::control::refusal;
use crate::metrics;
use crate::statistics::{self, configured_rate};

/// The name of a request's change in the scenario, as refusals show it.
const CHANGE: &str = "do";

/// The key that scenarios of routers need not have.
const DURATION: &str = "duration";

/// The keys of a change, which `set` does not take.
const CHANGES: [&str; 3] = ["enabled", "reserve", "release"];

/// The scenario's text, and the assignments made to it.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: String,
    assignments: Vec<String>,
}

impl Source {
    /// Reads the file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(file: &Path, assignments: &[String]) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(file).map_err(record::error::file(file))?;
        Ok(Self::new(file.display().to_string(), text, assignments))
    }

    /// A scenario that says no `duration` has one that no router looks at: it runs until a signal.
    fn new(name: String, text: String, assignments: &[String]) -> Self {
        let lacks = text.parse::<toml::Table>().is_ok_and(|table| !table.contains_key(DURATION));
        let filled = lacks.then(|| format!("{DURATION}=1 s"));
        let assignments = filled.into_iter().chain(assignments.iter().cloned()).collect();
        Self { name, text, assignments }
    }

    /// The plan of the scenario.
    ///
    /// # Errors
    /// A text that is not a scenario.
    pub fn plan(&self) -> Result<Plan, scenario::Errors> {
        self.document()?.plan()
    }

    fn document(&self) -> Result<Document, scenario::Errors> {
        let mut document = Document::parse(&self.name, &self.text)?;
        self.assignments.iter().try_for_each(|assignment| document.set(assignment))?;
        Ok(document)
    }

    /// Adds an assignment. Removes those that it overrides: to the same path, and to paths below it.
    fn assign(&mut self, assignment: &str) {
        if let Some(path) = scenario::assigned_path(assignment) {
            let is_below = |other: &String| {
                scenario::assigned_path(other).is_some_and(|other| other.starts_with(&path))
            };
            self.assignments.retain(|other| !is_below(other));
        }
        self.assignments.push(assignment.to_owned());
    }
}

/// A request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// Send the counters.
    Statistics(Nothing),
    /// Set values of the scenario: each `PATH=VALUE`.
    Set(Vec<String>),
    /// Change a port.
    Do(Do),
}

/// A change, as `[change.NAME]` of a scenario without its time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Do {
    /// The port.
    at: String,
    /// The table's other keys, each `KEY=VALUE`.
    set: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Events and rates of the last second, as text.
#[derive(Debug, Default)]
pub struct Tick {
    /// State changes of interfaces.
    pub events: Vec<String>,
    /// Rates and drops.
    pub rates: Option<String>,
}

/// Answers requests to a running router, and changes it.
#[derive(Debug)]
pub struct ControlServer {
    source: Source,
    /// The current plan.
    plan: Plan,
    ports: [Port; 2],
    /// Each port's discipline and configured rates.
    configured: [statistics::Port; 2],
    /// The counters at the last two ticks.
    looks: [Option<Look>; 2],
}

impl ControlServer {
    /// Creates a server for an unchanged router.
    pub fn new(source: Source, plan: Plan, ports: [Port; 2]) -> Self {
        let configured = ports.each_ref().map(|port| configured_rate::of(&plan, port.id));
        Self { source, plan, ports, configured, looks: [None, None] }
    }

    /// The router's ports.
    pub fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    /// The units of its scenario.
    pub const fn units(&self) -> Units {
        self.plan.units
    }

    /// Reads the counters. Returns state changes of interfaces, and a line with rates if there is an earlier
    /// snapshot.
    pub fn tick(&mut self, router: &lab::router::Handle) -> Tick {
        let Some(look) = router.look() else { return Tick::default() };
        let [_, last] = std::mem::take(&mut self.looks);
        self.looks = [last, Some(look)];
        let [before, Some(now)] = &self.looks else { return Tick::default() };
        Tick {
            events: counters::outages(&self.ports, before.as_ref(), now),
            rates: before
                .as_ref()
                .map(|before| counters::line(&self.ports, self.plan.units, before, now)),
        }
    }

    /// The answer to a request, as one line of JSON.
    pub fn answer(&mut self, router: &lab::router::Handle, line: &str) -> String {
        let answer = serde_json::from_str(line).map_err(|error| {
            let help = "send {\"statistics\": {}}, {\"set\": [\"KEY=VALUE\"]} or \
                        {\"do\": {\"at\": \"NODE:LINK\", \"set\": [\"KEY=VALUE\"]}}";
            Fault::usage(error.to_string(), help)
        });
        let answer = answer.and_then(|request| self.handle(router, request));
        answer.unwrap_or_else(|fault| refusal(&fault)).to_string()
    }

    fn handle(&mut self, router: &lab::router::Handle, request: Request) -> Result<Value, Fault> {
        match request {
            Request::Statistics(Nothing {}) => self.statistics(router),
            Request::Set(assignments) => self.set(router, &assignments),
            Request::Do(change) => self.change(router, &change),
        }
    }

    fn statistics(&self, router: &lab::router::Handle) -> Result<Value, Fault> {
        let look = router.look().ok_or_else(at_its_end)?;
        let between = match &self.looks {
            [Some(before), Some(now)] => Some((before, now)),
            _ => None,
        };
        Ok(self.counters(&look, between))
    }

    /// The counters for Prometheus.
    ///
    /// # Errors
    /// A router that has stopped.
    pub fn metrics(&self, router: &lab::router::Handle) -> Result<String, String> {
        let look = router.look().ok_or_else(|| at_its_end().message)?;
        Ok(metrics::router::text(&self.ports, &self.configured, &look))
    }

    /// The counters at a snapshot, with rates between two others, or else over the whole time.
    pub fn counters(&self, look: &Look, between: Option<(&Look, &Look)>) -> Value {
        let mut value = counters::value(&self.ports, &self.configured, look, between);
        value["title"] = self.plan.title.clone().into();
        value["units"] = json!(self.plan.units);
        value["driver"] = "router".into();
        value
    }

    /// Sets the ports' queues as in the scenario with these assignments; all of them or none.
    fn set(
        &mut self,
        router: &lab::router::Handle,
        assignments: &[String],
    ) -> Result<Value, Fault> {
        if let Some(refusal) = self.not_a_setting(assignments) {
            return Err(refusal);
        }
        let mut source = self.source.clone();
        assignments.iter().for_each(|assignment| source.assign(assignment));
        let mut plan = source.plan()?;
        let mut switches = Vec::new();
        for port in self.ports.clone() {
            let (link, end) = (port.id.0 as usize / 2, port.id.0 as usize % 2);
            let (old, new) = (&self.plan.links[link].ends[end], &mut plan.links[link].ends[end]);
            if old.queue != new.queue {
                let new = std::mem::replace(&mut new.queue, old.queue.clone());
                switches.push((port, old.queue.clone(), new));
            }
        }
        if !switches.is_empty() && self.emulates() {
            let help = "set a discipline on a router's port; an emulator has only its buffer";
            return Err(Fault::usage("an emulator's port has no discipline", help));
        }
        // With the old queues, everything must be as before.
        if scenario::lock(&plan) != scenario::lock(&self.plan) {
            let [a, b] = &self.ports;
            let error =
                format!("only the queues of {} and {} can change while it runs", a.name, b.name);
            return Err(Fault::usage(
                error,
                "set keys below link.LINK.at.NODE.queue, or restart the router",
            ));
        }
        for (done, (port, _, new)) in switches.iter().enumerate() {
            if let Err(refusal) = router.change(port.id, Action::Switch(new.clone())) {
                for (port, old, _) in switches.iter().take(done) {
                    // The port accepted this queue before.
                    let _ = router.change(port.id, Action::Switch(old.clone()));
                }
                return Err(Fault::usage(refusal, "nothing was changed"));
            }
        }
        (self.source, self.plan) = (source, plan);
        for (port, _, new) in &switches {
            self.apply_change(port.id, &Action::Switch(new.clone()));
        }
        let names: Vec<_> = switches.iter().map(|(port, ..)| port.name.clone()).collect();
        Ok(json!({ "set": names }))
    }

    /// Why an assignment is none, but a change, which another verb makes.
    fn not_a_setting(&self, assignments: &[String]) -> Option<Fault> {
        let port =
            assignments.iter().find(|word| self.ports.iter().any(|port| port.name == **word));
        let changes = |word: &&String| {
            let path = word.split_once('=').map_or(word.as_str(), |(path, _)| path);
            // A class may have any name.
            let keys = path.trim().split('.').take_while(|key| *key != "queue");
            keys.into_iter().any(|key| CHANGES.contains(&key))
        };
        let change = assignments.iter().find(changes);
        let word = port.or(change)?;
        let named = port.map_or(self.ports[1].name.as_str(), String::as_str);
        let example =
            change.filter(|change| !change.contains("link.")).map_or("enabled=false", |c| c);
        Some(Fault::usage(
            format!("`{word}` is a change of a port, not a setting: use `do`"),
            format!("suimon router do {named} {example}"),
        ))
    }

    /// Whether the ports belong to an emulator.
    fn emulates(&self) -> bool {
        let [PortId(id), _] = self.ports.each_ref().map(|port| port.id);
        let node = self.plan.links[id as usize / 2].ends[id as usize % 2].node;
        matches!(self.plan.nodes[node].kind, NodeKind::Emulator(_))
    }

    /// Applies a change, parsed like one of the scenario.
    fn change(&mut self, router: &lab::router::Handle, change: &Do) -> Result<Value, Fault> {
        let table = json!({ "change": { CHANGE: { "at": change.at, "when": "0 s" } } });
        let table = toml::to_string(&table);
        let table = table.map_err(|error| Fault::usage(error.to_string(), "name a port"))?;
        let source =
            Source { text: format!("{}\n{table}", self.source.text), ..self.source.clone() };
        let mut document = source.document()?;
        for assignment in &change.set {
            let key = assignment.split_once('=').map(|(key, _)| key.trim());
            if let Some(key @ ("at" | "when")) = key {
                let help = "the change is made now, at the given port";
                return Err(Fault::usage(format!("`{key}` cannot be set"), help));
            }
            document.set(&format!("change.{CHANGE}.{assignment}"))?;
        }
        let plan = document.plan()?;
        let found = plan.changes.into_iter().find(|change| change.name == CHANGE);
        let Some(change) = found else {
            return Err(Fault::usage("this is not a change", "see [change] in the schema"));
        };
        let found = change.of_port();
        let known = |id| self.ports.iter().find(|port| port.id == id).cloned();
        let Some((port, action)) = found.and_then(|(id, action)| Some((known(id)?, action))) else {
            let [a, b] = &self.ports;
            let help = format!("use {} or {}", a.name, b.name);
            return Err(Fault::usage("the port does not belong to this router", help));
        };
        let made = router.change(port.id, action.clone());
        made.map_err(|refusal| Fault::usage(refusal, "nothing was changed"))?;
        self.apply_change(port.id, action);
        Ok(json!({ "done": port.name }))
    }

    /// Updates the configured rates after a change.
    fn apply_change(&mut self, id: PortId, action: &Action) {
        for (port, configured) in self.ports.iter().zip(&mut self.configured) {
            if port.id == id {
                configured_rate::apply(configured, &mut self.plan, id, action);
            }
        }
    }
}

fn at_its_end() -> Fault {
    Fault::usage("the router has stopped", "start it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routers_scenario_needs_no_duration() {
        let scenario = "host.a = {}\nhost.b = {}\nrouter.r = {}\n\
                        link.in = { between = [\"a\", \"r\"], rate = \"1 Gbit/s\" }\n\
                        link.out = { between = [\"r\", \"b\"], rate = \"1 Gbit/s\" }\n";
        let plan = |text: String| Source::new("office.toml".into(), text, &[]).plan();
        assert!(plan(scenario.to_owned()).is_ok());
        let own = plan(format!("duration = \"7 s\"\n{scenario}")).expect("a plan");
        assert_eq!(own.duration, base::Duration::from_secs(7));
    }

    #[test]
    fn of_settings_made_again_and_again_the_last_is_kept() {
        let mut source =
            Source { name: "test".into(), text: String::new(), assignments: Vec::new() };
        for turn in 0..1_000 {
            source.assign("link.out.at.r.queue.cbq.class.web.share=50 %");
            source.assign(&format!("link.out.at.r.queue.cbq.class.web.rate={turn} Mbit/s"));
            source.assign(&format!("link.out.at.r.queue.cbq.class.\"w.2\".rate = {turn} kbit/s"));
        }
        let kept = [
            "link.out.at.r.queue.cbq.class.web.share=50 %",
            "link.out.at.r.queue.cbq.class.web.rate=999 Mbit/s",
            "link.out.at.r.queue.cbq.class.\"w.2\".rate = 999 kbit/s",
        ];
        assert_eq!(source.assignments, kept);
        // An assignment to the table above replaces those below.
        source.assign("link.out.at.r.queue.cbq={}");
        assert_eq!(source.assignments, ["link.out.at.r.queue.cbq={}"]);
        source.assign("link.out.at.r.queue.cbq.class.web.rate=1 Mbit/s");
        assert_eq!(source.assignments.len(), 2);
    }
}
