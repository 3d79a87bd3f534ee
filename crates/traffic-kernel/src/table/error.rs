//! Why a table is refused.

use alloc::string::String;

/// The line of a table that is refused, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct Error {
    /// The line, counted from 1.
    pub line: u32,
    /// The reason.
    pub reason: Reason,
}

/// The reason to refuse a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// The table names no discipline.
    #[error("the table is empty: begin with the name of a discipline")]
    Empty,
    /// The registry has no discipline of that name.
    #[error("unknown discipline `{0}`")]
    Discipline(String),
    /// The discipline, class or filter has no setting of that name.
    #[error("unknown setting `{0}`")]
    Setting(String),
    /// The value is not one of the setting's kind.
    #[error("invalid value of `{0}`")]
    Value(String),
    /// A setting is given twice.
    #[error("`{0}` is given twice: leave one out")]
    Repeated(String),
    /// A setting without a default is missing.
    #[error("there is no `{0}`")]
    Missing(&'static str),
    /// The discipline has no classes.
    #[error("this discipline has no classes")]
    Classes,
    /// The table ends within a class, a filter or a discipline.
    #[error("the table ends before `end`")]
    Unfinished,
    /// There is a line after the `end` of the outermost discipline.
    #[error("nothing is open that `end` could close")]
    Surplus,
    /// Disciplines within disciplines, beyond the limit.
    #[error("too many disciplines within one another")]
    Depth,
}
