//! `suimon host metrics`: qdiscs, connections and the policy of this machine in Prometheus's text format.

mod textfile;

use std::net::SocketAddr;
use std::path::PathBuf;

use ::host::policy;
use clap::Args;
use experiment::metrics::{host, server};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Serve them at http://ADDRESS/metrics until Ctrl-C, such as 127.0.0.1:9764 [default: print them once]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Write them to a file for node_exporter's textfile collector; its name ends in .prom
    #[arg(long, value_name = "FILE", conflicts_with = "listen")]
    textfile: Option<PathBuf>,
    /// Write the file again and again, until Ctrl-C
    #[arg(long, value_name = "TIME", requires = "textfile", value_parser = crate::top::every)]
    every: Option<base::Duration>,
    /// The folder of the journal
    #[arg(long, value_name = "FOLDER", default_value = policy::FOLDER)]
    state: PathBuf,
}

/// Prints or serves the metrics.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if let Some(path) = &arguments.textfile {
        return textfile::write(path, arguments.every, || host::text(&arguments.state));
    }
    let Some(address) = arguments.listen else {
        output::print(&host::text(&arguments.state)?)?;
        return Ok(Exit::Fine);
    };
    let (listener, address) = server::listen(address, "--listen")?;
    output::print(&format!("http://{address}/metrics\n"))?;
    server::serve(&listener, || host::text(&arguments.state).map_err(|fault| fault.to_string()));
    Ok(Exit::Fine)
}
