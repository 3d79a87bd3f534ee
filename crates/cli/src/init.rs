//! `suimon init`: a commented scenario to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// What `init` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The template; `suimon list templates` shows them
    template: String,
    /// The file to write, TEMPLATE.toml unless given; `-` writes to stdout
    file: Option<PathBuf>,
}

/// Writes the template, never over a file that is there.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    let wanted = &arguments.template;
    let Some(template) = scenario::template(wanted) else {
        let names: Vec<_> = scenario::TEMPLATES.iter().map(|template| template.name).collect();
        let message = format!("there is no template `{wanted}`");
        return Err(Failure::usage(message, format!("there is {}", names.join(", "))));
    };
    let file = arguments.file.clone();
    let file = file.unwrap_or_else(|| PathBuf::from(format!("{wanted}.toml")));
    if file == Path::new("-") {
        output::print(template.text)?;
        return Ok(Exit::Fine);
    }
    write_new(&file, template.text)?;
    output::print(&format!("{0}: written; next: suimon run {0}\n", file.display()))?;
    Ok(Exit::Fine)
}

fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut open) => open.write_all(text.as_bytes()).map_err(Failure::file(file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("{} is there already", file.display());
            Err(Failure::usage(message, "name another file, or remove it first"))
        }
        Err(error) => Err(Failure::file(file)(error)),
    }
}
