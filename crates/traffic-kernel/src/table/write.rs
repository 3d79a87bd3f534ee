//! Parameters to text.

use alloc::string::String;

use base::setting::{Settings, Value};
use traffic::qdisc::Parameters;

use super::{CLASS, END, FILTER, PARENT, PRIORITY, filter, value};

/// A name that a table cannot hold: it contains a line break.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name {0:?} contains a line break: give it one without")]
pub struct Unwritable(pub String);

/// The parameters as a table; [`super::read`] returns the same parameters.
///
/// # Errors
///
/// A name contains a line break.
pub fn write(parameters: &Parameters) -> Result<String, Unwritable> {
    let mut text = String::new();
    text.push_str(parameters.name());
    text.push('\n');
    body(&mut text, parameters)?;
    Ok(text)
}

fn entry(text: &mut String, key: &str, value: &str) -> Result<(), Unwritable> {
    if value.contains(['\n', '\r']) {
        return Err(Unwritable(value.into()));
    }
    for part in [key, " ", value, "\n"] {
        text.push_str(part);
    }
    Ok(())
}

fn end(text: &mut String) {
    text.push_str(END);
    text.push('\n');
}

/// The lines of a discipline, after its name.
fn body(text: &mut String, parameters: &Parameters) -> Result<(), Unwritable> {
    let own = parameters.as_settings();
    settings(text, own)?;
    let Some(classes) = own.classes() else { return Ok(()) };
    for index in 0..classes.count() {
        let (name, parent, class) = classes.class(index);
        entry(text, CLASS, name)?;
        if let Some(parent) = parent {
            entry(text, PARENT, parent)?;
        }
        settings(text, class)?;
        end(text);
    }
    for rule in classes.filters() {
        entry(text, FILTER, &rule.class)?;
        entry(
            text,
            PRIORITY,
            &value::text(&Value::Count(rule.priority.into())).unwrap_or_default(),
        )?;
        for (key, condition) in filter::conditions(&rule.filter) {
            entry(text, key, &condition)?;
        }
        end(text);
    }
    Ok(())
}

fn settings(text: &mut String, settings: &dyn Settings) -> Result<(), Unwritable> {
    for setting in settings.settings() {
        let Some(given) = settings.get(setting.name) else { continue };
        if let Some(queue) = Parameters::of(&given) {
            entry(text, setting.name, queue.name())?;
            body(text, queue)?;
            end(text);
        } else if let Some(given) = value::text(&given) {
            entry(text, setting.name, &given)?;
        }
    }
    Ok(())
}
