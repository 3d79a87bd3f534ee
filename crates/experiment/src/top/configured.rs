//! The rates that the settings of Suimon's module promise.

use crate::statistics::configured_rate;
use ::host::queue_statistics::QueueStatistics;

/// The rate configured for a discipline of the module, or for a class of one, in bytes per second. `all` are those of this
/// machine.
pub fn rate(queue: &QueueStatistics, all: &[QueueStatistics]) -> Option<f64> {
    let major = |queue: &QueueStatistics| queue.handle.split(':').next().map(str::to_owned);
    let is_owner = |other: &&QueueStatistics| {
        !other.class && other.device == queue.device && major(other) == major(queue)
    };
    let (settings, line) = all.iter().find(is_owner)?.settings.as_ref()?;
    let port = configured_rate::of_queue(settings, *line);
    match &queue.name {
        Some(name) => port.class.get(name)?.promised_rate,
        None if queue.class => None,
        None => port.promised_rate.or(port.line_rate),
    }
}
