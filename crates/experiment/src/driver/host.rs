//! A host's policy on this machine: `suimon host` applies it. It runs no plan, and says here what it sets of one.

use super::interface::{Description, Driver, Request, Role, Run, Stacks};
use crate::error::Error;

/// The policy of a host.
#[derive(Debug)]
pub struct Host;

static DESCRIPTION: Description = Description {
    name: "host",
    manifest: "host",
    help: "Host: the policy of one host on this machine, by `suimon host`",
    subject: "a host's policy",
    doing: "setting up a machine for",
    place: "on a machine",
    suffix: "-host",
    stacks: Stacks::Machine,
    is_real_time: true,
    role: Role::Policy,
    topic: None,
    capabilities: ::host::policy::capability::CAPABILITIES,
};

impl Driver for Host {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    /// Refuses every plan.
    fn run(&self, _request: Request<'_>) -> Result<Run, Error> {
        let help = "put the policy of one of its hosts on this machine: suimon host plan FILE HOST";
        Err(Error::usage("a host's policy runs no scenario", help))
    }
}
