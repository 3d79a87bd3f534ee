//! The lab: real packets and this machine's kernel TCP, in real time.

use record::Recorder;

use super::interface::{Description, Driver, Request, Role, Run, Stacks};
use crate::error::Error;

/// The lab.
#[derive(Debug)]
pub struct Lab;

static DESCRIPTION: Description = Description {
    name: "lab",
    manifest: "lab",
    help: "Lab: real packets and this machine's kernel TCP, in real time",
    subject: "the lab",
    doing: "sending real packets for",
    place: "on real packets",
    suffix: "-lab",
    stacks: Stacks::Machine,
    is_real_time: true,
    role: Role::Run,
    topic: Some("lab"),
    capabilities: ::lab::capability::CAPABILITIES,
};

impl Driver for Lab {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// Root's privileges, or a user namespace.
    fn acquire(&self) -> Result<(), Error> {
        ::lab::privilege::acquire()?;
        Ok(())
    }

    fn run(&self, request: Request<'_>) -> Result<Run, Error> {
        let Request { plan, options, files, live, steering, .. } = request;
        let interrupted = Some(steering.interrupted);
        let options =
            ::lab::Options { folder: Some(files.path()), interrupted, ..options.fabric.options() };
        let mut recorder = Recorder::in_folder(plan, files)?.of_real_frames();
        let ::lab::Outcome { totals, report, failure, .. } =
            ::lab::run(plan, options, &mut live.tap(&mut recorder), steering)?;
        let recording = Some(recorder.finish(&totals)?);
        let failure = failure.map(Error::from);
        Ok(Run { totals, recording, lab: Some(report), guests: None, failure })
    }
}
