//! The table of the settings of some parameters.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::range::{OutOfRange, Range};
use super::value::{Kind, Value};
use crate::filter::Rule;

/// A setting: a field of some parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The setting's name in a scenario.
    pub name: &'static str,
    /// The kind of value.
    pub kind: Kind,
    /// Whether the setting is required, because it has no default.
    pub required: bool,
    /// The least and the greatest value, for kinds that are numbers.
    pub range: Range,
    /// The documentation, with unit and source: that of the field, line by line.
    pub doc: &'static str,
}

/// Parameters that describe their settings.
pub trait Settings {
    /// The settings, in the order of the fields.
    fn settings(&self) -> Vec<Setting>;

    /// The value of the setting of that name; `None` if the setting does not exist or does not apply.
    fn get(&self, name: &str) -> Option<Value>;

    /// Sets the setting of that name. False if there is none, or if the value does not fit.
    fn set(&mut self, name: &str, value: Value) -> bool;

    /// The documentation of the struct, line by line.
    fn doc(&self) -> &'static str {
        ""
    }

    /// The start value when some settings are given.
    fn blank() -> Self
    where
        Self: Sized + Default,
    {
        Self::default()
    }

    /// The classes, if there can be any.
    fn classes(&self) -> Option<&dyn Classes> {
        None
    }

    /// The classes, to add some.
    fn classes_mut(&mut self) -> Option<&mut dyn Classes> {
        None
    }
}

/// Parameters with classes in them.
pub trait Classes {
    /// The start value of a class.
    fn fresh(&self) -> Box<dyn Settings>;

    /// Adds a class of that name within `parent`, and returns its settings.
    fn add(&mut self, name: &str, parent: Option<&str>) -> &mut dyn Settings;

    /// The number of classes.
    fn count(&self) -> usize;

    /// The name, parent and settings of a class, numbered from 0.
    fn class(&self, index: usize) -> (&str, Option<&str>, &dyn Settings);

    /// The rules that assign packets to classes.
    fn filters(&self) -> &[Rule];

    /// The rules, to add to them.
    fn filters_mut(&mut self) -> &mut Vec<Rule>;
}

impl Setting {
    /// Checks a value of the setting.
    ///
    /// # Errors
    ///
    /// The value is out of range.
    pub fn check(&self, value: &Value) -> Result<(), OutOfRange> {
        match value.number() {
            Some(number) if !self.range.contains(number) => {
                let Self { name: setting, kind, range, .. } = *self;
                Err(OutOfRange { class: None, setting, kind, number, range })
            }
            _ => Ok(()),
        }
    }
}

/// Checks that every setting is within its range, including those of the classes. This comes before the
/// checks of parameters against each other.
///
/// # Errors
///
/// The first setting out of its range.
pub fn in_range(settings: &dyn Settings) -> Result<(), OutOfRange> {
    let each = |settings: &dyn Settings| {
        let ranged = settings.settings().into_iter().filter(|s| s.range != Range::whole(s.kind));
        ranged.filter_map(|s| Some((s, settings.get(s.name)?))).try_for_each(|(s, v)| s.check(&v))
    };
    each(settings)?;
    let Some(classes) = settings.classes() else { return Ok(()) };
    for index in 0..classes.count() {
        let (name, _, class) = classes.class(index);
        each(class).map_err(|error| OutOfRange { class: Some(name.to_string()), ..error })?;
    }
    Ok(())
}
