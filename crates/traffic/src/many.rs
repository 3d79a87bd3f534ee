//! From which number of classes on a discipline asks for cache lines in advance.

/// The most classes that fit the nearest caches, with their packets: asking for more in advance
/// ([`base::prefetch`]) gains nothing. In debug builds, few are many, so that every test also asks.
pub(crate) const MANY: usize = if cfg!(debug_assertions) { 1 } else { 1_000 };
