//! What programs count besides what their sockets do.

/// What a program counts.
pub trait Counts: Clone {
    /// What a flow without such counts lacks, in messages, and how a flow gets them.
    const LACKING: [&'static str; 2];
    /// Their title in tables.
    const TITLE: &'static str;
    /// Whether the program asks its peer for data, so that the segments of both ends count for the flow.
    const ASKS: bool = false;
    /// Whether only the counts of a whole run have a meaning.
    const WHOLE: bool = false;

    /// The counts since `earlier`.
    #[must_use]
    fn since(&self, earlier: &Self) -> Self;

    /// Responses that have arrived, if the program makes requests.
    fn responses(&self) -> Option<u64> {
        None
    }
}
