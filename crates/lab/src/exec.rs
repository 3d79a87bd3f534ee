//! A command in a host of a lab that exists only for it: `suimon lab exec` and `suimon lab shell`.

use std::process::ExitStatus;
use std::thread;

use record::LabReport;
use scenario::Plan;

use crate::error::Error;
use crate::hosts::Hosts;
use crate::namespace::Namespace;
use crate::program::{Output, Program, Rights, Site};
use crate::programs;
use crate::run::{Lab, Next, Options, Outcome};

/// The network namespace of the host `name`.
///
/// # Errors
/// If there is no such host; the error lists the hosts.
pub(crate) fn host<'a>(plan: &Plan, hosts: &'a Hosts, name: &str) -> Result<&'a Namespace, Error> {
    let mut all = plan.nodes.iter().zip(&hosts.namespaces);
    let found = all.find(|(node, _)| node.name == name).and_then(|(_, host)| host.as_ref());
    found.ok_or_else(|| {
        let hosts = plan.nodes.iter().zip(&hosts.namespaces);
        let names = hosts.filter(|(_, namespace)| namespace.is_some()).map(|(node, _)| &*node.name);
        let names = names.collect::<Vec<_>>().join(", ");
        Error::unfit(format!("there is no host `{name}`"), format!("choose one of {names}"))
    })
}

/// Builds the lab of `plan`, with its hosts' programs but without its flows, waits until the programs listen, and runs
/// `words` in the host `name`. The command has this process's streams, its terminal if they are one, and its rights.
///
/// # Errors
/// If the lab cannot be built, has no such host, or fails.
pub fn exec(
    plan: &Plan,
    options: Options<'_>,
    name: &str,
    words: &[String],
) -> Result<(ExitStatus, LabReport), Error> {
    let plan = &plan.by_hand();
    let mut lab = Lab::build(plan, options)?;
    let mut servers = lab.programs.take();
    let namespace = host(plan, &lab.hosts, name)?.try_clone()?;
    let (clock, names) = (lab.clock, programs::names(plan));
    thread::scope(|scope| {
        // The kernel ends a program when the thread that started it ends.
        let running = scope.spawn(move || {
            thread::sleep(clock.until(base::Instant::ZERO));
            let site = Site { namespace: &namespace, host: name, names: &names, holder: None };
            Program::spawn(&site, words, Output::Inherited, Rights::Own)?.wait()
        });
        let (Outcome { mut report, failure, .. }, ()) =
            lab.serve(plan, &mut (), |_, _| Ok(Next::stop_if(running.is_finished())), || ())?;
        if let Some(servers) = &mut servers {
            servers.states()?;
            report.failed_programs = servers.failures();
        }
        drop(servers);
        let status = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        failure.map_or(Ok((status, report)), Err)
    })
}
