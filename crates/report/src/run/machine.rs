//! Whether the machine kept up in a run on real packets.

use record::lab::{HostStalls, LabReport, listed, nanoseconds};
use record::quantity::count;

use crate::{Cell, Grid, Section};

/// Shows `report` as a section.
pub(super) fn section(report: &LabReport) -> Section {
    let mut section = Section::new("Whether the machine kept up");
    let mut grid = Grid::new(&["", ""]);
    let mut row = |name: &str, text: String| {
        grid.row(vec![Cell::text_of(name), Cell::number(text)]);
    };
    row("Kept up", if report.kept_up { "yes" } else { "no" }.to_owned());
    row("Packets late by, p50", nanoseconds(report.lateness.p50_ns));
    row("Packets late by, p99", nanoseconds(report.lateness.p99_ns));
    row("Packets late by, max", nanoseconds(report.lateness.max_ns));
    if let Some(HostStalls { longest_ns, sum_ns }) = report.host_stalls {
        row("Hosts stalled (CPU steal), max", nanoseconds(longest_ns));
        row("Hosts stalled (CPU steal), total", nanoseconds(sum_ns));
    }
    row("Frames missed by the fabric", count(report.missed_frames));
    row("Interfaces", report.kinds().join(", "));
    if !report.kernel_congestion.is_empty() {
        row("The kernel's congestion control", report.kernel_congestion.join(", "));
    }
    section.grid(&grid);
    if !report.spoiled.is_empty() {
        section.paragraph(&format!("Affected by stalls: {}.", listed(&report.spoiled)));
    }
    let failed = report.failed_programs.iter();
    failed.for_each(|program| section.paragraph(&format!("A program failed: {program}")));
    report.substitutions.iter().for_each(|text| section.paragraph(&format!("Warning: {text}.")));
    report.notes.iter().for_each(|note| section.paragraph(note));
    section
}
