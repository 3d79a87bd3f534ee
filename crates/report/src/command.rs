//! The command line that reproduces a report's results.

use super::Section;
use record::folder::SCENARIO;

impl Section {
    /// Adds the line to type. If it names a run folder's own scenario, it is typed in that folder.
    pub fn command(&mut self, command: &[String]) {
        if command.iter().any(|word| word == SCENARIO) {
            self.paragraph("In the folder of this page:");
        }
        self.code(&shell(command));
        // The page has the same bytes in any folder, so the line cannot name this one.
        let has_folder = command.iter().any(|word| word == "--out");
        if matches!(command, [_, verb, ..] if verb == "run" || verb == "sweep") && !has_folder {
            self.paragraph(
                "Add --out FOLDER, with the folder of this page, to write the results here again.",
            );
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
    fn the_line_to_type_says_how_to_choose_its_folder() {
        let body = |words: &[&str]| {
            let mut section = Section::new("Run it again");
            section.command(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
            section.body
        };
        assert!(body(&["suimon", "run", "a.toml"]).contains("Add --out FOLDER"));
        assert!(body(&["suimon", "sweep", "a.toml", "--seeds", "1..2"]).contains("Add --out"));
        assert!(!body(&["suimon", "compare", "a", "b"]).contains("--out"));
    }
}
