//! `suimon completions`: shell completions, generated from the definitions that parse the command line.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Print shell completions
#[derive(Debug, Args)]
#[command(after_help = "\
Bash:  suimon completions bash > ~/.local/share/bash-completion/completions/suimon
Zsh:   suimon completions zsh > ~/.zfunc/_suimon, with ~/.zfunc in fpath
Fish:  suimon completions fish > ~/.config/fish/completions/suimon.fish")]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints a shell's completion script.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let mut command = crate::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "suimon", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Fine)
}
