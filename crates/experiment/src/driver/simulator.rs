//! The simulator: virtual time; modelled TCP, or a guest kernel where the scenario asks for one.

use std::num::NonZeroUsize;
use std::path::Path;

use guest::Kernel;
use network::observer::Observer;
use record::{Recorder, Recording};
use scenario::Plan;

use super::interface::{Description, Driver, Request, Role, Run, Stacks};
use crate::error::Error;

/// The simulator.
#[derive(Debug)]
pub struct Simulator;

static DESCRIPTION: Description = Description {
    name: "simulator",
    manifest: "simulate",
    help: "Simulator: virtual time, modelled TCP",
    subject: "the simulator",
    doing: "simulating",
    place: "in the simulator",
    suffix: "",
    stacks: Stacks::Modelled,
    is_real_time: false,
    role: Role::Run,
    topic: Some("simulator"),
    capabilities: simulate::capability::CAPABILITIES,
};

impl Driver for Simulator {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn left_out(&self, plan: &Plan) -> Vec<String> {
        simulate::left_out(plan)
    }

    fn leave_out(&self, plan: &mut Plan) -> Vec<String> {
        simulate::leave_out(plan)
    }

    fn kernel(&self, plan: &Plan) -> Result<Option<Kernel>, Error> {
        if !plan.has_kernels() {
            return Ok(None);
        }
        Ok(Some(guest::built::required()?))
    }

    /// Simulates with a recorder only if a probe asks for one.
    fn run(&self, request: Request<'_>) -> Result<Run, Error> {
        let Request { plan, kernel, files, live, .. } = request;
        if !Recorder::is_needed(plan) {
            let run = observed(request, &mut ())?;
            let recording = Recording::of_jobs(plan, files, &run.totals)?;
            return Ok(Run { recording, ..run });
        }
        let recorder = Recorder::in_folder(plan, files)?;
        let mut recorder = if kernel.is_some() { recorder.of_real_frames() } else { recorder };
        let run = observed(request, &mut live.tap(&mut recorder))?;
        let recording = Some(recorder.finish(&run.totals)?);
        Ok(Run { recording, ..run })
    }
}

fn observed(request: Request<'_>, observer: &mut impl Observer) -> Result<Run, Error> {
    let Request { plan, options, kernel, files, steering, .. } = request;
    let (recording, lab) = (None, None);
    let Some(kernel) = kernel else {
        let cores = options.cores.unwrap_or(NonZeroUsize::MIN);
        let totals = simulate::run_on(plan, cores, observer, steering)?;
        return Ok(Run { totals, recording, lab, guests: None, failure: None });
    };
    let program =
        std::env::current_exe().map_err(record::error::file(Path::new("/proc/self/exe")))?;
    let options = simulate::guests::Options { kernel, program: &program };
    let simulate::guests::Outcome { totals, findings, failure } =
        simulate::guests::run(plan, options, files.path(), observer, steering)?;
    let failure = failure.map(Error::from);
    Ok(Run { totals, recording, lab, guests: Some(findings), failure })
}
