//! `suimon schema`: the JSON Schema of scenarios, by which editors complete and check them.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// What the file is called beside scenarios that `suimon init` writes.
pub(crate) const SCHEMA: &str = "scenario.schema.json";

/// What `schema` is told.
#[derive(Debug, Args)]
#[command(after_help = "\
Editors find it by a scenario's first line: #:schema scenario.schema.json
`suimon init` writes that line where the file lies beside the scenario.")]
pub(crate) struct Arguments {
    /// The file to write, such as scenario.schema.json beside scenarios; stdout unless given
    file: Option<PathBuf>,
}

/// Writes it, over an older one but over nothing else.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let text = output::json(scenario::schema()) + "\n";
    let Some(file) = arguments.file.as_deref().filter(|file| *file != Path::new("-")) else {
        output::print(&text)?;
        return Ok(Exit::Fine);
    };
    if file.exists() && !is_schema(file) {
        let message = format!("{} is there already, and is no JSON Schema", file.display());
        return Err(Failure::usage(message, "name another file, or remove it first"));
    }
    std::fs::write(file, text).map_err(Failure::unwritten(file))?;
    let beside = file.file_name().unwrap_or_default().display();
    output::print(&format!(
        "{}: written; first line of a scenario beside it: #:schema {beside}\n",
        file.display()
    ))?;
    Ok(Exit::Fine)
}

/// Whether it is a schema of scenarios, of this version or another one.
fn is_schema(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let (ours, found) = (scenario::schema(), serde_json::from_str::<serde_json::Value>(&text));
    let same = |key: &str| found.as_ref().is_ok_and(|json| json.get(key) == ours.get(key));
    same("$schema") && same("title")
}

/// The line that names the schema to editors, if it lies beside `scenario`.
pub(crate) fn line_for(scenario: &Path) -> String {
    if scenario.with_file_name(SCHEMA).is_file() {
        format!("#:schema {SCHEMA}\n")
    } else {
        String::new()
    }
}
