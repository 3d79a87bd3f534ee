//! SIGINT and SIGTERM: the first ends the run early and keeps the results so far, the second ends it at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{self, Failure};

/// 128 + SIGINT, as a shell reports it.
const STATUS: i32 = 130;

/// A flag that the first signal sets.
pub(crate) fn watch() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: the second signal finds the flag that the first one set.
        flag::register_conditional_shutdown(signal, STATUS, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .map_err(failure::file(Path::new("signal handler")))?;
    }
    Ok(interrupted)
}
