//! The command line: one file per verb. Results go to stdout, everything else to stderr.

mod check;
mod compare;
mod cost;
mod demo;
mod doctor;
mod driver;
mod editor;
mod excerpt;
mod exit;
mod failure;
mod guest_program;
mod init;
mod interruption;
mod lab;
mod linux;
mod list;
mod manual;
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

/// What is typed.
#[derive(Debug, Parser)]
#[command(name = "suimon", version, about, long_about = None, after_help = exit::HELP)]
#[command(disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// See in a few seconds what pacing does: a run, a picture, a report
    Demo(demo::Arguments),
    /// Simulate a scenario, or every point of its sweep
    Run(run::Arguments),
    /// Run a grid of settings and seeds into one table and report, going on where it was interrupted
    Sweep(sweep::Arguments),
    /// Work by hand in a scenario's hosts, on real packets or in virtual time
    Lab(lab::Arguments),
    /// Bridge two interfaces of this machine through a scenario's router
    Router(router::Arguments),
    /// Watch classes and flows: of a run under way or finished, or of a router
    Top(top::Arguments),
    /// Say what is wrong with a scenario, without running it
    Check(check::Arguments),
    /// Lay runs of any driver side by side, with their differences
    Compare(compare::Arguments),
    /// Render the report of a finished run again
    Report(report::Arguments),
    /// Run a paper's experiments and hold them against its published figures
    Paper(paper::Arguments),
    /// Write a commented scenario to start from
    Init(init::Arguments),
    /// List what a scenario can name
    List(list::Arguments),
    /// Measure what a queueing discipline costs a packet on this machine
    Cost(cost::Arguments),
    /// Send files and folders to a machine where `recv` waits, at the path's rate
    Send(transfer::send::Arguments),
    /// Receive what `send` sends, encrypted and verified
    Recv(transfer::recv::Arguments),
    /// Make a key for transfers, or print its public part
    Keygen(transfer::keygen::Arguments),
    /// Record real MPI programs
    Mpi(mpi::Arguments),
    /// Build the guest kernel, Linux on the simulator's clock, or say whether it is built
    Linux(linux::Arguments),
    /// Be the first program of a guest kernel
    #[command(hide = true)]
    Guest(guest_program::Arguments),
    /// Say what this machine can do, and what to type for what it cannot
    Doctor(doctor::Arguments),
    /// Write the JSON Schema of scenarios, for editors
    Schema(editor::Arguments),
    /// Print the completions of a shell
    Completions(manual::Completions),
    /// Print the man page, or write one for each verb
    Man(manual::Man),
}

impl Verb {
    fn run(&self) -> Result<Exit, Failure> {
        match self {
            Self::Run(arguments) => run::run(arguments),
            Self::Sweep(arguments) => sweep::run(arguments),
            Self::Lab(arguments) => lab::run(arguments),
            Self::Router(arguments) => router::run(arguments),
            Self::Top(arguments) => top::run(arguments),
            Self::Check(arguments) => check::run(arguments),
            Self::Compare(arguments) => compare::run(arguments),
            Self::Report(arguments) => report::run(arguments),
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

/// Tells what is wrong with the command line, or the help that it asks for.
fn refuse(error: &clap::Error) -> ! {
    let text = error.render().ansi().to_string();
    // Nowhere is left to tell that stdout or stderr itself failed.
    let _ = if error.use_stderr() { output::complain(&text) } else { output::print(&text).is_ok() };
    std::process::exit(error.exit_code())
}

fn main() -> ExitCode {
    exit::take_over_panics();
    let arguments = Arguments::try_parse().unwrap_or_else(|error| refuse(&error));
    arguments.verb.run().unwrap_or_else(|failure| failure.report()).into()
}
