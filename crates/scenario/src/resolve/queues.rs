//! Queueing disciplines: from the file's tables to the disciplines' parameters.
//!
//! Nothing here depends on a discipline: each declares its settings (`base::setting`) and checks them.

use base::setting::Classes;
use base::subject::Subject;
use traffic::classify::Rule;
use traffic::qdisc::{self, Parameters, Qdisc};
use traffic::{Discipline, Port};

use super::filters::{self, Entities, FILTERS_MAX, Filters};
use super::reach;
use crate::diagnostic::Problems;
use crate::nearest;
use crate::queue::{Class, Queue};
use crate::setting::{Given, Queues, adjust};
use crate::value::Name;

/// The maximum number of classes: four times the requirement of DESIGN.md for one port.
const CLASSES_MAX: usize = 4_096;
/// The parameters of a queue at a port; reasons of the discipline to refuse them are among the problems.
pub(super) fn resolve(
    queue: Option<&Queue>,
    port: Port,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Parameters> {
    let Some(queue) = queue else { return Parameters::by_name("fifo") };
    let parameters = parameters(queue, entities, problems)?;
    match Qdisc::attach(&parameters, port) {
        Ok(_) => {
            reach::check_classes(queue, parameters.as_settings(), problems);
            Some(parameters)
        }
        Err(error) => {
            refused(queue, &error, problems);
            None
        }
    }
}

/// A discipline's parameters, with defaults for settings not given.
pub(super) fn parameters(
    queue: &Queue,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Parameters> {
    let name = &queue.discipline;
    let plain = queue.given.is_empty() && queue.classes.0.is_empty();
    let start = if plain { Parameters::by_name } else { Parameters::blank };
    let mut parameters = start(&name.text)?;
    let queues =
        |queue: &Queue, problems: &mut Problems| self::parameters(queue, entities, problems);
    adjust(parameters.as_settings_mut(), &queue.given, &name.span, &queues, problems)?;
    if let Some(classes) = parameters.classes_mut() {
        self::classes(classes, &queue.classes.0, entities, &queues, problems)?;
    }
    Some(parameters)
}

fn classes(
    classes: &mut dyn Classes,
    tables: &[(Name, Class)],
    entities: Entities<'_>,
    queues: &Queues<'_>,
    problems: &mut Problems,
) -> Option<()> {
    if let Some((name, _)) = tables.get(CLASSES_MAX) {
        let help = format!("reduce them to at most {CLASSES_MAX}");
        problems.push(&name.span, "too many classes at one port", help);
        return None;
    }
    for (name, table) in tables {
        let parent = table.parent.as_ref().map(|parent| parent.text.as_str());
        let class = classes.add(&name.text, parent);
        adjust(class, &table.given, &name.span, queues, problems)?;
        for matched in table.matches.iter().flat_map(|matches| &matches.0) {
            let Filters { filters, priority } = filters::resolve(matched, entities, problems)?;
            let class = || name.text.clone();
            let rules = filters.into_iter().map(|filter| Rule { filter, priority, class: class() });
            classes.filters_mut().extend(rules);
        }
        if classes.filters().len() > FILTERS_MAX {
            filters::too_many(&name.span, problems);
            return None;
        }
    }
    Some(())
}

/// Reports a refusal of the discipline at its subject. A subject that is not in the file, such as the implicit class
/// of a discipline without classes, is the discipline itself.
fn refused(queue: &Queue, error: &qdisc::Error, problems: &mut Problems) {
    let text = error.to_string();
    let (message, mut help) = match text.split_once(": ") {
        Some((message, help)) => (message, help.to_owned()),
        None => (&*text, String::new()),
    };
    let Subject { class, settings } = error.subject();
    let names = || queue.classes.0.iter().map(|(name, _)| name.text.as_str());
    let class = class.and_then(|class| queue.classes.0.iter().find(|(name, _)| name.text == class));
    let set = |given: &[(Name, Given)]| {
        let mut set = settings.iter().filter_map(|set| given.iter().find(|g| g.0.text == *set));
        set.next().map(|(_, given)| given.span().clone())
    };
    let span = match class {
        None => set(&queue.given),
        Some((name, class)) => match &class.parent {
            Some(parent) if settings.contains(&"parent") => {
                if queue.classes.0.len() > 1 && names().all(|name| name != parent.text) {
                    help = nearest::suggest(&parent.text, names());
                }
                Some(parent.span.clone())
            }
            _ => set(&class.given).or_else(|| Some(name.span.clone())),
        },
    };
    let whole = queue.classes.0.first().map_or(&queue.discipline.span, |(name, _)| &name.span);
    problems.push(&span.unwrap_or_else(|| whole.clone()), message, help);
}
