//! `suimon man`: man pages, generated from the definitions that parse the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::output;

/// Print the man page, or write one for each subcommand
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder for suimon.1 and a page for each subcommand, such as ~/.local/share/man/man1 [default: suimon.1
    /// goes to stdout: suimon man | man -l -]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints the main page, or writes all pages.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let command = crate::Arguments::command();
    if let Some(folder) = &arguments.folder {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .map_err(failure::folder(folder))?;
        output::print(&format!(
            "{0}: man pages written; next: man -l {0}/suimon.1\n",
            folder.display()
        ))?;
        return Ok(Exit::Fine);
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(failure::file("man page".as_ref()))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Fine)
}
