//! A driver of no packets, for tests that need only folders and manifests: every plan reaches its end at once, with
//! all counts zero.

use base::Instant;
use record::totals::{Ending, FlowTotals, NodeTotals, PortTotals};
use record::{Recorder, Recording, Totals};
use scenario::capability::{self, Support};

use super::interface::{Description, Driver, Request, Role, Run, Stacks};
use crate::error::Error;

/// The driver of no packets.
#[derive(Debug)]
pub struct Nothing;

static DESCRIPTION: Description = Description {
    name: "none",
    manifest: "none",
    help: "No packets: for tests of folders",
    subject: "the driver of no packets",
    doing: "counting nothing for",
    place: "without packets",
    suffix: "-none",
    stacks: Stacks::Modelled,
    is_real_time: false,
    role: Role::Test,
    topic: None,
    capabilities: &capability::of_every(Support::Lacking("no packet moves")),
};

impl Driver for Nothing {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn run(&self, request: Request<'_>) -> Result<Run, Error> {
        let Request { plan, files, .. } = request;
        let end = Instant::ZERO + plan.duration;
        let totals = Totals {
            flows: vec![FlowTotals { end, ..<_>::default() }; plan.flows.len()],
            ports: vec![PortTotals::default(); 2 * plan.links.len()],
            nodes: vec![NodeTotals::default(); plan.nodes.len()],
            ending: Ending { at: end, complete: true },
            ..<_>::default()
        };
        let recording = match Recorder::is_needed(plan) {
            true => Some(Recorder::in_folder(plan, files)?.finish(&totals)?),
            false => Recording::of_jobs(plan, files, &totals)?,
        };
        Ok(Run { totals, recording, lab: None, guests: None, failure: None })
    }
}
