//! What a kernel provides: memory, and the guard that a panic returns to.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::panic::PanicInfo;

unsafe extern "C" {
    /// Memory of that size and alignment, or null.
    fn suimon_alloc(size: usize, align: usize) -> *mut u8;
    /// Gives memory of `suimon_alloc` back.
    fn suimon_free(memory: *mut u8);
    /// Returns `body(argument)`, or [`crate::abi::FAULT`] if the body called `suimon_escape`.
    fn suimon_guarded(body: unsafe extern "C" fn(*mut c_void) -> u32, argument: *mut c_void)
    -> u32;
    /// Leaves the innermost `suimon_guarded` of this processor. The line is for the kernel's log.
    fn suimon_escape(line: u32) -> !;
}

struct KernelMemory;

// SAFETY: `suimon_alloc` returns memory of that size and alignment that has no other owner, or null.
unsafe impl GlobalAlloc for KernelMemory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: no conditions on the arguments.
        unsafe { suimon_alloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: the caller's promise is that `alloc` returned it.
        unsafe { suimon_free(memory) }
    }
}

#[global_allocator]
static MEMORY: KernelMemory = KernelMemory;

#[panic_handler]
fn panic(why: &PanicInfo<'_>) -> ! {
    let line = why.location().map_or(0, |location| location.line());
    // SAFETY: all code of this crate that can panic runs in `guarded`.
    unsafe { suimon_escape(line) }
}

/// The answer of `body`, or [`crate::abi::FAULT`] if it panicked. Then its memory is lost, and what it changed is in an unknown
/// state.
#[inline]
pub(crate) fn guarded(mut body: impl FnMut() -> u32) -> u32 {
    let enter = enter_of(&body);
    // SAFETY: `enter` is for a body of this type, which lives until the end of this function.
    unsafe { suimon_guarded(enter, (&raw mut body).cast()) }
}

/// The function that runs a body of that type.
const fn enter_of<F: FnMut() -> u32>(_: &F) -> unsafe extern "C" fn(*mut c_void) -> u32 {
    enter::<F>
}

/// # Safety
///
/// `body` points to an `F`.
unsafe extern "C" fn enter<F: FnMut() -> u32>(body: *mut c_void) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { (*body.cast::<F>())() }
}
