//! The error for parameters that conflict although each is within its range.

/// Conflicting parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Invalid {
    /// The setting.
    pub setting: &'static str,
    /// The error message.
    pub message: &'static str,
    /// The advice on what to write.
    pub help: &'static str,
}
