//! The subject of an error, as data: a scenario parser shows the place without parsing the message.

/// A class, a setting, or a setting of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subject<'e> {
    /// The class, or a conditioner's element, by its name; `None` for the discipline or conditioner as a whole.
    pub class: Option<&'e str>,
    /// The settings of the class, or of the discipline itself. The error is at the first of them that is
    /// given.
    pub settings: &'e [&'static str],
}

impl<'e> Subject<'e> {
    /// The discipline as a whole.
    pub const WHOLE: Self = Self { class: None, settings: &[] };

    /// Settings of the discipline.
    pub const fn settings(settings: &'e [&'static str]) -> Self {
        Self { class: None, settings }
    }

    /// A class.
    pub const fn class(class: &'e str) -> Self {
        Self { class: Some(class), settings: &[] }
    }

    /// Settings of the class.
    #[must_use]
    pub const fn at(self, settings: &'e [&'static str]) -> Self {
        Self { settings, ..self }
    }
}
