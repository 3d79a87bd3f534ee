//! Metrics for Prometheus: their text, and the server that it scrapes.

mod connections;
#[cfg(test)]
mod dashboard;
pub mod host;
mod page;
mod queues;
pub mod router;
pub mod server;

use page::{Family, Histogram, Kind, Page, bounds, labels};
