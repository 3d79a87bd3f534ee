//! The command line: one file per verb. Results go to stdout, everything else to stderr.

mod allocator;
mod check;
mod compare;
mod completions;
mod cost;
mod demo;
mod doctor;
mod driver;
mod drivers;
mod editor;
mod excerpt;
mod exit;
mod export;
mod failure;
mod guest_program;
mod host;
mod init;
mod interruption;
mod json;
mod lab;
mod linux;
mod list;
mod man;
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

/// The verbs: each is a file with `Arguments`, whose doc comment is its help, and `run`.
macro_rules! verbs {
    ($($verb:ident: $($file:ident)::+,)*) => {
        #[derive(Debug, Subcommand)]
        enum Verb {
            $($verb($($file)::+::Arguments),)*
        }

        impl Verb {
            fn run(&self) -> Result<Exit, Failure> {
                match self {
                    $(Self::$verb(arguments) => $($file)::+::run(arguments),)*
                }
            }
        }
    };
}

verbs! {
    Demo: demo,
    Run: run,
    Sweep: sweep,
    Lab: lab,
    Router: router,
    Host: host,
    Top: top,
    Check: check,
    Compare: compare,
    Report: report,
    Export: export,
    Paper: paper,
    Init: init,
    List: list,
    Cost: cost,
    Send: transfer::send,
    Recv: transfer::recv,
    Keygen: transfer::keygen,
    Mpi: mpi,
    Linux: linux,
    Guest: guest_program,
    Doctor: doctor,
    Drivers: drivers,
    Schema: editor,
    Completions: completions,
    Man: man,
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
    arguments.verb.run().unwrap_or_else(|failure| failure::report(&failure)).into()
}
