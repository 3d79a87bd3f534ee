//! The text of actions on packets, as in a conditioner.

use base::action::Action;

use crate::header::{code_point, code_point_text};
use crate::quantity::Error;

/// Reads the action on a packet: `pass`, `drop`, `mark CODE-POINT`, `next ELEMENT`, `return`.
///
/// # Errors
///
/// Any other text.
pub(crate) fn action(text: &str) -> Result<Action, Error> {
    let (verb, object) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    match (verb, object.trim()) {
        ("pass", "") => Ok(Action::Pass),
        ("drop", "") => Ok(Action::Drop),
        ("return", "") => Ok(Action::Return),
        ("mark", point) if !point.is_empty() => Ok(Action::Mark(code_point(point)?)),
        ("next", element) if !element.is_empty() => Ok(Action::Next(element.to_owned())),
        _ => {
            let help = "use pass, drop, return, \"mark af12\" or \"next NAME\"";
            Err(Error::new(format!("invalid action `{text}`"), help))
        }
    }
}

/// The text of an action, as in a scenario.
pub(crate) fn action_text(action: &Action) -> String {
    match action {
        Action::Pass => "pass".into(),
        Action::Drop => "drop".into(),
        Action::Return => "return".into(),
        Action::Mark(dscp) => format!("mark {}", code_point_text(*dscp)),
        Action::Next(element) => format!("next {element}"),
    }
}
