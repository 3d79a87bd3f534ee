//! The command line: one file per verb. Results go to stdout, everything else to stderr.

mod allocator;
mod check;
mod compare;
mod cost;
mod demo;
mod doctor;
mod driver;
mod editor;
mod excerpt;
mod exit;
mod export;
mod failure;
mod guest_program;
mod host;
mod init;
mod interruption;
mod lab;
mod linux;
mod list;
mod manual;
mod metrics;
mod mpi;
mod output;
mod paper;
mod port;
mod progress;
mod report;
mod router;
mod run;
mod run_args;
mod sanitise;
mod scenario_args;
mod sweep;
mod table;
mod top;
mod transfer;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::failure::Failure;

/// The command line of `suimon`.
#[derive(Debug, Parser)]
#[command(name = "suimon", version, about, long_about = None, after_help = exit::HELP)]
#[command(disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show in a few seconds what pacing does: a run, a plot, a report
    Demo(demo::Arguments),
    /// Run a scenario, or every point of its sweep
    Run(run::Arguments),
    /// Run a grid of settings and seeds into one table and report; resumes an interrupted sweep
    Sweep(sweep::Arguments),
    /// Open a shell or run commands on a scenario's hosts, with real packets or in virtual time
    Lab(lab::Arguments),
    /// Bridge two interfaces of this machine through a scenario's router
    Router(router::Arguments),
    /// Apply the policy of a scenario's host to this machine, watch it, and take it back
    Host(host::Arguments),
    /// Watch classes and flows of a run in progress, a finished run or a router
    Top(top::Arguments),
    /// Check a scenario for errors without running it
    Check(check::Arguments),
    /// Compare runs side by side
    Compare(compare::Arguments),
    /// Render the report of a finished run again
    Report(report::Arguments),
    /// Write the tables of a run or a sweep as CSV or JSON
    Export(export::Arguments),
    /// Reproduce a paper's experiments and compare them with its published values
    Paper(paper::Arguments),
    /// Write a commented scenario to start from
    Init(init::Arguments),
    /// List algorithms, disciplines, profiles, probes, papers and templates
    List(list::Arguments),
    /// Measure the cost of queueing disciplines and of host operations on this machine
    Cost(cost::Arguments),
    /// Send files and folders to a machine that runs `suimon recv`, at the path's rate
    Send(transfer::send::Arguments),
    /// Receive files from `suimon send`, encrypted and verified
    Recv(transfer::recv::Arguments),
    /// Create a private key for transfers, or print its public key
    Keygen(transfer::keygen::Arguments),
    /// Run and record MPI programs; enable, disable and report paced restart for them
    Mpi(mpi::Arguments),
    /// Build the guest kernel (Linux on the simulator's clock), or show its status
    Linux(linux::Arguments),
    /// Run as init of a guest kernel (internal)
    #[command(hide = true)]
    Guest(guest_program::Arguments),
    /// Report what this machine supports, and the commands that install what is missing
    Doctor(doctor::Arguments),
    /// Write the JSON Schema of scenarios, for editors
    Schema(editor::Arguments),
    /// Print shell completions
    Completions(manual::Completions),
    /// Print the man page, or write one for each subcommand
    Man(manual::Man),
}

impl Verb {
    fn run(&self) -> Result<Exit, Failure> {
        match self {
            Self::Run(arguments) => run::run(arguments),
            Self::Sweep(arguments) => sweep::run(arguments),
            Self::Lab(arguments) => lab::run(arguments),
            Self::Router(arguments) => router::run(arguments),
            Self::Host(arguments) => host::run(arguments),
            Self::Top(arguments) => top::run(arguments),
            Self::Check(arguments) => check::run(arguments),
            Self::Compare(arguments) => compare::run(arguments),
            Self::Report(arguments) => report::run(arguments),
            Self::Export(arguments) => export::run(arguments),
            Self::Paper(arguments) => paper::run(arguments),
            Self::Init(arguments) => init::run(arguments),
            Self::List(arguments) => list::run(arguments),
            Self::Cost(arguments) => cost::run(arguments),
            Self::Send(arguments) => transfer::send::run(arguments),
            Self::Recv(arguments) => transfer::recv::run(arguments),
            Self::Keygen(arguments) => transfer::keygen::run(arguments),
            Self::Demo(arguments) => demo::run(arguments),
            Self::Mpi(arguments) => mpi::run(arguments),
            Self::Linux(arguments) => linux::run(arguments),
            Self::Guest(arguments) => guest_program::run(arguments),
            Self::Doctor(arguments) => doctor::run(arguments),
            Self::Schema(arguments) => editor::run(arguments),
            Self::Completions(arguments) => manual::completions(arguments),
            Self::Man(arguments) => manual::man(arguments),
        }
    }
}

/// Prints what is wrong with the command line, or the help that it asks for.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().ansi().to_string();
    // If stdout or stderr itself fails, no place is left to report it.
    let _ = if error.use_stderr() { output::complain(&text) } else { output::print(&text).is_ok() };
    std::process::exit(error.exit_code())
}

fn main() -> ExitCode {
    exit::take_over_panics();
    let arguments = Arguments::try_parse().unwrap_or_else(|error| refuse(&error));
    arguments.verb.run().unwrap_or_else(|failure| failure.report()).into()
}
