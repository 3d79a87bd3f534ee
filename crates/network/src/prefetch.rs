//! Memory that is needed soon: the processor loads it while it does something else.

/// The bytes of a cache line.
const LINE: usize = 64;

/// Asks the processor for the first `lines` cache lines of `what`. No result depends on it.
#[inline(always)]
pub fn prefetch<T>(what: &T, lines: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..lines.min(size_of::<T>().div_ceil(LINE)) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = core::ptr::from_ref(what).cast::<i8>().wrapping_add(line * LINE);
        // SAFETY: a prefetch neither reads nor writes, and does not fault at any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (what, lines);
}
