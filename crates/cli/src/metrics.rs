//! Metrics for Prometheus: their text, and the server that it scrapes.

#[cfg(test)]
mod dashboard;
mod page;
pub(crate) mod queues;
pub(crate) mod server;

pub(crate) use page::{Family, Histogram, Kind, Page, bounds, labels};
