//! A command in a host of a lab: `suimon lab exec` and `suimon lab shell`.

use std::process::ExitStatus;
use std::thread;

use results::LabReport;
use scenario::Plan;
use traffic::Duration;

use crate::error::Error;
use crate::program::{Output, Program};
use crate::programs::{self, Programs};
use crate::run::{Lab, Options, Outcome};

/// Runs `words` in the host of that name while the lab of `plan` stands, without its flows but with its
/// hosts' programs. The command has this process's streams, and the terminal if they are one.
///
/// # Errors
/// If the lab cannot be built, has no such host, or breaks.
pub fn exec(
    plan: &Plan,
    options: Options<'_>,
    host: &str,
    words: &[String],
) -> Result<(ExitStatus, LabReport), Error> {
    let plan = &Plan { duration: Duration::MAX, flows: Vec::new(), ..plan.clone() };
    let lab = Lab::build(plan, options)?;
    let node = plan.nodes.iter().position(|node| node.name == host);
    let namespace = node.and_then(|node| lab.hosts.namespaces[node].as_ref());
    let Some(namespace) = namespace else {
        let hosts = plan.nodes.iter().zip(&lab.hosts.namespaces);
        let names = hosts.filter(|(_, namespace)| namespace.is_some()).map(|(node, _)| &*node.name);
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(Error::unfit(
            format!("there is no host `{host}`"),
            format!("there is {names}"),
        ));
    };
    let servers = Programs::start(plan, &lab.hosts, None)?;
    let namespace = namespace.try_clone()?;
    let (clock, names) = (lab.clock, programs::names(plan));
    thread::scope(|scope| {
        // The kernel ends a program with the thread that started it.
        let running = scope.spawn(move || {
            thread::sleep(clock.until(traffic::Instant::ZERO));
            Program::spawn(&namespace, words, Output::Inherited, &names)?.wait()
        });
        let Outcome { report, failure, .. } =
            lab.attend(plan, &mut (), |_, _| Ok(running.is_finished()))?;
        drop(servers);
        let status = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        failure.map_or(Ok((status, report)), Err)
    })
}
