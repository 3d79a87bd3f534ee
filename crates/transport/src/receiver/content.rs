//! What an ACK says that the last one did not.

/// How an ACK differs from the one before it, but for its timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AckContent {
    /// Not at all.
    None,
    /// By its number and window.
    Progress,
    /// By its flags or blocks too; quick ACKs are counted here.
    Any,
}
