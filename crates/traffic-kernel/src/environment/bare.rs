//! What a kernel provides: memory, and the guard that a panic returns to.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::panic::PanicInfo;

unsafe extern "C" {
    /// Memory of that size and alignment, or null.
    fn suimon_alloc(size: usize, align: usize) -> *mut u8;
    /// Gives memory of `suimon_alloc` back.
    fn suimon_free(memory: *mut u8);
    /// Calls `body(argument)`. Returns 0, or another number if the body called `suimon_escape`.
    fn suimon_guarded(body: unsafe extern "C" fn(*mut c_void), argument: *mut c_void) -> u32;
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

/// Runs `body`; `None` if it panicked. Then its memory is lost, and what it changed is in an unknown state.
pub(crate) fn guarded<R>(body: impl FnOnce() -> R) -> Option<R> {
    let mut call = Call { body: Some(body), answer: None };
    let enter = enter_of(&call);
    // SAFETY: `enter` is for a call of this type, which lives until the end of this function.
    let escaped = unsafe { suimon_guarded(enter, (&raw mut call).cast()) };
    if escaped == 0 { call.answer } else { None }
}

struct Call<F, R> {
    body: Option<F>,
    answer: Option<R>,
}

/// The function that runs a call of that type.
const fn enter_of<F: FnOnce() -> R, R>(_: &Call<F, R>) -> unsafe extern "C" fn(*mut c_void) {
    enter::<F, R>
}

/// # Safety
///
/// `call` points to a `Call<F, R>`.
unsafe extern "C" fn enter<F: FnOnce() -> R, R>(call: *mut c_void) {
    // SAFETY: the caller's promise.
    let call = unsafe { &mut *call.cast::<Call<F, R>>() };
    call.answer = call.body.take().map(|body| body());
}
