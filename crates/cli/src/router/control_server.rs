//! What a router is asked while it runs, and what it answers.

use std::path::Path;

use experiment::statistics::{self, configured_rate};
use lab::router::{Look, Port};
use network::PortId;
use scenario::plan::{Action, NodeKind};
use scenario::{Document, Plan, Units};
use serde::Deserialize;
use serde_json::{Value, json};

use super::render;
use crate::failure::Failure;

/// The name of the change that a request is in the scenario, as refusals tell it.
const CHANGE: &str = "do";

/// The scenario's text, and what was set in it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    name: String,
    text: String,
    assignments: Vec<String>,
}

impl Source {
    /// Reads the file.
    pub(super) fn read(file: &Path, assignments: &[String]) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(file).map_err(Failure::file(file))?;
        Ok(Self { name: file.display().to_string(), text, assignments: assignments.to_owned() })
    }

    /// What it says.
    pub(super) fn plan(&self) -> Result<Plan, scenario::Errors> {
        self.document()?.plan()
    }

    fn document(&self) -> Result<Document, scenario::Errors> {
        let mut document = Document::parse(&self.name, &self.text)?;
        self.assignments.iter().try_for_each(|assignment| document.set(assignment))?;
        Ok(document)
    }

    /// The same with one more assignment. Those that it overrides are forgotten: of the same path, and of
    /// paths below it.
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

/// A line.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Request {
    /// Tell what was counted.
    Statistics(Nothing),
    /// Set values of the scenario: each `PATH=VALUE`.
    Set(Vec<String>),
    /// Make a change.
    Do(Do),
}

/// A change, as `[change.NAME]` of a scenario without its time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Do {
    /// The port.
    at: String,
    /// What else the table says, each `KEY=VALUE`.
    set: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// Why a request is refused.
#[derive(Debug)]
struct Refusal {
    error: String,
    help: String,
}

impl Refusal {
    fn new(error: impl Into<String>, help: impl Into<String>) -> Self {
        Self { error: error.into(), help: help.into() }
    }
}

impl From<scenario::Errors> for Refusal {
    fn from(errors: scenario::Errors) -> Self {
        let join = |texts: Vec<&str>| texts.join("; ");
        let all = errors.diagnostics();
        Self {
            error: join(all.iter().map(|problem| problem.message.as_str()).collect()),
            help: join(all.iter().map(|problem| problem.help.as_str()).collect()),
        }
    }
}

/// What the last second brought, for people.
#[derive(Debug, Default)]
pub(super) struct Tick {
    /// What happened to interfaces.
    pub(super) events: Vec<String>,
    /// What was sent and dropped.
    pub(super) rates: Option<String>,
}

/// Answers requests to a running router, and changes it.
#[derive(Debug)]
pub(super) struct ControlServer {
    source: Source,
    /// What holds.
    plan: Plan,
    ports: [Port; 2],
    /// Each port's discipline and configured rates.
    configured: [statistics::Port; 2],
    /// What was counted at the last two ticks.
    looks: [Option<Look>; 2],
}

impl ControlServer {
    /// Nothing changed yet.
    pub(super) fn new(source: Source, plan: Plan, ports: [Port; 2]) -> Self {
        let configured = ports.each_ref().map(|port| configured_rate::of(&plan, port.id));
        Self { source, plan, ports, configured, looks: [None, None] }
    }

    /// The router's ports.
    pub(super) fn ports(&self) -> &[Port; 2] {
        &self.ports
    }

    /// The units of its scenario.
    pub(super) const fn units(&self) -> Units {
        self.plan.units
    }

    /// Looks at the counters, for rates. Returns what happened to interfaces, and the rates as a line once
    /// there are two looks to tell them by.
    pub(super) fn tick(&mut self, router: &lab::router::Handle) -> Tick {
        let Some(look) = router.look() else { return Tick::default() };
        let [_, last] = std::mem::take(&mut self.looks);
        self.looks = [last, Some(look)];
        let [before, Some(now)] = &self.looks else { return Tick::default() };
        Tick {
            events: render::outages(&self.ports, before.as_ref(), now),
            rates: before
                .as_ref()
                .map(|before| render::line(&self.ports, self.plan.units, before, now)),
        }
    }

    /// The answer to a line, as one line of JSON.
    pub(super) fn answer(&mut self, router: &lab::router::Handle, line: &str) -> String {
        let answer = serde_json::from_str(line).map_err(|error| {
            let help = "write {\"statistics\": {}}, {\"set\": [\"KEY=VALUE\"]} or \
                        {\"do\": {\"at\": \"NODE:LINK\", \"set\": [\"KEY=VALUE\"]}}";
            Refusal::new(error.to_string(), help)
        });
        let answer = answer.and_then(|request| self.handle(router, request));
        let value = answer
            .unwrap_or_else(|Refusal { error, help }| json!({ "error": error, "help": help }));
        value.to_string()
    }

    fn handle(&mut self, router: &lab::router::Handle, request: Request) -> Result<Value, Refusal> {
        match request {
            Request::Statistics(Nothing {}) => self.statistics(router),
            Request::Set(assignments) => self.set(router, &assignments),
            Request::Do(change) => self.change(router, &change),
        }
    }

