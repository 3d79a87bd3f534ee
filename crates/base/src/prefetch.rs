//! Cache lines that are asked for before they are needed: the processor loads them while it does something else.

/// The bytes of a cache line.
const LINE: usize = 64;

/// Asks for the first `lines` cache lines of `item`, for a use some hundred instructions later. Has no other effect.
#[inline(always)]
pub fn prefetch<T>(item: &T, lines: usize) {
    let start = core::ptr::from_ref(item).cast::<u8>();
    for line in 0..lines {
        prefetch_line(start.wrapping_add(line * LINE));
    }
}

/// Asks for a cache line. An instruction, because the standard library has none that a kernel, without SSE, may use.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch_line(at: *const u8) {
    use core::arch::asm;
    // SAFETY: a prefetch is a hint; it reads nothing that a program can see, and never faults.
    unsafe { asm!("prefetcht0 [{}]", in(reg) at.addr(), options(nostack, nomem, preserves_flags)) };
}

/// Other processors have to do without.
#[cfg(not(target_arch = "x86_64"))]
const fn prefetch_line(_at: *const u8) {}
