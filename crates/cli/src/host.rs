//! `suimon host`: the policy of a scenario's host on this machine.

mod arguments;
mod boot;
mod metrics;
mod render;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::{Args, Subcommand};
use host::policy::{self, Journal, Status, Store, Watcher};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use arguments::{HostArgs, StateArgs, require_root};
use render::now;

/// Apply the policy of a scenario's host to this machine, watch it, and take it back
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print what a host's policy changes on this machine, and why; changes nothing
    Plan(PlanArguments),
    /// Make a host's policy this machine's, all or nothing; needs root
    Apply(ApplyArguments),
    /// Keep a policy that was applied with --confirm; needs root
    Confirm(StateArgs),
    /// Report the applied policy and what somebody else has changed since: then the exit code is 1
    Status(StatusArguments),
    /// Restore what was before the policy; needs root
    Rollback(RollbackArguments),
    /// Apply a host's policy at each boot, by a systemd unit; needs root
    Enable(boot::EnableArguments),
    /// Remove that unit; needs root
    Disable(boot::UnitArgs),
    /// Print the counters of this machine's qdiscs for Prometheus, or serve them
    Metrics(metrics::Arguments),
    /// Take an unconfirmed policy back (internal)
    #[command(hide = true)]
    Watch(WatchArguments),
}

#[derive(Debug, Args)]
struct PlanArguments {
    #[command(flatten)]
    host: HostArgs,
    /// Print the plan as one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ApplyArguments {
    #[command(flatten)]
    host: HostArgs,
    /// Take the policy back after this time, unless `suimon host confirm` comes before
    #[arg(long, value_name = "TIME", value_parser = crate::top::every)]
    confirm: Option<base::Duration>,
    #[command(flatten)]
    state: StateArgs,
}

#[derive(Debug, Args)]
struct StatusArguments {
    /// Print the status as one JSON document
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: StateArgs,
}

#[derive(Debug, Args)]
struct RollbackArguments {
    /// Restore settings too that somebody else has changed since
    #[arg(long)]
    force: bool,
    /// Leave settings for good that somebody else has changed since
    #[arg(long, conflicts_with = "force")]
    keep: bool,
    #[command(flatten)]
    state: StateArgs,
}

#[derive(Debug, Args)]
struct WatchArguments {
    #[arg(long)]
    id: String,
    /// Seconds
    #[arg(long)]
    after: f64,
    #[command(flatten)]
    state: StateArgs,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Plan(arguments) => plan(arguments),
        Verb::Apply(arguments) => apply(arguments),
        Verb::Confirm(arguments) => confirm(&arguments.state),
        Verb::Status(arguments) => status(arguments),
        Verb::Rollback(arguments) => rollback(arguments),
        Verb::Enable(arguments) => boot::enable(arguments),
        Verb::Disable(arguments) => boot::disable(arguments),
        Verb::Metrics(arguments) => metrics::run(arguments),
        Verb::Watch(arguments) => watch(arguments),
    }
}

fn plan(arguments: &PlanArguments) -> Result<Exit, Failure> {
    let policy = arguments.host.policy(false)?;
    match arguments.json {
        true => output::print_json(&render::json(&policy))?,
        false => output::print(&render::table(&policy))?,
    }
    Ok(if policy.problems.is_empty() { Exit::Fine } else { Exit::Lacking })
}

fn apply(arguments: &ApplyArguments) -> Result<Exit, Failure> {
    require_root("apply FILE HOST")?;
    let store = Store::lock(&arguments.state.state, "apply")?;
    let policy = arguments.host.policy(true)?;
    policy.check()?;
    let wait = arguments.confirm.map(|time| Duration::from_nanos(time.as_ns()));
    let until = wait.map(|wait| now().saturating_add(wait).as_secs_f64().ceil() as u64);
    let prepare = |journal: &Journal| match wait {
        Some(wait) => start_watch(&arguments.state.state, journal, wait),
        None => Ok(()),
    };
    let changes = policy.changes();
    let applied = policy::apply(&store, policy.origin.clone(), &changes, until, prepare)?;
    policy.notes.iter().for_each(|note| output::note(note));
    let mut text = format!("{} changed", render::settings(applied.changed));
    if let Some(time) = arguments.confirm {
        let seconds = time.as_ns() as f64 / 1e9;
        let confirm = policy::command(&arguments.state.state, "confirm");
        text.push_str(&format!("; they are restored in {seconds} s, unless you type: {confirm}"));
    }
    output::print(&(text + "\n"))?;
    Ok(Exit::Fine)
}

/// Starts the process that takes the policy back, and waits until it no longer depends on this terminal.
fn start_watch(state: &Path, journal: &Journal, wait: Duration) -> Result<(), Failure> {
    let started = || -> std::io::Result<()> {
        let mut watch = Command::new(std::env::current_exe()?);
        watch.args(["host", "watch", "--id", &journal.id, "--after"]);
        watch.arg(wait.as_secs_f64().to_string()).arg("--state").arg(std::path::absolute(state)?);
        watch.current_dir("/");
        let mut watch =
            watch.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        let output = watch.stdout.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
        match BufReader::new(output).read_line(&mut line)? {
            0 => Err(std::io::Error::other("it ended")),
            _ => Ok(()),
        }
    };
    started().map_err(|error| {
        let message = format!("start the process that takes the policy back: {error}");
        Failure::lacking(message, "apply it without --confirm, at the machine's console")
    })
}

fn watch(arguments: &WatchArguments) -> Result<Exit, Failure> {
    let wait = Duration::try_from_secs_f64(arguments.after)
        .map_err(|_| Failure::usage("--after takes seconds", "use suimon host apply --confirm"))?;
    // A terminal that is closed sends SIGHUP to its own session only.
    nix::unistd::setsid().map_err(|errno| {
        Failure::lacking(format!("leave the terminal's session: {errno}"), "run it as root")
    })?;
    let watcher = Watcher::new(&arguments.state.state, &arguments.id)?;
    output::print("ready\n")?;
    watcher.revert_after(wait)?;
    Ok(Exit::Fine)
}

fn confirm(state: &Path) -> Result<Exit, Failure> {
    require_root("confirm")?;
    let origin = policy::confirm(&Store::lock(state, "confirm")?)?;
    output::print(&format!("host {} of {} stays applied\n", origin.host, origin.file))?;
    Ok(Exit::Fine)
}

fn status(arguments: &StatusArguments) -> Result<Exit, Failure> {
    require_root("status")?;
    let folder = &arguments.state.state;
    let status = Status::read(folder)?;
    // Meanwhile, some settings are as before and some are not.
    let settled = status.journal.as_ref().filter(|_| status.running.is_none());
    let drift = settled.map(policy::drift).transpose()?.unwrap_or_default();
    let message = policy::message(folder);
    match arguments.json {
        true => output::print_json(&render::status_json(&status, &drift, message))?,
        false => output::print(&render::status(folder, &status, &drift, message))?,
    }
    Ok(match status.running {
        Some(_) => Exit::Usage,
        None => Exit::met(status.is_settled() && drift.is_empty()),
    })
}

fn rollback(arguments: &RollbackArguments) -> Result<Exit, Failure> {
    require_root("rollback")?;
    let store = Store::lock(&arguments.state.state, "rollback")?;
    let reverted = policy::rollback(&store, arguments.force, arguments.keep)?;
    output::print(&render::reverted(&reverted))?;
    Ok(Exit::met(reverted.drift.is_empty()))
}