    fn statistics(&self, router: &lab::router::Handle) -> Result<Value, Refusal> {
        let look = router.look().ok_or_else(at_its_end)?;
        let between = match &self.looks {
            [Some(before), Some(now)] => Some((before, now)),
            _ => None,
        };
        Ok(self.told(&look, between))
    }

    /// What was counted until that look; rates are of the time between two others, or else over all of it.
    pub(super) fn told(&self, look: &Look, between: Option<(&Look, &Look)>) -> Value {
        let mut value = render::value(&self.ports, &self.configured, look, between);
        value["title"] = self.plan.title.clone().into();
        value["units"] = json!(self.plan.units);
        value["driver"] = "router".into();
        value
    }

    /// Gives the ports the queues that the scenario has with these settings; all of them or none.
    fn set(
        &mut self,
        router: &lab::router::Handle,
        assignments: &[String],
    ) -> Result<Value, Refusal> {
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
            let help = "put a discipline on a router's port; an emulator has its buffer";
            return Err(Refusal::new("an emulator's port has no discipline", help));
        }
        // With the old queues everything must be as it was.
        if scenario::lock(&plan) != scenario::lock(&self.plan) {
            let [a, b] = &self.ports;
            let error =
                format!("only the queues of {} and {} change while it runs", a.name, b.name);
            return Err(Refusal::new(error, "set below link.LINK.at.NODE.queue, or start it anew"));
        }
        for (done, (port, _, new)) in switches.iter().enumerate() {
            if let Err(refusal) = router.change(port.id, Action::Switch(new.clone())) {
                for (port, old, _) in switches.iter().take(done) {
                    // It had them before.
                    let _ = router.change(port.id, Action::Switch(old.clone()));
                }
                return Err(Refusal::new(refusal, "nothing has changed"));
            }
        }
        (self.source, self.plan) = (source, plan);
        for (port, _, new) in &switches {
            self.apply_change(port.id, &Action::Switch(new.clone()));
        }
        let names: Vec<_> = switches.iter().map(|(port, ..)| port.name.clone()).collect();
        Ok(json!({ "set": names }))
    }

    /// Whether the ports are an emulator's.
    fn emulates(&self) -> bool {
        let [PortId(id), _] = self.ports.each_ref().map(|port| port.id);
        let node = self.plan.links[id as usize / 2].ends[id as usize % 2].node;
        matches!(self.plan.nodes[node].kind, NodeKind::Emulator(_))
    }

    /// Makes a change, read as one of the scenario.
    fn change(&mut self, router: &lab::router::Handle, change: &Do) -> Result<Value, Refusal> {
        let table = json!({ "change": { CHANGE: { "at": change.at, "when": "0 s" } } });
        let table = toml::to_string(&table);
        let table = table.map_err(|error| Refusal::new(error.to_string(), "name a port"))?;
        let source =
            Source { text: format!("{}\n{table}", self.source.text), ..self.source.clone() };
        let mut document = source.document()?;
        for assignment in &change.set {
            let key = assignment.split_once('=').map(|(key, _)| key.trim());
            if let Some(key @ ("at" | "when")) = key {
                let help = "a change is made at once, at the port that is named";
                return Err(Refusal::new(format!("`{key}` cannot be set"), help));
            }
            document.set(&format!("change.{CHANGE}.{assignment}"))?;
        }
        let plan = document.plan()?;
        let found = plan.changes.into_iter().find(|change| change.name == CHANGE);
        let Some(change) = found else {
            return Err(Refusal::new("it is no change", "see [change] in the schema"));
        };
        let found = change.of_port();
        let known = |id| self.ports.iter().find(|port| port.id == id).cloned();
        let Some((port, action)) = found.and_then(|(id, action)| Some((known(id)?, action))) else {
            let [a, b] = &self.ports;
            let help = format!("its ports are {} and {}", a.name, b.name);
            return Err(Refusal::new("that port is not this router's", help));
        };
        let made = router.change(port.id, action.clone());
        made.map_err(|refusal| Refusal::new(refusal, "nothing has changed"))?;
        self.apply_change(port.id, action);
        Ok(json!({ "done": port.name }))
    }

    /// Notes what a change promises.
    fn apply_change(&mut self, id: PortId, action: &Action) {
        for (port, configured) in self.ports.iter().zip(&mut self.configured) {
            if port.id == id {
                configured_rate::apply(configured, &mut self.plan, id, action);
            }
        }
    }
}

fn at_its_end() -> Refusal {
    Refusal::new("the router is at its end", "start it anew")
}

#[cfg(test)]
mod tests {
    use super::*;

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
        // What stands above is of what is below, too.
        source.assign("link.out.at.r.queue.cbq={}");
        assert_eq!(source.assignments, ["link.out.at.r.queue.cbq={}"]);
        source.assign("link.out.at.r.queue.cbq.class.web.rate=1 Mbit/s");
        assert_eq!(source.assignments.len(), 2);
    }
}
