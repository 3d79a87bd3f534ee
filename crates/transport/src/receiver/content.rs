//! The difference between an ACK and the one before it.

/// How an ACK differs from the one before it, timestamps aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AckContent {
    /// It does not differ.
    None,
    /// It has another number or window.
    Progress,
    /// It has other flags or blocks too. Quick ACKs are counted here.
    Any,
}
