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
