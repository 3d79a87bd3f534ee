//! `suimon router`: this machine as a router between two of its interfaces.

mod client;
mod render;
mod stats;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use experiment::control::Control;
use experiment::metrics::router::Endpoint;
use experiment::router::{ControlServer, Source, Tick, usual_path};
use lab::clock::{self, Clock};
use lab::router::{Outcome, Router, Settings};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::port::Port;
use crate::{interruption, output};

/// Bridge two interfaces of this machine through a scenario's router
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Option<client::Verb>,
    /// The interfaces of the node's first and second link in the scenario
    #[arg(num_args = 2, value_name = "INTERFACE", required = true)]
    interfaces: Vec<String>,
    /// The scenario file with the router
    #[arg(long, value_name = "FILE", required = true)]
    config: Option<PathBuf>,
    /// Set a value as in the file: --set "link.out.rate=50 Mbit/s"
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// The router or emulator of the scenario [default: the only one]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// How to access the interfaces [default: the best that this machine permits]
    #[arg(long, value_enum)]
    port: Option<Port>,
    /// Poll for frames continuously: lower delays, but a CPU is always busy
    #[arg(long)]
    busy: bool,
    /// How long queued packets may still leave after the end
    #[arg(long, value_name = "TIME", default_value = "2 s", value_parser = scenario::quantity::duration)]
    drain: base::Duration,
    /// Use an interface even if it has this machine's default route
    #[arg(long)]
    force: bool,
    /// The socket for `router stats`, `set` and `do` [default: suimon-router.sock in $XDG_RUNTIME_DIR or /run]
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Serve the counters for Prometheus at http://ADDRESS/metrics, such as 127.0.0.1:9764
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// Print the summary as one JSON document
    #[arg(long)]
    json: bool,
    /// Do not print a line each second
    #[arg(long)]
    quiet: bool,
}

/// Interval between checks for the end.
const GLANCE: Duration = Duration::from_millis(100);
/// Interval between lines on stderr, and the period of their rates.
const TICK: base::Duration = base::Duration::from_ms(1_000);

/// Runs the router until a signal, or sends a request to a running router.
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
    let endpoint = arguments.metrics.map(Endpoint::open).transpose()?;
    let router = Router::open(
        &plan,
        &Settings {
            node: arguments.node.as_deref(),
            interfaces: [a, b],
            kind: arguments.port.map(Into::into),
            busy: arguments.busy,
            drain: arguments.drain,
            force: arguments.force,
            delays: endpoint.is_some(),
        },
    )?;
    let control = Control::open(&path).map_err(|error| {
        let message = format!("the control socket {}: {error}", path.display());
        Failure::usage(message, "choose another place with --control")
    })?;
    let interrupted = interruption::watch()?;
    let server = ControlServer::new(source, plan, router.ports().clone());
    announce(&router, &path, endpoint.as_ref());
    let quiet = arguments.quiet;
    let (outcome, server) = serve(router, (control, endpoint), server, &interrupted, quiet);
    print_outcome(arguments, &server, outcome)
}

fn announce(router: &Router, control: &std::path::Path, endpoint: Option<&Endpoint>) {
    router.notes().iter().for_each(|note| output::note(note));
    let [a, b] = router.ports();
    output::note(&format!(
        "{} and {} are connected by {} and {} ({}); control: {}{}",
        a.interface,
        b.interface,
        a.name,
        b.name,
        router.kind().name(),
        control.display(),
        endpoint.map(|endpoint| format!("; metrics: {}", endpoint.url())).unwrap_or_default()
    ));
}

/// Answers requests and prints events and rates until a signal.
fn serve(
    router: Router,
    (mut control, endpoint): (Control, Option<Endpoint>),
    mut server: ControlServer,
    interrupted: &AtomicBool,
    quiet: bool,
) -> (Outcome, ControlServer) {
    let clock = Clock::starting_in(Duration::ZERO);
    let mut tick_at = base::Instant::ZERO;
    let outcome = router.run(|router| {
        if clock.now() >= tick_at {
            tick_at += TICK;
            let Tick { events, rates } = server.tick(router);
            let rates = rates.filter(|_| !quiet);
            events.iter().chain(&rates).for_each(|line| output::note(line));
        }
        let patience = clock::system(tick_at.since(clock.now())).min(GLANCE);
        control.serve(patience, |line| server.answer(router, line));
        if let Some(endpoint) = &endpoint {
            endpoint.answer(|| server.metrics(router));
        }
        !interrupted.load(Ordering::Relaxed)
    });
    (outcome, server)
}

/// Prints the summary, and then the error that ended the router, if any.
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
        output::print_json(&server.counters(&look, None))?;
    } else {
        output::print(&render::summary(server.ports(), server.units(), &look, &report))?;
    }
    failure.map_or(Ok(Exit::Fine), |failure| Err(failure.into()))
}
