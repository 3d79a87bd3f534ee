//! Sending in spite of lost connections.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::meter::Meter;
use crate::send::{Sent, Settings, send};
use crate::tree::Tree;

/// The time before another try.
const PAUSE: Duration = Duration::from_secs(1);

/// Sends as [`send`] does, and again if the connection is lost, until `patience` has passed without progress. Calls
/// `lost` with the error before each further try.
///
/// # Errors
/// Those of [`send`]. A receiver that has never answered is not tried again.
#[expect(clippy::disallowed_methods, reason = "the retry time is real time")]
pub fn send_with_retries(
    settings: &Settings,
    tree: &Tree,
    (meter, stop): (&Meter, &AtomicBool),
    patience: Duration,
    lost: impl Fn(&Error),
) -> Result<Sent, Error> {
    let mut since: Option<(Instant, u64)> = None;
    loop {
        let error = match send(settings, tree, meter, stop) {
            Err(error) if error.is_passing() && !stop.load(Ordering::Relaxed) => error,
            done => return done,
        };
        if since.is_none() && matches!(error, Error::Connect { .. }) {
            return Err(error);
        }
        // The retry time starts again after each progress.
        if since.is_none_or(|(_, kept)| meter.kept() > kept) {
            since = Some((Instant::now(), meter.kept()));
        }
        if since.is_some_and(|(since, _)| since.elapsed() > patience) {
            return Err(error);
        }
        lost(&error);
        thread::sleep(PAUSE);
    }
}
