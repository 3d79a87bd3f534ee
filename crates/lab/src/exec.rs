//! A command in a host of a lab: `suimon lab exec` and `suimon lab shell`.

use std::process::{Command, ExitStatus};
use std::thread;

use scenario::Plan;
use traffic::Duration;

use crate::error::Error;
use crate::run::{Lab, Options, Outcome};

/// Runs `words` in the host of that name while the lab of `plan` stands, without its flows.
///
/// # Errors
/// If the lab cannot be built, or has no such host.
pub fn exec(
    plan: &Plan,
    options: Options,
    host: &str,
    words: &[String],
) -> Result<(ExitStatus, Outcome), Error> {
    let node = plan.nodes.iter().position(|node| node.name == host);
    let plan = &Plan { duration: Duration::MAX, flows: Vec::new(), ..plan.clone() };
    let lab = Lab::build(plan, options)?;
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
    let namespace = namespace.try_clone()?;
    thread::scope(|scope| {
        let running = scope.spawn(move || {
            namespace.within(|| Command::new(&words[0]).args(&words[1..]).status().unwrap())
        });
        let outcome = lab.attend(plan, &mut (), |_| running.is_finished())?;
        Ok((running.join().unwrap()?, outcome))
    })
}
