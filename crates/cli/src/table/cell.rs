//! A cell of a table.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use record::quantity::{Kind, Quantity, Value};

use crate::sanitise;

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(super) text: String,
    pub(super) style: Style,
    /// The quantity, shown in the unit of its column.
    pub(super) quantity: Option<(Kind, f64)>,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: shown(text.into()), style: Style::new(), quantity: None }
    }
}

/// The text as it is printed, so that its width is known.
fn shown(text: String) -> String {
    match sanitise::text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

impl Cell {
    /// A quantity, in base units.
    pub(crate) fn quantity(kind: Kind, value: f64) -> Self {
        Self { quantity: Some((kind, value)), ..String::new().into() }
    }

    /// A quantity, or an empty cell if nothing was measured.
    pub(crate) fn measured(kind: Kind, value: Option<f64>) -> Self {
        value.map_or_else(|| String::new().into(), |value| Self::quantity(kind, value))
    }

    /// A declared quantity, or an empty cell if nothing was measured.
    pub(crate) fn of(quantity: &Quantity, value: Option<Value>) -> Self {
        match value {
            Some(Value::Held(held)) => if held { "yes" } else { "no" }.into(),
            value => Self::measured(quantity.kind, value.map(Value::number)),
        }
    }

    /// A verdict: green or red.
    pub(crate) fn verdict(ok: bool) -> Self {
        let (text, colour) = if ok { ("ok", AnsiColor::Green) } else { ("FAILED", AnsiColor::Red) };
        Self { style: Style::new().fg_color(Some(colour.into())), ..text.into() }
    }

    /// A state: green if good, red if bad, yellow in between.
    pub(crate) fn state(text: &str, well: bool, bad: bool) -> Self {
        let colour = match (well, bad) {
            (true, _) => AnsiColor::Green,
            (_, true) => AnsiColor::Red,
            _ => AnsiColor::Yellow,
        };
        Self { style: Style::new().fg_color(Some(colour.into())), ..text.into() }
    }

    /// A heading above a section of rows.
    pub(crate) fn heading(text: impl Into<String>) -> Self {
        Self { style: Style::new().bold(), ..text.into().into() }
    }
}
