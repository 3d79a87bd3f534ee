//! The least time for a flow of a set size.

/// A flow of a set size: that size, and the least time that it may take.
#[derive(Clone, Copy, Debug)]
pub struct Ideal {
    /// Its size.
    pub bytes: u64,
    /// The least time, seconds.
    pub seconds: f64,
}
