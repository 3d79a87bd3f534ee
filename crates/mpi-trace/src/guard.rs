//! Decoders that panic on damaged files: the file is at fault, not the program.
//!
//! Where panics unwind, the panic becomes an error; where they abort, the program's panic hook asks [`guarded_file`] and exits
//! as for any damaged file.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static FILE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The file that this thread decodes at the moment.
pub fn guarded_file() -> Option<String> {
    FILE.with_borrow(Clone::clone)
}

/// Runs `decode`, which reads `file`.
///
/// # Errors
/// If it panics: the panic's message.
pub fn guarded<T>(file: &str, decode: impl FnOnce() -> T) -> Result<T, String> {
    let before = FILE.replace(Some(file.to_owned()));
    // The caller drops what `decode` has borrowed.
    let outcome = catch_unwind(AssertUnwindSafe(decode));
    FILE.set(before);
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_the_file() {
        assert_eq!(guarded("f", || 7), Ok(7));
        let fails = guarded("f", || panic!("out of {}", "range"));
        assert_eq!(fails, Err::<(), _>("out of range".into()));
        assert_eq!(guarded("f", guarded_file), Ok(Some("f".into())));
        assert_eq!(guarded_file(), None);
    }
}
