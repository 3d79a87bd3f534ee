//! The report of a run in a folder.

use record::expectation;
use record::{Error, StoredRun};
use scenario::Plan;

use super::{Lab, Run};

/// Returns the page of `stored`; `plan` is the plan of its scenario.
///
/// # Errors
/// A summary of another version; tables that cannot be read; expectations of missing quantities.
pub fn stored_to_html(stored: &StoredRun, plan: &Plan) -> Result<String, Error> {
    let summary = stored.read_summary()?;
    let judged = if stored.complete { &plan.expectations[..] } else { &[] };
    let verdicts = expectation::judge(judged, &summary)?;
    let recording = stored.recording(plan);
    let StoredRun { cost, environment, .. } = stored;
    let lab = stored.lab.as_ref().map(|report| Lab { report, environment, cost: *cost });
    let (summary, verdicts) = (&summary, &verdicts[..]);
    let (recording, command) = (recording.as_ref(), &stored.command[..]);
    let (left_out, guest_notes) = (&stored.left_out[..], &stored.guest_notes[..]);
    Run { plan, summary, verdicts, recording, command, lab, left_out, guest_notes }.to_html()
}
