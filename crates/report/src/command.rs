//! The command line that reproduces a report's results.

use std::fmt::Write;

use super::{Section, escape};
use record::folder::SCENARIO;

/// The commands that write a folder with a report.
const RUNNING: [&str; 3] = ["run", "sweep", "paper"];

impl Section {
    /// Adds the line to type. If it names a run folder's own scenario, it is typed in that folder.
    pub fn command(&mut self, command: &[String]) {
        let line = escape(&shell(command));
        let here = command.iter().any(|word| word == SCENARIO);
        let runs = matches!(command, [_, verb, ..] if RUNNING.contains(&verb.as_str()));
        let out = match (runs && !command.iter().any(|word| word == "--out"), here) {
            (false, _) => "",
            (true, true) => " --out .",
            // The page has the same bytes in any folder: its script writes the name of the one that it is in.
            (true, false) => " --out <span class=\"folder\">FOLDER</span>",
        };
        if here {
            self.paragraph("In the folder of this page:");
        }
        let _ = writeln!(self.body, "<pre>{line}{out}</pre>");
        if runs && !here && !out.is_empty() {
            let _ =
                writeln!(self.body, "<p class=\"where\">FOLDER is the folder of this page.</p>");
        }
    }
}

/// A command line as a shell takes it.
fn shell(command: &[String]) -> String {
    command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_to_type_has_the_folder_of_its_page() {
        let body = |words: &[&str]| {
            let mut section = Section::new("Run it again");
            section.command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
            section.body
        };
        let out = " --out <span class=\"folder\">FOLDER</span></pre>";
        assert!(body(&["suimon", "run", "a b.toml"]).contains(&format!("run 'a b.toml'{out}")));
        assert!(body(&["suimon", "sweep", "a.toml", "--seeds", "1..2"]).contains(out));
        assert!(body(&["suimon", "paper", "p1", "--only", "F8"]).contains(out));
        assert!(!body(&["suimon", "compare", "a", "b"]).contains("--out"));
        let lock = body(&["suimon", "run", SCENARIO]);
        assert!(lock.contains("toml --out .</pre>") && !lock.contains("FOLDER"), "{lock}");
    }
}
