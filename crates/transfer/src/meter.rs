//! The progress of a transfer, readable while it runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts that grow while a transfer goes on.
#[derive(Debug, Default)]
pub struct Meter {
    total: AtomicU64,
    files: AtomicU64,
    done: AtomicU64,
    kept: AtomicU64,
    /// `done` when that was known.
    before: AtomicU64,
}

impl Meter {
    /// Bytes of all files; 0 until it is known.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Files in all; 0 until it is known.
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Bytes that were sent, or received and verified, by this run.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Bytes that the receiver had when the connection was made, from earlier connections.
    pub fn kept(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    /// Bytes that are there, or on their way.
    pub fn position(&self) -> u64 {
        self.kept() + self.done().saturating_sub(self.before.load(Ordering::Relaxed))
    }

    pub(crate) fn set_kept(&self, bytes: u64) {
        self.before.store(self.done(), Ordering::Relaxed);
        self.kept.store(bytes, Ordering::Relaxed);
    }

    pub(crate) fn set_total(&self, bytes: u64, files: u64) {
        self.total.store(bytes, Ordering::Relaxed);
        self.files.store(files, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
    }
}
