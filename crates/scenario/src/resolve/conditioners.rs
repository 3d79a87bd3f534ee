//! Conditioners: from the file's tables to parameters.

use base::Instant;
use base::subject::Subject;
use traffic::condition::{Conditioner, Element, Error, Parameters, Rule};
use traffic::meter;

use super::filters::{self, Entities, FILTERS_MAX, Filters};
use super::reach;
use crate::condition as file;
use crate::diagnostic::{Problems, Span};
use crate::setting::{Given, NO_QUEUES, adjust};
use crate::value::Name;

/// The parameters; reasons of the conditioner to refuse them are among the problems.
pub(super) fn resolve(
    name: &Name,
    table: &file::Conditioner,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Parameters> {
    let mut parameters = Parameters::default();
    adjust(&mut parameters, &table.given, &name.span, NO_QUEUES, problems)?;
    for (name, table) in table.elements.iter() {
        parameters.elements.push(element(name, table, problems)?);
        for matched in table.matches.iter().flat_map(|matches| &matches.0) {
            let Filters { filters, priority } = filters::resolve(matched, entities, problems)?;
            let element = || name.text.clone();
            let rules = filters.into_iter();
            let rules = rules.map(|filter| Rule { filter, priority, element: element() });
            parameters.rules.extend(rules);
        }
        if parameters.rules.len() > FILTERS_MAX {
            filters::too_many(&name.span, problems);
            return None;
        }
    }
    match Conditioner::attach(&parameters, 0, Instant::ZERO) {
        Ok(_) => {
            reach::check_elements(table, &parameters, problems);
            Some(parameters)
        }
        Err(error) => {
            refused(name, table, &error, problems);
            None
        }
    }
}

/// Reports a refusal of the conditioner at its subject.
fn refused(name: &Name, table: &file::Conditioner, error: &Error, problems: &mut Problems) {
    // The text before the last colon is the message, and the text after it the help.
    let text = error.to_string();
    let (message, help) = text.rsplit_once(": ").unwrap_or((&text, ""));
    let Subject { class, settings } = error.subject();
    let element = class.and_then(|class| table.elements.iter().find(|(n, _)| n.text == class));
    let span = match element {
        Some((name, element)) => {
            let meters = element.meters.iter();
            meters.flat_map(|(_, given)| set(&given.0, settings)).next().unwrap_or(&name.span)
        }
        None => set(&table.given, settings).unwrap_or(&name.span),
    };
    problems.push(span, message, help);
}

/// The place of the first given one of these settings.
fn set<'g>(given: &'g [(Name, Given)], settings: &[&str]) -> Option<&'g Span> {
    let (_, value) = given.iter().find(|(name, _)| settings.contains(&name.text.as_str()))?;
    Some(value.span())
}

fn element(name: &Name, table: &file::Element, problems: &mut Problems) -> Option<Element> {
    let meter = meter(name, table, problems);
    let mut element = Element { name: name.text.clone(), ..Element::default() };
    adjust(&mut element, &table.given, &name.span, NO_QUEUES, problems)?;
    Some(Element { meter: meter?, ..element })
}

/// Its meter; `Some(None)` if it has none.
fn meter(
    name: &Name,
    table: &file::Element,
    problems: &mut Problems,
) -> Option<Option<meter::Parameters>> {
    match table.meters.as_slice() {
        [] => Some(None),
        [(meter, given)] => {
            let mut parameters = meter::Parameters::blank(&meter.text)?;
            let settings = parameters.as_settings_mut();
            adjust(settings, &given.0, &meter.span, NO_QUEUES, problems)?;
            Some(Some(parameters))
        }
        _ => {
            let help = "keep one; use `next` to reach another element";
            let message = format!("`{}` has more than one meter", name.text);
            problems.push(&name.span, message, help);
            None
        }
    }
}
