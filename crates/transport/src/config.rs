//! What may be set on a connection.

/// A connection's settings.
#[derive(Clone, Debug)]
pub struct Config {}
