//! `suimon keygen`: a permanent key.

use std::path::PathBuf;

use ::transfer::PrivateKey;
use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Create a private key for transfers, or print its public key
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The file of the private key; created if it is missing
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Prints the public key of a private key in a file, and creates the private key if the file is missing.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let key = if arguments.file.exists() {
        PrivateKey::load(&arguments.file)?
    } else {
        let key = PrivateKey::generate()?;
        key.save(&arguments.file)?;
        key
    };
    let public = key.public().to_string();
    if arguments.json {
        output::print_json(&json!({ "public": public }))?;
    } else {
        output::print(&format!("{public}\n"))?;
    }
    Ok(Exit::Fine)
}
