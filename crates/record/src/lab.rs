//! The state of the machine during a run on real packets, and whether its results can be trusted.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quantity::{count, time};

/// The state of the machine during a run on real packets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabReport {
    /// Whether the machine kept up. If not, do not trust the results.
    pub kept_up: bool,
    /// How late packets left.
    pub lateness: Lateness,
    /// For how long hosts were stalled; none if there are no hosts, or for runs from before this was measured.
    #[serde(default)]
    pub host_stalls: Option<HostStalls>,
    /// The results that stalls spoiled on the paths of this run.
    #[serde(default)]
    pub spoiled: Vec<Spoiled>,
    /// Frames lost for lack of buffer space on the way into or out of the fabric. No queue of the scenario
    /// dropped them.
    pub missed_frames: u64,
    /// How the fabric is attached to each interface.
    pub ports: Vec<LabPort>,
    /// The kernel's own congestion controls that were in use.
    pub kernel_congestion: Vec<String>,
    /// The substitutes that programs had to use, and how to avoid that.
    #[serde(default)]
    pub substitutions: Vec<String>,
    /// Further notes for the reader.
    pub notes: Vec<String>,
    /// Each program of the scenario that failed, with its status and what it said last on standard error.
    #[serde(default)]
    pub failed_programs: Vec<String>,
}

/// The time from when a packet was to leave until it did, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lateness {
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The maximum.
    pub max_ns: u64,
}

/// For how long the hosts' processors were taken away from kernel and programs alike (CPU steal), 1 ms or more at a
/// time, nanoseconds. In that time no queue sends the packets that the host would have sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostStalls {
    /// The longest.
    pub longest_ns: u64,
    /// All of them.
    pub sum_ns: u64,
}

/// Results that are affected by stalls of hosts, or of the forwarding thread, and so depend on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spoiled {
    /// Drops at a drop-tail buffer, and the goodput that follows from them.
    Drops(Burst),
    /// Round trip times.
    RoundTrip(RoundTrip),
}

/// The burst that a stall releases at once, where it meets a drop-tail buffer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burst {
    /// The flow; the first one of several alike.
    pub flow: String,
    /// The buffer's port, `NODE:LINK`.
    pub port: String,
    /// The longest stall.
    pub stall_ns: u64,
    /// The burst after it, at most, in full frames.
    pub burst_packets: u64,
    /// The buffer's size, in full frames.
    pub buffer_packets: u64,
    /// The drops that bursts after stalls may have caused, at most.
    pub extra: u64,
    /// All drops there.
    pub drops: u64,
}

/// The time that stalls add to round trips.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundTrip {
    /// The flow; the first one of several alike.
    pub flow: String,
    /// On average.
    pub added_ns: u64,
    /// The longest stall.
    pub stall_ns: u64,
    /// The path's, without queues.
    pub round_trip_ns: u64,
}

impl fmt::Display for Spoiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drops(Burst {
                flow,
                port,
                stall_ns,
                burst_packets,
                buffer_packets,
                extra,
                drops,
            }) => write!(
                f,
                "goodput of `{flow}` and drops at {port} (stalls of up to {}: bursts of up to {} packets; \
                 drop-tail of {} packets; up to {} of {} drops)",
                nanoseconds(*stall_ns),
                count(*burst_packets),
                count(*buffer_packets),
                count(*extra),
                count(*drops)
            ),
            Self::RoundTrip(RoundTrip { flow, added_ns, stall_ns, round_trip_ns }) => write!(
                f,
                "round trip times of `{flow}` (stalls of up to {} add {} on average to {})",
                nanoseconds(*stall_ns),
                nanoseconds(*added_ns),
                nanoseconds(*round_trip_ns)
            ),
        }
    }
}

/// How the fabric is attached to an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabPort {
    /// The host's port, `NODE:LINK` as in a scenario.
    pub port: String,
    /// The socket type: `AF_XDP`, `AF_PACKET`.
    pub kind: String,
}

