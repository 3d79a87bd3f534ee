//! Colours, by what they mean. Cyan, yellow and magenta are told apart by whoever sees red and green alike;
//! with NO_COLOR there are none.

use ratatui::style::{Color, Modifier, Style};

/// Whether there are colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Palette {
    /// There are.
    pub(super) colours: bool,
}

impl Palette {
    /// As the environment wants it (<https://no-color.org>).
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

    /// What is beside the point.
    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// What is chosen.
    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Within what is promised.
    pub(super) fn within(self) -> Style {
        self.colour(Style::new(), Color::Cyan)
    }

    /// Beyond what is promised.
    pub(super) fn beyond(self) -> Style {
        self.colour(Style::new(), Color::Yellow)
    }

    /// Packets are lost, or a result is in doubt.
    pub(super) fn alarm(self) -> Style {
        self.colour(self.strong(), Color::Magenta)
    }
}
