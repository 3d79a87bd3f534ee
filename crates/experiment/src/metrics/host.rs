//! The metrics of this machine: its qdiscs, its connections, and its policy.

use std::io;
use std::path::Path;

use ::host::connections::{Connection, connections};
use ::host::policy::{self, Journal};
use ::host::queue_statistics::{QueueStatistics, queue_statistics};
use base::Fault;

use super::connections as of_connections;
use super::queues::{self, Queue};
use super::{Family, Kind, Page, labels};
use crate::top::configured;

/// All metrics, with those of the policy whose journal is in the folder `state`.
///
/// # Errors
/// A user who may not read the qdiscs.
pub fn text(state: &Path) -> Result<String, Fault> {
    let queues = queue_statistics().map_err(|error| {
        let message = format!("read the qdiscs of this machine: {error}");
        Fault::lacking(message, "run it as root")
    })?;
    let mut page = Page::default();
    let rates: Vec<(String, f64)> =
        queues.iter().filter_map(|queue| rate_of(queue, &queues)).collect();
    let queues: Vec<Queue> = queues.into_iter().map(queue).collect();
    queues::add(&mut page, &queues);
    page.add(&queues::RATE, rates);
    add_connections(&mut page, connections());
    policy_metrics(&mut page, state);
    Ok(page.text())
}

/// Adds the connections. A kernel without them in its modules has the other metrics.
fn add_connections(page: &mut Page, found: io::Result<Vec<Connection>>) {
    match &found {
        Ok(found) => of_connections::add(page, found),
        Err(error) => page.comment(&format!(
            "The TCP connections of this machine cannot be read: {error}{}",
            of_connections::help(error)
        )),
    }
    page.add(&READ, [(String::new(), f64::from(found.is_ok()))]);
}

/// The configured rate of a discipline or a class of the module, with its labels.
fn rate_of(queue: &QueueStatistics, all: &[QueueStatistics]) -> Option<(String, f64)> {
    let labels = labels(&[("device", &queue.device), ("handle", &queue.handle)]);
    Some((labels, configured::rate(queue, all)?))
}

fn queue(kernels: QueueStatistics) -> Queue {
    let own = kernels.own;
    Queue {
        device: kernels.device,
        class: kernels.class,
        kind: kernels.kind,
        handle: kernels.handle,
        name: kernels.name.unwrap_or_default(),
        parent: kernels.parent,
        sent_bytes: kernels.bytes,
        sent_packets: kernels.packets,
        drops: kernels.drops.into(),
        backlog_packets: kernels.queued_packets.into(),
        backlog_bytes: kernels.queued_bytes.into(),
        overlimits: Some(kernels.overlimits.into()),
        requeues: Some(kernels.requeues.into()),
        marks: own.marks,
        delay_seconds: own.delay.map(|delay| delay.as_secs_f64()),
        sojourn: None,
        gap_frames: own.gap_frames,
        gap_bytes: own.gap_bytes,
        gaps_lost: own.gaps_lost,
        faulty: own.faulty,
    }
}

const READ: Family = Family {
    name: "suimon_tcp_readable",
    kind: Kind::Gauge,
    help: "1 if the TCP connections could be read",
};
const SETTINGS: Family = Family {
    name: "suimon_host_settings",
    kind: Kind::Gauge,
    help: "Settings of the applied policy",
};
const DRIFT: Family = Family {
    name: "suimon_host_drift",
    kind: Kind::Gauge,
    help: "Settings that something else changed since",
};

#[cfg(test)]
pub(super) fn families() -> Vec<Family> {
    of_connections::FAMILIES.into_iter().chain([READ, SETTINGS, DRIFT]).collect()
}

/// The policy's state; nothing for a user who may not read the journal.
fn policy_metrics(page: &mut Page, state: &Path) {
    let Ok(journal) = Journal::look(state) else { return };
    let journal = journal.filter(|journal| !journal.is_stale());
    let drift = journal.as_ref().map_or(Ok(Vec::new()), policy::drift).unwrap_or_default();
    let settings = journal.map_or(0, |journal| journal.settings());
    for (family, value) in [(SETTINGS, settings), (DRIFT, drift.len())] {
        page.add(&family, [(String::new(), value as f64)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_the_connections_has_the_rest() {
        let mut page = Page::default();
        add_connections(&mut page, Err(io::Error::from_raw_os_error(2)));
        let text = page.text();
        let mut lines = text.lines();
        let comment = lines.next().expect("a comment");
        assert!(
            comment.starts_with("# The TCP connections of this machine cannot be read: No such")
        );
        assert!(comment.ends_with("sudo modprobe tcp_diag"), "{comment}");
        assert_eq!(lines.last(), Some("suimon_tcp_readable 0"));
    }
}