impl LabReport {
    /// Returns the warning that comes first for a run that did not keep up.
    pub fn warning(&self) -> Option<String> {
        if self.kept_up {
            return None;
        }
        let spoiled = match self.spoiled.as_slice() {
            [] => String::new(),
            all => format!(", above all: {}", listed(all)),
        };
        let facts = self.facts();
        Some(format!("The machine did not keep up ({facts}): do not trust these results{spoiled}."))
    }

    /// Returns lateness, stalls and missed frames, in one line.
    pub fn facts(&self) -> String {
        let Lateness { p50_ns, p99_ns, max_ns } = self.lateness;
        let [p50, p99, max] = [p50_ns, p99_ns, max_ns].map(nanoseconds);
        let missed = count(self.missed_frames);
        let frames = if self.missed_frames == 1 { "frame" } else { "frames" };
        let stalls = self.host_stalls.map(|HostStalls { longest_ns, sum_ns }| {
            let [longest, sum] = [longest_ns, sum_ns].map(nanoseconds);
            format!("; hosts were stalled (CPU steal) for {sum} in total, {longest} max")
        });
        format!(
            "packets late by {p50} (p50), {p99} (p99), {max} (max); {missed} {frames} missed{}",
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
}

/// Lists the spoiled results, separated by semicolons.
pub fn listed(spoiled: &[Spoiled]) -> String {
    spoiled.iter().map(Spoiled::to_string).collect::<Vec<_>>().join("; ")
}

/// Formats a time of `ns` nanoseconds in a suitable unit.
pub fn nanoseconds(ns: u64) -> String {
    time(ns as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> LabReport {
        LabReport {
            kept_up: true,
            lateness: Lateness { p50_ns: 1_200, p99_ns: 40_000, max_ns: 3_000_000 },
            host_stalls: None,
            spoiled: Vec::new(),
            missed_frames: 17,
            ports: Vec::new(),
            kernel_congestion: Vec::new(),
            substitutions: Vec::new(),
            notes: Vec::new(),
            failed_programs: Vec::new(),
        }
    }

    #[test]
    fn only_a_run_that_did_not_keep_up_has_a_warning() {
        assert_eq!(kept().warning(), None);
        let late = LabReport { kept_up: false, ..kept() };
        assert_eq!(
            late.warning().expect("a warning"),
            "The machine did not keep up (packets late by 1.2 us (p50), 40 us (p99), 3 ms (max); 17 frames \
             missed): do not trust these results."
        );
        let stalls = HostStalls { longest_ns: 107_000_000, sum_ns: 2_400_000_000 };
        let stalled = LabReport { host_stalls: Some(stalls), ..late };
        let end = "missed; hosts were stalled (CPU steal) for 2.4 s in total, 107 ms max";
        assert!(stalled.facts().ends_with(end), "{}", stalled.facts());
    }

    #[test]
    fn the_warning_names_the_results_that_stalls_spoiled() {
        let burst = Burst {
            flow: "bulk".into(),
            port: "wan:east".into(),
            stall_ns: 10_000_000,
            burst_packets: 33,
            buffer_packets: 20,
            extra: 13,
            drops: 50,
        };
        let round_trip = RoundTrip {
            flow: "bulk".into(),
            added_ns: 400_000,
            stall_ns: 10_000_000,
            round_trip_ns: 4_000_000,
        };
        let spoiled = vec![Spoiled::Drops(burst), Spoiled::RoundTrip(round_trip)];
        let report = LabReport { kept_up: false, spoiled, ..kept() };
        let warning = report.warning().expect("a warning");
        let end = "do not trust these results, above all: goodput of `bulk` and drops at wan:east (stalls of up \
                   to 10 ms: bursts of up to 33 packets; drop-tail of 20 packets; up to 13 of 50 drops); round \
                   trip times of `bulk` (stalls of up to 10 ms add 400 us on average to 4 ms).";
        assert!(warning.ends_with(end), "{warning}");
        let text = serde_json::to_string(&report).expect("JSON");
        assert_eq!(serde_json::from_str::<LabReport>(&text).expect("the same"), report);
    }
}
