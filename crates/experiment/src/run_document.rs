//! The results of a run as `--json` prints them: the summary with verdicts, cost and folder.

use std::path::Path;

use measured::{
    ChangeSummary, EmulatorSummary, EngineSummary, FlowSummary, Group, IdleSummary, LinkSummary,
    Named, NodeSummary, Run,
};
use record::summary::InputSummary;
use record::{Summary, Verdict};
use serde::Serialize;

use crate::execution::Outcome;

/// One JSON object. The keys of the summary come first, as in `summary.json`.
#[derive(Debug, Serialize)]
pub struct RunDocument<'o> {
    run: &'o Run,
    flow: &'o Named<FlowSummary>,
    group: &'o Named<Group>,
    link: &'o Named<LinkSummary>,
    emulator: &'o Named<EmulatorSummary>,
    node: &'o Named<NodeSummary>,
    #[serde(skip_serializing_if = "IdleSummary::is_empty")]
    idle: &'o IdleSummary,
    #[serde(skip_serializing_if = "Named::is_empty")]
    change: &'o Named<ChangeSummary>,
    #[serde(skip_serializing_if = "Named::is_empty")]
    input: &'o Named<InputSummary>,
    engine: Engine<'o>,
    expectations: &'o [Verdict],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    left_out: &'o [String],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed_programs: &'o [String],
    folder: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

/// What the engine did, and what that cost.
#[derive(Debug, Serialize)]
struct Engine<'o> {
    #[serde(flatten)]
    counted: &'o EngineSummary,
    cpu_seconds: f64,
    wall_seconds: f64,
    peak_rss_bytes: u64,
}

impl<'o> RunDocument<'o> {
    /// The document of a run whose files are in the folder `of`.
    pub fn new(outcome: &'o Outcome, of: &Path) -> Self {
        let Summary { run, flow, group, link, emulator, node, idle, change, input, engine } =
            &outcome.summary;
        let cost = outcome.cost;
        Self {
            run,
            flow,
            group,
            link,
            emulator,
            node,
            idle,
            change,
            input,
            engine: Engine {
                counted: engine,
                cpu_seconds: cost.cpu_seconds,
                wall_seconds: cost.wall_seconds,
                peak_rss_bytes: cost.peak_rss_bytes,
            },
            expectations: &outcome.verdicts,
            left_out: &outcome.left_out,
            failed_programs: outcome.failed_programs(),
            folder: of.display().to_string(),
            failure: outcome.failure.as_ref().map(ToString::to_string),
        }
    }
}
