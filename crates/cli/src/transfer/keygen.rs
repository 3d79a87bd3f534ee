//! `suimon keygen`: a key for standing use.

use std::path::PathBuf;

use ::transfer::PrivateKey;
use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// What `keygen` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The file of the private key; made if it is not there
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Prints the public key of a file's private key, which it makes if there is none.
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
