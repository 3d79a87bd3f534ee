//! Changes that ask for a class, or give one back, where that cannot be. Whether a class is admitted only the
//! run tells.

use std::collections::{BTreeMap, BTreeSet};

use traffic::reservation::TAKERS;

use super::{Kind, Warning};
use crate::lock::key;
use crate::plan::{Action, Plan};

/// Those that will be refused whatever else happens.
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

/// What there is at a port at a time.
struct Port<'p> {
    /// The discipline that was asked for last.
    asked: &'p str,
    /// Whether it is in its place.
    enabled: bool,
    /// Classes that were asked for and not given back.
    classes: BTreeSet<&'p str>,
}

impl<'p> Port<'p> {
    const fn new(attached: &'p str) -> Self {
        Self { asked: attached, enabled: true, classes: BTreeSet::new() }
    }

    /// Makes a change; why not, if it cannot be.
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

    /// Another discipline begins without reservations; new settings leave them.
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
