//! The classes of a port's disciplines, from the start or by a change.

use std::collections::BTreeSet;

use base::setting::{Settings, Value};
use network::link;
use traffic::qdisc::{Parameters, Qdisc};
use traffic::{Discipline, Port};

use crate::plan::{Action, Change, Link, Plan};

impl Plan {
    /// The names of all classes that the disciplines at end `end` of link `link` have in the run, without duplicates,
    /// in the order of the disciplines.
    pub fn classes(&self, link: usize, end: usize) -> Vec<String> {
        of_end(&self.links[link], 2 * link + end, &self.changes)
    }

    /// Those of them with guarantees that the discipline at the start may relax.
    pub fn relaxed_classes(&self, link: usize, end: usize) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(discipline) = attached(&self.links[link].ends[end].queue, &self.links[link]) {
            discipline.relaxed(&mut |class, _| names.push(class.to_owned()));
        }
        names
    }
}

/// The unreachable classes: leaves that no filter and no priority leads to, and that are not the default class.
pub(crate) fn unreachable(settings: &dyn Settings) -> Vec<&str> {
    let Some(classes) = settings.classes() else { return Vec::new() };
    let class = |index| classes.class(index);
    let all = || (0..classes.count()).map(class);
    let mut reached: BTreeSet<&str> = all().filter_map(|(_, parent, _)| parent).collect();
    reached.extend(classes.filters().iter().map(|rule| rule.class.as_str()));
    let blank = classes.fresh();
    let has_priorities = |class: &dyn Settings| class.get("priorities") != blank.get("priorities");
    reached.extend(all().filter(|(.., class)| has_priorities(*class)).map(|(name, ..)| name));
    let default = default_class(settings);
    let misses = |name: &&str| !reached.contains(name) && Some(*name) != default.as_deref();
    all().map(|(name, ..)| name).filter(misses).collect()
}

/// The message and the help for an unreachable class.
pub(crate) fn unreachable_text(class: &str, settings: &dyn Settings) -> (String, String) {
    let message = format!("no packet reaches the class `{class}`, which has no `match`");
    let help = match default_class(settings) {
        Some(default) => {
            format!(
                "add `match = {{ flow = \"NAME\" }}` to it; all other packets go to `{default}`"
            )
        }
        None => "add `match = {}` to it for every packet, or `match = { flow = \"NAME\" }`".into(),
    };
    (message, help)
}

/// The class for packets that no filter matches, if the discipline has one.
fn default_class(settings: &dyn Settings) -> Option<String> {
    let is_default = |name: &str| ["default_class", "default"].contains(&name);
    let key = settings.settings().into_iter().find(|setting| is_default(setting.name))?.name;
    let classes = settings.classes()?;
    match settings.get(key) {
        Some(Value::Text(name)) => Some(name),
        _ => Some(classes.class(classes.count().checked_sub(1)?).0.to_owned()),
    }
}

/// The disciplines at port `port`, an end of `link`.
pub(crate) fn of_end(link: &Link, port: usize, changes: &[Change]) -> Vec<String> {
    let mut known = of_queue(&link.ends[port % 2].queue, link);
    let made = changes.iter().filter_map(Change::of_port);
    for (_, action) in made.filter(|(at, _)| at.0 as usize == port) {
        match action {
            Action::Switch(queue) => known.extend(of_queue(queue, link)),
            Action::Reserve(request) => known.push(request.name.clone()),
            Action::Disable | Action::Enable | Action::Release(_) | Action::Rate(_) => {}
        }
    }
    let mut seen = BTreeSet::new();
    known.retain(|name| seen.insert(name.clone()));
    known
}

/// The discipline at an end of a link, unless it refuses its parameters.
fn attached(queue: &Parameters, link: &Link) -> Option<Qdisc> {
    let link::Config { rate, mtu, overhead, .. } = link.config;
    Qdisc::attach(queue, Port { rate, mtu, overhead, seed: 0 }).ok()
}

fn of_queue(queue: &Parameters, link: &Link) -> Vec<String> {
    let mut names = Vec::new();
    if let Some(discipline) = attached(queue, link) {
        discipline.classes(&mut |_, class, _| names.push(class.to_owned()));
    }
    names
}
