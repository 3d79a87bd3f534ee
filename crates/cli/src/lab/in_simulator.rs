//! `suimon lab exec` and `suimon lab shell` in virtual time: the host runs a real kernel, the network is
//! simulated.

use std::env;
use std::io::{self, IsTerminal, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;

use record::guest::{Command, TerminalSize};
use scenario::Plan;
use scenario::plan::NodeKind;
use signal_hook::consts::SIGHUP;
use simulate::guests::{Console, Ending, Exited, Options, run_command};

use super::console::{Streams, Terminal};
use super::network::Network;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::table::Table;
use crate::{check, interruption, output};

/// The part of `--help` on virtual time.
pub(super) const HELP: &str = "In virtual time (--on simulator, or --on linux-6.12 for a kernel at every \
host), the host must have a `kernel`, and you are root on it. The scenario's flows are left out, its hosts' programs run, \
and the simulation ends with the command. Piped input is read to its end first; the same seed, command and input \
print the same bytes. A shell on a terminal runs no faster than the wall clock.";

/// The variables of the user's environment that the command also gets: others may differ at the next run.
const VARIABLES: [&str; 7] = ["TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];
/// Maximum number of hosts listed before a shell.
const HOSTS_MAX: usize = 20;
/// The code that a shell reports when the output has no reader: 128 + SIGPIPE.
const UNREAD: u8 = 141;

/// Runs a command on a host, as fast as possible.
pub(super) fn exec(network: &Network, host: &str, words: &[String]) -> Result<Exit, Failure> {
    let host = Host::of(network, host)?;
    let is_typed = network.scenario.file == Path::new("-") || io::stdin().is_terminal();
    let input = if is_typed { Vec::new() } else { read_stdin()? };
    Ok(exit(host.run(words, None, &input, &mut Streams)?))
}

/// Opens a shell on a host: on the terminal if stdin is one, otherwise for commands read from stdin.
pub(super) fn shell(network: &Network, host: &str, shell: String) -> Result<Exit, Failure> {
    if network.scenario.file == Path::new("-") {
        let message = "stdin is the scenario and cannot also be the shell's input";
        return Err(Failure::usage(message, "give the scenario as a file, or use suimon lab exec"));
    }
    let host = Host::of(network, host)?;
    if !io::stdin().is_terminal() {
        return Ok(exit(host.run(&[shell], None, &read_stdin()?, &mut Streams)?));
    }
    host.introduce();
    let mut terminal = Terminal::new();
    let size = terminal.size();
    let ending = host.run(&[shell], Some(size), &[], &mut terminal);
    // From here on, messages go to the restored terminal.
    drop(terminal);
    Ok(exit(ending?))
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(failure::file(Path::new("stdin")))
}

/// A host with a kernel.
struct Host {
    plan: Plan,
    /// Its index in the plan.
    node: usize,
    kernel: guest::Kernel,
}

impl Host {
    /// The host with that name.
    fn of(network: &Network, name: &str) -> Result<Self, Failure> {
        let Network { scenario, fabric, on, qdisc } = network;
        on.check(*fabric, *qdisc)?;
        let mut plan = scenario.experiment()?.plan()?;
        on.with(*fabric, *qdisc).prepare(&mut plan);
        let hosts = plan.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Host(_)));
        let names: Vec<&str> = hosts.map(|node| node.name.as_str()).collect();
        if !names.contains(&name) {
            let help = format!("choose one of {}", names.join(", "));
            return Err(Failure::usage(format!("there is no host `{name}`"), help));
        }
        let found = plan.nodes.iter().position(|node| node.name == name);
        let Some(node) = found.filter(|&node| plan.has_kernel(node)) else {
            let message = format!("host `{name}` is modelled and runs no programs");
            let help = "give it `kernel = \"linux-6.12\"`, or each host one with --on linux-6.12";
            return Err(Failure::usage(message, help));
        };
        let kernel = guest::built::required()?;
        Ok(Self { plan, node, kernel })
    }

    /// Lists the hosts, and says how to leave.
    fn introduce(&self) {
        let mut table = Table::new(&["host", "address", ""]);
        let nodes = self.plan.nodes.iter().enumerate();
        let hosts = nodes.filter(|(_, node)| matches!(node.kind, NodeKind::Host(_)));
        let count = hosts.clone().count();
        for (number, node) in hosts.take(HOSTS_MAX) {
            let what = match (number == self.node, self.plan.has_kernel(number)) {
                (true, _) => "you are here",
                (false, true) => "",
                (false, false) => "modelled: never answers",
            };
            table.row([node.name.as_str().into(), node.address.to_string().into(), what.into()]);
        }
        output::complain(&table.render());
        if count > HOSTS_MAX {
            output::note(&format!("and {} more; see /etc/hosts", count - HOSTS_MAX));
        }
        output::note("virtual time, no faster than the wall clock; `exit` or Ctrl-D ends it");
    }

    /// Runs a command on a terminal of the given size, or without a terminal on the given input.
    fn run(
        &self,
        words: &[String],
        terminal: Option<TerminalSize>,
        input: &[u8],
        console: &mut impl Console,
    ) -> Result<Ending, Failure> {
        for what in simulate::left_out(&self.plan.by_hand()) {
            output::note(&format!("left out of the simulation: {what}"));
        }
        let command = Command {
            node: self.node,
            words: words.to_vec(),
            environment: environment(),
            folder: env::current_dir().unwrap_or_else(|_| "/".into()),
            terminal,
        };
        let program = env::current_exe().map_err(failure::file(Path::new("/proc/self/exe")))?;
        let options = Options { kernel: &self.kernel, program: &program };
        let interrupted = interruption::watch()?;
        if terminal.is_some() {
            // Sent when the terminal is closed.
            let closed = signal_hook::flag::register(SIGHUP, Arc::clone(&interrupted));
            closed.map_err(failure::file(Path::new("signal handler")))?;
        }
        run_command(&self.plan, options, (&command, input), console, &interrupted)
    }
}

/// Reports how the command ended.
fn exit(ending: Ending) -> Exit {
    match ending {
        Ending::Exited(Exited { status, failed_programs }) => {
            failed_programs.iter().for_each(|program| check::warn_of_failed(program));
            Exit::of(ExitStatus::from_raw(status))
        }
        Ending::Unread => Exit::As(UNREAD),
        Ending::Interrupted => Exit::Interrupted,
        Ending::Never => {
            output::note("ended after 213 days, the limit of virtual time");
            Exit::Unmet
        }
    }
}

fn environment() -> Vec<(String, String)> {
    let own = VARIABLES.iter().filter_map(|&name| Some((name.into(), env::var(name).ok()?)));
    // The only writable folder, for a shell's history.
    own.chain([("HOME".into(), "/tmp".into())]).collect()
}
