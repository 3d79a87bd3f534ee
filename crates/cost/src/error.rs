//! Why a case cannot be measured.

/// Why a case cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The load does not fit the discipline.
    #[error("{message}\n  help: {help}")]
    Load {
        /// What does not fit.
        message: String,
        /// What to change.
        help: String,
    },
    /// The discipline refuses its parameters.
    #[error(transparent)]
    Discipline(#[from] traffic::qdisc::Error),
    /// The queue is not one that a scenario can have.
    #[error(transparent)]
    Scenario(#[from] scenario::Errors),
}

impl Error {
    /// A load that does not fit.
    pub(crate) fn load(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Load { message: message.into(), help: help.into() }
    }
}
