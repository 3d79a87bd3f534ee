//! What is wrong with parameters each of which is within its range.

/// Parameters that make no sense together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Invalid {
    /// The setting.
    pub setting: &'static str,
    /// What is wrong.
    pub message: &'static str,
    /// What to write.
    pub help: &'static str,
}
