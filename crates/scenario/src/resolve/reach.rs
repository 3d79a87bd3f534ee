//! Elements and classes that no packet can reach with any flows.

use base::action::Action;
use base::setting::Settings;
use traffic::condition::{Element, Parameters};
use traffic::reservation::TAKERS;

use crate::classes;
use crate::condition::{self, self as file};
use crate::diagnostic::Problems;
use crate::queue::Queue;
use crate::value::Name;

/// Refuses unreachable classes. In a discipline with reservations such a class can be a parent, so that it only
/// causes a warning later, when the plan is complete.
pub(super) fn check_classes(queue: &Queue, settings: &dyn Settings, problems: &mut Problems) {
    if TAKERS.contains(&queue.discipline.text.as_str()) {
        return;
    }
    let unreachable = classes::unreachable(settings);
    for (name, _) in
        queue.classes.0.iter().filter(|(name, _)| unreachable.contains(&name.text.as_str()))
    {
        let (message, help) = classes::unreachable_text(&name.text, settings);
        problems.push(&name.span, message, help);
    }
}

/// Refuses unreachable elements, and actions for colours that no packet can have.
pub(super) fn check_elements(
    table: &file::Conditioner,
    parameters: &Parameters,
    problems: &mut Problems,
) {
    let first = parameters.rules.iter().map(|rule| rule.element.as_str());
    let reached = condition::reached(parameters, first);
    for ((name, given), element) in table.elements.iter().zip(&parameters.elements) {
        if !reached.contains(name.text.as_str()) {
            let message = format!("no packet reaches the element `{}`", name.text);
            let help = format!(
                "add `match = {{}}` to it for all packets received there, or set an action of another element \
                 to \"next {}\"",
                name.text
            );
            problems.push(&name.span, message, help);
        }
        check_colours(name, given, element, problems);
    }
}

fn check_colours(name: &Name, given: &file::Element, element: &Element, problems: &mut Problems) {
    let actions = element.actions();
    let never = actions
        .iter()
        .filter(|(colour, action)| !element.gives(colour) && **action != Action::Pass);
    for (colour, _) in never {
        let Some((key, _)) = given.given.iter().find(|(key, _)| key.text == *colour) else {
            continue;
        };
        let message = format!("no packet becomes {} at the element `{}`", key.text, name.text);
        let help = match &element.meter {
            None => "without a meter every packet is green: add one, such as token_bucket, or use `green`"
                .to_owned(),
            Some(meter) => {
                format!("{} assigns other colours: remove `{}`", meter.name(), key.text)
            }
        };
        problems.push(&key.span, message, help);
    }
}
