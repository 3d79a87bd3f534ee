//! The classes that a port's discipline tells of, from the start or by a change.

use network::link;
use traffic::qdisc::{Parameters, Qdisc};
use traffic::{Discipline, Port};

use crate::plan::{Action, Change, Link, Plan};

impl Plan {
    /// The names of the classes that the discipline at end `end` of link `link` ever has, each once, in the
    /// order in which the discipline tells of them.
    pub fn classes(&self, link: usize, end: usize) -> Vec<String> {
        of_end(&self.links[link], 2 * link + end, &self.changes)
    }
}

/// Those at port `port`, an end of `link`.
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
    let mut seen = std::collections::BTreeSet::new();
    known.retain(|name| seen.insert(name.clone()));
    known
}

fn of_queue(queue: &Parameters, link: &Link) -> Vec<String> {
    let link::Config { rate, mtu, overhead, .. } = link.config;
    let mut names = Vec::new();
    if let Ok(discipline) = Qdisc::attach(queue, Port { rate, mtu, overhead, seed: 0 }) {
        discipline.classes(&mut |_, class, _| names.push(class.to_owned()));
    }
    names
}
