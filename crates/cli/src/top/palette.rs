//! Colours by meaning. Cyan, yellow and magenta differ also for readers with red-green colour blindness; with
//! NO_COLOR there are none.

use ratatui::style::{Color, Modifier, Style};

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Palette {
    /// Whether colours are used.
    pub(super) colours: bool,
}

impl Palette {
    /// The palette that the environment requests (<https://no-color.org>).
    pub(super) fn of_environment() -> Self {
        let none = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self { colours: !none }
    }

    fn colour(self, style: Style, colour: Color) -> Style {
        if self.colours { style.fg(colour) } else { style }
    }

    /// A heading.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Less important text.
    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The selected item.
    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Up to the configured rate.
    pub(super) fn within(self) -> Style {
        self.colour(Style::new(), Color::Cyan)
    }

    /// Above the configured rate.
    pub(super) fn beyond(self) -> Style {
        self.colour(Style::new(), Color::Yellow)
    }

    /// Lost packets, or a doubtful result.
    pub(super) fn alarm(self) -> Style {
        self.colour(self.strong(), Color::Magenta)
    }
}
