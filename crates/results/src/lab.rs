//! What a run on real packets tells of the machine that moved them, and whether to believe it.

use serde::{Deserialize, Serialize};

use crate::report::quantity::{count, time};
use crate::report::{Cell, Grid, Section};

/// What a run on real packets tells of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabReport {
    /// Whether the machine kept up; what a run says that did not is not to be trusted.
    pub kept_up: bool,
    /// How late packets were let go.
    pub lateness: Lateness,
    /// For how long hosts could not act; none where there are no hosts, or in runs of before this was seen.
    #[serde(default)]
    pub host_stalls: Option<HostStalls>,
    /// Frames that were lost for want of room on the way into or out of the fabric, which no queue of the
    /// scenario dropped.
    pub missed_frames: u64,
    /// How the fabric met each interface.
    pub ports: Vec<LabPort>,
    /// The kernel's own congestion controls that were in use.
    pub kernel_congestion: Vec<String>,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// Each program of the scenario that failed, with its status and what it said last on standard error.
    #[serde(default)]
    pub failed_programs: Vec<String>,
}

/// From the moment a packet was to be let go to the moment that it was, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// Half of them were no later.
    pub p50_ns: u64,
    /// 99 of 100 were no later.
    pub p99_ns: u64,
    /// The latest.
    pub max_ns: u64,
}

/// For how long the hosts' processors were away from kernel and programs alike, 1 ms or more at a time,
/// nanoseconds. What a host would have sent meanwhile no queue can let go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStalls {
    /// The longest.
    pub longest_ns: u64,
    /// All of them.
    pub sum_ns: u64,
}

/// How the fabric met an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabPort {
    /// The host's port, `NODE:LINK` as in a scenario.
    pub port: String,
    /// By what: `AF_XDP`, `AF_PACKET`.
    pub kind: String,
}

impl LabReport {
    /// What must be shown first of a run that did not keep up.
    pub fn warning(&self) -> Option<String> {
        let tail = "do not trust these results";
        (!self.kept_up).then(|| format!("The machine did not keep up ({}): {tail}.", self.facts()))
    }

    /// Lateness and what was missed, in one line.
    pub fn facts(&self) -> String {
        let Lateness { p50_ns, p99_ns, max_ns } = self.lateness;
        let [p50, p99, max] = [p50_ns, p99_ns, max_ns].map(nanoseconds);
        let missed = count(self.missed_frames);
        let stalls = self.host_stalls.map(|HostStalls { longest_ns, sum_ns }| {
            let [longest, sum] = [longest_ns, sum_ns].map(nanoseconds);
            format!("; hosts stood still for {sum} in all, {longest} at once")
        });
        format!(
            "packets late by {p50} (half), {p99} (1 of 100), {max} at most; {missed} frames missed{}",
            stalls.unwrap_or_default()
        )
    }

    /// The kinds of interfaces, each once.
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = self.ports.iter().map(|port| port.kind.as_str()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// As a section of a report.
    pub fn section(&self) -> Section {
        let mut section = Section::new("Whether the machine kept up");
        let mut grid = Grid::new(&["", ""]);
        let mut row = |name: &str, text: String| {
            grid.row(vec![Cell::text_of(name), Cell::number(text)]);
        };
        row("Kept up", if self.kept_up { "yes" } else { "no" }.to_owned());
        row("Half of the packets late by at most", nanoseconds(self.lateness.p50_ns));
        row("99 of 100 by at most", nanoseconds(self.lateness.p99_ns));
        row("The latest by", nanoseconds(self.lateness.max_ns));
        if let Some(HostStalls { longest_ns, sum_ns }) = self.host_stalls {
            row("Hosts stood still, at once", nanoseconds(longest_ns));
            row("Hosts stood still, in all", nanoseconds(sum_ns));
        }
        row("Frames that the fabric missed", count(self.missed_frames));
        row("Interfaces", self.kinds().join(", "));
        if !self.kernel_congestion.is_empty() {
            row("The kernel's congestion control", self.kernel_congestion.join(", "));
        }
        section.grid(&grid);
        let failed = self.failed_programs.iter();
        failed.for_each(|program| section.paragraph(&format!("A program failed: {program}")));
        self.notes.iter().for_each(|note| section.paragraph(note));
        section
    }
}

fn nanoseconds(ns: u64) -> String {
    time(ns as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_run_that_did_not_keep_up_has_a_warning() {
        let lateness = Lateness { p50_ns: 1_200, p99_ns: 40_000, max_ns: 3_000_000 };
        let (ports, notes) = (Vec::new(), Vec::new());
        let kept = LabReport {
            kept_up: true,
            lateness,
            host_stalls: None,
            missed_frames: 17,
            ports,
            kernel_congestion: Vec::new(),
            notes,
            failed_programs: Vec::new(),
        };
        assert_eq!(kept.warning(), None);
        let late = LabReport { kept_up: false, ..kept };
        assert_eq!(
            late.warning().expect("a warning"),
            "The machine did not keep up (packets late by 1.2 µs (half), 40 µs (1 of 100), 3 ms at most; \
             17 frames missed): do not trust these results."
        );
        let stalls = HostStalls { longest_ns: 107_000_000, sum_ns: 2_400_000_000 };
        let stood = LabReport { host_stalls: Some(stalls), ..late };
        assert!(
            stood.facts().ends_with("missed; hosts stood still for 2.4 s in all, 107 ms at once"),
            "{}",
            stood.facts()
        );
    }
}
