//! Long work without the interpreter's lock: other threads of Python go on meanwhile, Ctrl-C ends it early, and a
//! callable receives the progress.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use experiment::{Progress, STEPS, Steering};
use pyo3::prelude::*;

use crate::error::panicked;

/// How often Python's signals are looked for and progress is reported.
const TICK: Duration = Duration::from_millis(50);
/// The stack size: as much as a main thread has.
const STACK_BYTES: usize = 8 << 20;

/// Steps of all runs together.
struct Steps(AtomicU64);

impl Progress for Steps {
    fn advance(&self, steps: u64) {
        self.0.fetch_add(steps, Ordering::Relaxed);
    }
}

/// Does `work` on a separate thread, and waits for it without the interpreter's lock. `progress` is called with the
/// completed share of `runs` runs. If a handler of a Python signal raises, or `progress` raises, the work is ended
/// early, keeps what it has measured, and that exception is raised.
///
/// # Errors
/// That exception.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    runs: usize,
    progress: Option<Bound<'_, PyAny>>,
    work: impl FnOnce(Steering<'_>) -> T + Send,
) -> PyResult<T> {
    let (interrupted, steps) = (AtomicBool::new(false), Steps(AtomicU64::new(0)));
    let all = (runs.max(1) as u64 * STEPS) as f64;
    let tell = |progress: &Bound<'_, PyAny>| {
        progress.call1((steps.0.load(Ordering::Relaxed) as f64 / all,)).map(drop)
    };
    thread::scope(|scope| {
        let (sender, mut receiver) = channel();
        let steering = Steering { interrupted: &interrupted, progress: &steps };
        let builder = thread::Builder::new().name("suimon".into()).stack_size(STACK_BYTES);
        let worker = builder.spawn_scoped(scope, move || drop(sender.send(work(steering))))?;
        let mut raised = None;
        loop {
            match py.detach(|| wait(&mut receiver)) {
                Ok(done) => {
                    return match raised {
                        None => progress.as_ref().map_or(Ok(()), tell).map(|()| done),
                        Some(exception) => Err(exception),
                    };
                }
                Err(RecvTimeoutError::Disconnected) => {
                    // It panicked: joined, so that the scope does not.
                    let _ = worker.join();
                    return Err(panicked());
                }
                Err(RecvTimeoutError::Timeout) => {
                    let told = |()| progress.as_ref().map_or(Ok(()), tell);
                    if let Err(exception) = py.check_signals().and_then(told) {
                        interrupted.store(true, Ordering::Relaxed);
                        raised.get_or_insert(exception);
                    }
                }
            }
        }
    })
}

/// Unique, because a receiver is not shared among threads.
fn wait<T>(receiver: &mut Receiver<T>) -> Result<T, RecvTimeoutError> {
    receiver.recv_timeout(TICK)
}
