//! Warns of reservations and releases that are impossible. Admission of a class is known only in the run.

use std::collections::{BTreeMap, BTreeSet};

use traffic::reservation::TAKERS;

use super::warning::{Kind, Warning};
use crate::literal::key;
use crate::plan::{Action, Plan};

/// The changes that are refused in any case.
pub(super) fn refused(plan: &Plan) -> Vec<Warning> {
    let mut ports = BTreeMap::new();
    let mut found = Vec::new();
    for change in &plan.changes {
        let Some((id, action)) = change.of_port() else { continue };
        let (link, end) = (id.0 as usize / 2, id.0 as usize % 2);
        let attached = plan.links[link].ends[end].queue.name();
        let port = ports.entry(id).or_insert_with(|| Port::new(attached));
        if let Err(why) = port.apply(action) {
            let about = format!("change.{}", key(&change.name));
            let message = format!("`{about}` will be refused: {}", why.0);
            found.push(Warning { kind: Kind::Refused, about, message, help: why.1 });
        }
    }
    found
}

/// The state of a port.
struct Port<'p> {
    /// The discipline that was last attached.
    asked: &'p str,
    /// Whether the discipline is enabled.
    enabled: bool,
    /// The reserved classes that were not released.
    classes: BTreeSet<&'p str>,
}

impl<'p> Port<'p> {
    const fn new(attached: &'p str) -> Self {
        Self { asked: attached, enabled: true, classes: BTreeSet::new() }
    }

    /// Applies a change, or returns the reason why it is impossible.
    fn apply(&mut self, action: &'p Action) -> Result<(), (String, String)> {
        match action {
            Action::Switch(parameters) => self.attach(parameters.name(), true),
            Action::Disable => self.attach(self.asked, false),
            Action::Enable => self.attach(self.asked, true),
            Action::Rate(_) => {}
            Action::Reserve(request) => {
                self.must_take()?;
                self.classes.insert(&request.name);
            }
            Action::Release(class) => {
                self.must_take()?;
                if !self.classes.remove(class.as_str()) {
                    let help = "set `when` after the change that reserves it";
                    let message = format!("no earlier change reserves `{class}` there");
                    return Err((message, help.to_owned()));
                }
            }
        }
        Ok(())
    }

    /// Another discipline starts without reservations; new settings keep them.
    fn attach(&mut self, asked: &'p str, enabled: bool) {
        if (self.asked, self.enabled) != (asked, enabled) {
            self.classes.clear();
        }
        (self.asked, self.enabled) = (asked, enabled);
    }

    fn must_take(&self) -> Result<(), (String, String)> {
        let there = if self.enabled { self.asked } else { "fifo" };
        if TAKERS.contains(&there) {
            return Ok(());
        }
        let message = format!("{there}, the discipline there at that time, takes no reservations");
        Err((message, format!("attach {}", TAKERS.join(" or "))))
    }
}
