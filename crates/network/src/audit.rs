//! How often a debug build checks the rules of custody, which costs more than the events themselves: after each event of
//! a short run, and after some of a long one.

/// The events of a run after each of which the rules are checked.
const EACH: u64 = 1 << 14;

/// The events per check from then on.
const STRIDE: u64 = 16;

/// Whether the rules of custody are to be checked after the `event`-th event.
pub const fn is_due(event: u64) -> bool {
    event <= EACH || event.is_multiple_of(STRIDE)
}
