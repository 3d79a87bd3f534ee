//! `suimon init`: a commented scenario to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::table::Table;
use crate::{editor, output};

/// Write a commented scenario to start from
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The template [default: list the templates]
    template: Option<String>,
    /// The file to write; `-` writes to stdout [default: TEMPLATE.toml]
    file: Option<PathBuf>,
}

/// Writes the template, but never overwrites a file. Without a name, lists the templates.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let Some(wanted) = &arguments.template else {
        output::print(&list())?;
        return Ok(Exit::Fine);
    };
    let Some(template) = scenario::template(wanted) else {
        let names: Vec<_> = scenario::TEMPLATES.iter().map(|template| template.name).collect();
        let message = format!("there is no template `{wanted}`");
        return Err(Failure::usage(message, format!("choose one of {}", names.join(", "))));
    };
    let file = arguments.file.clone();
    let file = file.unwrap_or_else(|| PathBuf::from(format!("{wanted}.toml")));
    if file == Path::new("-") {
        output::print(template.text())?;
        return Ok(Exit::Fine);
    }
    // The template's comments name the file as in the repository.
    let own = format!("suimon run {}", file.display());
    let named = file.display().to_string();
    let text = template.text().replace(&format!("{wanted}.toml"), &named);
    write_new(&file, &(editor::line_for(&file) + &text))?;
    output::print(&format!("{0}: written; next: {own}\n", file.display()))?;
    Ok(Exit::Fine)
}

/// The templates and what each shows.
fn list() -> String {
    let mut table = Table::new(&["template", "what it shows"]);
    for template in scenario::TEMPLATES {
        table.row([template.name.into(), template.summary.into()]);
    }
    table.render() + "\nnext: suimon init TEMPLATE [FILE]\n"
}

fn write_new(file: &Path, text: &str) -> Result<(), Failure> {
    match OpenOptions::new().write(true).create_new(true).open(file) {
        Ok(mut open) => open.write_all(text.as_bytes()).map_err(failure::unwritten(file)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let message = format!("{} already exists", file.display());
            Err(Failure::usage(message, "name another file, or remove it first"))
        }
        Err(error) => Err(failure::unwritten(file)(error)),
    }
}
