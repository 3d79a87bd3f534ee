//! Key numbers, each with its name above and its basis below.

use std::fmt::Write;

use super::{Measure, escape};

/// One number, or a few that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    name: String,
    value: String,
    notes: Vec<String>,
}

impl Card {
    /// A card with a number of the summary.
    pub fn measure(name: &str, measure: &Measure) -> Self {
        Self { name: escape(name), value: measure.html(), notes: Vec::new() }
    }

    /// A card with words, or a number that is not in the summary.
    pub fn text(name: &str, text: &str) -> Self {
        Self { name: escape(name), value: escape(text), notes: Vec::new() }
    }

    /// Adds a line of words below.
    #[must_use]
    pub fn note(mut self, text: &str) -> Self {
        self.notes.push(escape(text));
        self
    }

    /// Adds a number of the summary below, followed by words.
    #[must_use]
    pub fn note_measure(mut self, measure: &Measure, words: &str) -> Self {
        self.notes.push(format!("{} {}", measure.html(), escape(words)));
        self
    }
}

pub(super) fn write(cards: &[Card], out: &mut String) {
    *out += "<dl class=\"cards\">";
    for card in cards {
        let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd>", card.name, card.value);
        for note in &card.notes {
            let _ = write!(out, "<dd class=\"note\">{note}</dd>");
        }
        *out += "</div>";
    }
    *out += "</dl>\n";
}
