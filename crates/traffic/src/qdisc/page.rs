//! The page of a discipline in the catalogue.

/// The catalogue text of a discipline, without its settings; the discipline's own file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// A description, in a few sentences.
    pub what: &'static str,
    /// When to use it, and when not.
    pub when: &'static str,
    /// The papers, RFCs and programs that it is based on, with the sections.
    pub sources: &'static [&'static str],
}
