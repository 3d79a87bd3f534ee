//! `suimon completions` and `suimon man`: shell completions and man pages, generated from the definitions that
//! parse the command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "\
Bash:  suimon completions bash > ~/.local/share/bash-completion/completions/suimon
Zsh:   suimon completions zsh > ~/.zfunc/_suimon, with ~/.zfunc in fpath
Fish:  suimon completions fish > ~/.config/fish/completions/suimon.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Folder for suimon.1 and a page for each subcommand, such as ~/.local/share/man/man1 [default: suimon.1
    /// goes to stdout: suimon man | man -l -]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints a shell's completion script.
pub(crate) fn completions(arguments: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let mut command = crate::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "suimon", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}

/// Prints the main page, or writes all pages.
pub(crate) fn man(arguments: &Man) -> Result<Exit, Failure> {
    let command = crate::Arguments::command();
    if let Some(folder) = &arguments.folder {
        std::fs::create_dir_all(folder)
            .and_then(|()| clap_mangen::generate_to(command, folder))
            .map_err(Failure::folder(folder))?;
        output::print(&format!(
            "{0}: man pages written; next: man -l {0}/suimon.1\n",
            folder.display()
        ))?;
        return Ok(Exit::Fine);
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command).render(&mut page);
    rendered.map_err(Failure::file("man page".as_ref()))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Fine)
}
