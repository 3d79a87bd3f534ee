//! The content of a trace: calls by operation, and how ranks spent their time.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use experiment::format;
use mpi_trace::{Call, Class, Operation, Trace};
use record::quantity::Kind;
use serde_json::{Value, json};

use crate::table::{Cell, Table};

/// Nanoseconds per second.
const SECOND: f64 = 1e9;

/// Sums over calls.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    calls: u64,
    /// Bytes that the calls sent or contributed; receives count nothing.
    bytes: u64,
    /// Time within the calls, ns.
    communicating: u64,
    /// Time before the calls, ns.
    computing: u64,
}

impl Sum {
    fn add(&mut self, call: &Call) {
        let sends =
            !matches!(call.operation.class(), Class::Receive | Class::ReceiveStart | Class::Local);
        self.calls += 1;
        self.bytes += if sends { call.bytes } else { 0 };
        self.communicating += call.end - call.start;
        self.computing += call.computing;
    }

    /// The share of the time within calls, of the time within and between calls.
    fn share(&self) -> f64 {
        let all = self.communicating + self.computing;
        if all == 0 { 0.0 } else { self.communicating as f64 / all as f64 }
    }
}

/// A summary of a trace.
#[derive(Debug)]
pub(super) struct Summary<'a> {
    trace: &'a Trace,
    path: &'a Path,
    file_bytes: usize,
    operations: BTreeMap<Operation, Sum>,
    ranks: Vec<Sum>,
}

impl<'a> Summary<'a> {
    /// Summarises a trace that was written as a file of `file_bytes` bytes.
    pub(super) fn of(trace: &'a Trace, path: &'a Path, file_bytes: usize) -> Self {
        let mut operations: BTreeMap<_, Sum> = BTreeMap::new();
        let mut ranks = vec![Sum::default(); trace.ranks.len()];
        for (sum, calls) in ranks.iter_mut().zip(&trace.ranks) {
            for call in calls {
                sum.add(call);
                operations.entry(call.operation).or_default().add(call);
            }
        }
        Self { trace, path, file_bytes, operations, ranks }
    }

    fn calls(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.calls).sum()
    }

    /// The summary as JSON.
    pub(super) fn json(&self) -> Value {
        let sum = |sum: &Sum| {
            json!({
                "calls": sum.calls,
                "bytes": sum.bytes,
                "communicating": sum.communicating as f64 / SECOND,
                "computing": sum.computing as f64 / SECOND,
            })
        };
        let operations = self.operations.iter();
        let operations: serde_json::Map<_, _> =
            operations.map(|(o, s)| (o.to_string(), sum(s))).collect();
        let rank = |(rank, of): (usize, &Sum)| {
            let mut value = sum(of);
            value["rank"] = rank.into();
            value["communication_share"] = of.share().into();
            value
        };
        json!({
            "trace": self.path.display().to_string(),
            "bytes": self.file_bytes,
            "program": self.trace.program,
            "library": self.trace.library,
            "library_version": self.trace.library_version,
            "communicators": self.trace.communicators.len(),
            "calls": self.calls(),
            "operations": operations,
            "ranks": self.ranks.iter().enumerate().map(rank).collect::<Vec<_>>(),
        })
    }

    /// The summary as text.
    pub(super) fn text(&self) -> String {
        let mut operations = Table::new(&["operation", ">calls", ">bytes", ">total time"]);
        for (operation, sum) in &self.operations {
            operations.row([
                operation.name().into(),
                sum.calls.to_string().into(),
                sum.bytes.to_string().into(),
                Cell::quantity(Kind::Duration, sum.communicating as f64 / SECOND),
            ]);
        }
        let mut ranks =
            Table::new(&["rank", ">calls", ">bytes", ">computing", ">communicating", ">share"]);
        for (rank, sum) in self.ranks.iter().enumerate() {
            ranks.row([
                rank.to_string().into(),
                sum.calls.to_string().into(),
                sum.bytes.to_string().into(),
                Cell::quantity(Kind::Duration, sum.computing as f64 / SECOND),
                Cell::quantity(Kind::Duration, sum.communicating as f64 / SECOND),
                Cell::quantity(Kind::Share, sum.share()),
            ]);
        }
        let Trace { program, library, library_version, .. } = self.trace;
        let ranks_text = format::count(self.ranks.len(), "rank");
        let mut text = format!("{program}, {ranks_text}, {library} {library_version}\n\n");
        // Writing to a string does not fail.
        let _ = write!(text, "{}\n{}\n", operations.render(), ranks.render());
        let (calls, bytes) = (format::count(self.calls() as usize, "call"), self.file_bytes);
        let _ = writeln!(text, "{}: {calls} in {bytes} bytes", self.path.display());
        text
    }
}
