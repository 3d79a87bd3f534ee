//! `suimon linux build`: builds the guest kernel, and prints its path.

use std::path::PathBuf;

use clap::Args;
use guest::build::{self, Request, Stop};
use guest::{Kernel, built};

use super::status::document;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::{interruption, output};

/// Arguments of `linux build`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Build it even if it is already built
    #[arg(long)]
    rebuild: bool,
    /// A tarball of the Linux 6.12 source [default: Debian's package, fetched unless it is installed]
    #[arg(long, value_name = "TARBALL")]
    source: Option<PathBuf>,
    /// Number of files to compile at once [default: the number of CPUs]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print no progress
    #[arg(short, long)]
    quiet: bool,
}

/// Builds the kernel if it is not built, and prints its path.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if !cfg!(target_arch = "x86_64") {
        let message = "user-mode Linux runs on x86-64 only";
        return Err(Failure::lacking(message, "build it on an x86-64 machine"));
    }
    let built = built::newest()?.filter(|_| !arguments.rebuild);
    if let Some(kernel) = built {
        arguments.note("already built; --rebuild builds it again");
        return arguments.print(&kernel);
    }
    let interrupted = interruption::watch()?;
    let progress = Progress::of_work("compiling Linux", build::files(), arguments.quiet);
    let built = build::build(&Request {
        source: arguments.source.as_deref(),
        jobs: arguments.jobs,
        interrupted: &interrupted,
        note: &|text| arguments.note(text),
        compiled: &|| progress.step(),
    });
    progress.finish();
    match built {
        Ok(kernel) => arguments.print(&kernel),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Interrupted) => {
            output::note("interrupted: the build was removed");
            Ok(Exit::Interrupted)
        }
    }
}

impl Arguments {
    fn note(&self, text: &str) {
        if !self.quiet {
            output::note(text);
        }
    }

    fn print(&self, kernel: &Kernel) -> Result<Exit, Failure> {
        if self.json {
            output::print_json(&document(Some(kernel), &[])?)?;
        } else {
            output::print(&format!("{}\n", kernel.binary.display()))?;
        }
        Ok(Exit::Fine)
    }
}
