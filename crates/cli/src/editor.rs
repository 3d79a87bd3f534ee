//! `suimon schema`: the JSON Schema of scenarios; editors use it for completion and checks.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::output;

/// The name of the schema file beside a scenario, for `suimon init`.
pub(crate) const SCHEMA: &str = "scenario.schema.json";

/// Write the JSON Schema of scenarios, for editors
#[derive(Debug, Args)]
#[command(after_help = "\
Editors find it by a scenario's first line: #:schema scenario.schema.json
`suimon init` writes that line if the schema is in the scenario's folder.")]
pub(crate) struct Arguments {
    /// The file to write, such as scenario.schema.json in the scenarios' folder [default: stdout]
    file: Option<PathBuf>,
}

/// Writes the schema. Overwrites an older schema but no other file.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let text = output::json(scenario::schema()) + "\n";
    let Some(file) = arguments.file.as_deref().filter(|file| *file != Path::new("-")) else {
        output::print(&text)?;
        return Ok(Exit::Fine);
    };
    if file.exists() && !is_schema(file) {
        let message = format!("{} exists and is not the JSON Schema of scenarios", file.display());
        return Err(Failure::usage(message, "name another file, or remove it first"));
    }
    std::fs::write(file, text).map_err(failure::unwritten(file))?;
    let beside = file.file_name().unwrap_or_default().display();
    output::print(&format!(
        "{}: written; first line of a scenario in the same folder: #:schema {beside}\n",
        file.display()
    ))?;
    Ok(Exit::Fine)
}

/// Whether the file is a schema of scenarios, of any version.
fn is_schema(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let (ours, found) = (scenario::schema(), serde_json::from_str::<serde_json::Value>(&text));
    let same = |key: &str| found.as_ref().is_ok_and(|json| json.get(key) == ours.get(key));
    same("$schema") && same("title")
}

/// The line that refers editors to the schema, if it is in the folder of `scenario`.
pub(crate) fn line_for(scenario: &Path) -> String {
    if scenario.with_file_name(SCHEMA).is_file() {
        format!("#:schema {SCHEMA}\n")
    } else {
        String::new()
    }
}
