//! The program's memory: the system's allocator, and the end of the program when the system refuses.
//!
//! The standard library aborts then, with a signal and without advice.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::libc;

use crate::exit::LACKING;

/// The system's allocator. If it has no memory, the program ends.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: every call is the system allocator's, with the caller's arguments; null is never returned.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the system allocator's condition, here and below.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        granted(unsafe { System.realloc(pointer, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[inline]
fn granted(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end_without_memory(bytes);
    }
    memory
}

/// Reports that the system refuses `bytes` bytes, and ends the program. It allocates nothing, and runs no destructor:
/// the rest of the program may be in any state.
#[cold]
fn end_without_memory(bytes: usize) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    if ENDING.swap(true, Ordering::Relaxed) {
        // Another thread ends the program.
        loop {
            // SAFETY: no memory is passed.
            unsafe { libc::pause() };
        }
    }
    let mut text = [0; 200];
    let mut rest = text.as_mut_slice();
    let _ = write!(
        rest,
        "error: out of memory: the system refuses {bytes} bytes\n  help: free memory, or raise its \
         limit (`ulimit -v`)\n"
    );
    let length = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    // SAFETY: the kernel reads `length` bytes of an array that outlives the call. `_exit` passes no memory.
    unsafe {
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), length);
        libc::_exit(LACKING)
    }
}
