//! `suimon router`: this machine as a router between two of its interfaces.

mod client;
mod control_server;
mod render;
mod stats;

use std::env;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use experiment::control::Control;
use lab::clock::{self, Clock};
use lab::router::{Outcome, Router, Settings};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::port::Port;
use crate::{interruption, output};
use control_server::{ControlServer, Source, Tick};

/// What `router` is told.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<client::Verb>,
    /// The two interfaces: that of the node's first link in the scenario, and that of the second
    #[arg(num_args = 2, value_name = "INTERFACE", required = true)]
    interfaces: Vec<String>,
    /// The scenario with the router
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    /// Set a value as if the file said so: --set "link.out.rate=50 Mbit/s"
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Which router or emulator of the scenario; its only one unless given
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// How to meet the interfaces; the best that the machine grants unless given
    #[arg(long, value_enum)]
    port: Option<Port>,
    /// Look for frames all the time: less late, and a processor of its own
    #[arg(long)]
    busy: bool,
    /// How long, after the end, what is queued may leave
    #[arg(long, value_name = "TIME", default_value = "2 s", value_parser = scenario::quantity::duration)]
    drain: traffic::Duration,
    /// Take an interface even if it has this machine's default route
    #[arg(long)]
    force: bool,
    /// The socket for `router stats`, `set` and `do`; suimon-router.sock in $XDG_RUNTIME_DIR or /run unless given
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Print the summary as one JSON document
    #[arg(long)]
    json: bool,
    /// No line each second
    #[arg(long)]
    quiet: bool,
}

/// From one look at whether it is to end to the next.
const GLANCE: Duration = Duration::from_millis(100);
/// From one line on stderr to the next, and the time over which rates are.
const TICK: traffic::Duration = traffic::Duration::from_ms(1_000);

/// Runs the router until a signal, or asks one that runs.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(verb) = &arguments.verb {
        return client::run(verb);
    }
    let path = arguments.control.clone().unwrap_or_else(usual_path);
    let (Some(file), [a, b]) = (&arguments.config, arguments.interfaces.as_slice()) else {
        return Err(Failure::usage("a router needs a scenario and two interfaces", "see --help"));
    };
    let source = Source::read(file, &arguments.set)?;
    let plan = source.plan()?;
    let router = Router::open(
        &plan,
        &Settings {
            node: arguments.node.as_deref(),
            interfaces: [a, b],
            kind: arguments.port.map(Into::into),
            busy: arguments.busy,
            drain: arguments.drain,
            force: arguments.force,
        },
    )?;
    let control = Control::open(&path).map_err(|error| {
        let message = format!("the control socket {}: {error}", path.display());
        Failure::usage(message, "choose another place with --control")
    })?;
    let interrupted = interruption::watch()?;
    let server = ControlServer::new(source, plan, router.ports().clone());
    announce(&router, &path);
    let (outcome, server) = serve(router, control, server, &interrupted, arguments.quiet);
    print_outcome(arguments, &server, outcome)
}

/// Where its control socket is unless said otherwise.
pub(crate) fn usual_path() -> PathBuf {
    let folder = env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty());
    PathBuf::from(folder.unwrap_or_else(|| "/run".into())).join("suimon-router.sock")
}

fn announce(router: &Router, control: &std::path::Path) {
    router.notes().iter().for_each(|note| output::note(note));
    let [a, b] = router.ports();
    output::note(&format!(
        "{} and {} are joined by {} and {} ({}); control: {}",
        a.interface,
        b.interface,
        a.name,
        b.name,
        router.kind().name(),
        control.display()
    ));
}

/// Answers, and tells what goes on, until a signal.
fn serve(
    router: Router,
    mut control: Control,
    mut server: ControlServer,
    interrupted: &AtomicBool,
    quiet: bool,
) -> (Outcome, ControlServer) {
    let clock = Clock::starting_in(Duration::ZERO);
    let mut tick_at = traffic::Instant::ZERO;
    let outcome = router.run(|router| {
        if clock.now() >= tick_at {
            tick_at += TICK;
            let Tick { events, rates } = server.tick(router);
            let rates = rates.filter(|_| !quiet);
            events.iter().chain(&rates).for_each(|line| output::note(line));
        }
        let patience = clock::system(tick_at.since(clock.now())).min(GLANCE);
        control.serve(patience, |line| server.answer(router, line));
        !interrupted.load(Ordering::Relaxed)
    });
    (outcome, server)
}

/// The summary, and then what broke it, if anything did.
fn print_outcome(
    arguments: &Arguments,
    server: &ControlServer,
    outcome: Outcome,
) -> Result<Exit, Failure> {
    let Outcome { look, report, failure } = outcome;
    if let Some(warning) = report.warning() {
        output::note(&warning);
    }
    if arguments.json {
        output::print_json(&server.told(&look, None))?;
    } else {
        output::print(&render::summary(server.ports(), server.units(), &look, &report))?;
    }
    failure.map_or(Ok(Exit::Fine), |failure| Err(failure.into()))
}
