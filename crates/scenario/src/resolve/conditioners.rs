//! Conditioners: from the file's tables to parameters.

use traffic::Instant;
use traffic::condition::{Action, Conditioner, Element, Error, Meter, Parameters, Rule};
use traffic::meter::{bucket, single_rate, two_rate, window};
use traffic::subject::Subject;

use super::filters::{self, Entities, FILTERS_MAX, Filters};
use crate::condition as file;
use crate::diagnostic::Problems;
use crate::value::{ActionUnit, Name, Quantity};

/// The parameters; what the conditioner itself refuses is among the problems.
pub(super) fn resolve(
    name: &Name,
    table: &file::Conditioner,
    entities: Entities<'_>,
    problems: &mut Problems,
) -> Option<Parameters> {
    let mut parameters =
        Parameters { default: action(&table.default, problems)?, ..<_>::default() };
    for (name, table) in table.element.iter() {
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
        Ok(_) => Some(parameters),
        Err(error) => {
            refused(name, table, &error, problems);
            None
        }
    }
}

/// The conditioner's own reason, at what it is about.
fn refused(name: &Name, table: &file::Conditioner, error: &Error, problems: &mut Problems) {
    // What comes before the last colon says what is wrong, and what comes after it what to do.
    let text = error.to_string();
    let (message, help) = text.rsplit_once(": ").unwrap_or((&text, ""));
    let Subject { class, settings } = error.subject();
    let element = class.and_then(|class| table.element.iter().find(|(n, _)| n.text == class));
    let default = table.default.as_ref().filter(|_| settings.contains(&"default"));
    let span = match (element, default) {
        (Some((name, _)), _) => &name.span,
        (None, Some(default)) => &default.span,
        (None, None) => &name.span,
    };
    problems.push(span, message, help);
}

fn element(name: &Name, table: &file::Element, problems: &mut Problems) -> Option<Element> {
    let meter = meter(name, table, problems);
    let green = action(&table.green, problems);
    let yellow = action(&table.yellow, problems);
    let red = action(&table.red, problems);
    Some(Element {
        name: name.text.clone(),
        meter: meter?,
        green: green?,
        yellow: yellow?,
        red: red?,
    })
}

fn action(given: &Option<Quantity<ActionUnit>>, problems: &mut Problems) -> Option<Action> {
    given.as_ref().map_or(Some(Action::Pass), |given| given.read(problems))
}

fn meter(name: &Name, table: &file::Element, problems: &mut Problems) -> Option<Meter> {
    let file::Element { token_bucket, single_rate, two_rate, window, .. } = table;
    let given =
        [token_bucket.is_some(), single_rate.is_some(), two_rate.is_some(), window.is_some()];
    if given.into_iter().filter(|&given| given).count() > 1 {
        let help = "leave one; `next` leads on to another element";
        problems.push(&name.span, format!("`{}` has more than one meter", name.text), help);
        return None;
    }
    if let Some(table) = token_bucket {
        let (rate, burst) = (table.rate.read(problems), table.burst.read(problems));
        return Some(Meter::TokenBucket(bucket::Parameters { rate: rate?, burst: burst? }));
    }
    if let Some(table) = single_rate {
        let committed_rate = table.committed_rate.read(problems);
        let committed_burst = table.committed_burst.read(problems);
        let excess_burst = table.excess_burst.read(problems);
        return Some(Meter::SingleRate(single_rate::Parameters {
            committed_rate: committed_rate?,
            committed_burst: committed_burst?,
            excess_burst: excess_burst?,
            colour_aware: table.colour_aware,
        }));
    }
    if let Some(table) = two_rate {
        let (peak_rate, peak_burst) =
            (table.peak_rate.read(problems), table.peak_burst.read(problems));
        let committed_rate = table.committed_rate.read(problems);
        let committed_burst = table.committed_burst.read(problems);
        return Some(Meter::TwoRate(two_rate::Parameters {
            peak_rate: peak_rate?,
            peak_burst: peak_burst?,
            committed_rate: committed_rate?,
            committed_burst: committed_burst?,
            colour_aware: table.colour_aware,
        }));
    }
    let Some(table) = window else { return Some(Meter::None) };
    let committed_rate = table.committed_rate.read(problems);
    let (peak_rate, window) = (table.peak_rate.read(problems), table.window.read(problems));
    let (committed_rate, peak_rate, window) = (committed_rate?, peak_rate?, window?);
    Some(Meter::Window(window::Parameters { committed_rate, peak_rate, window }))
}
