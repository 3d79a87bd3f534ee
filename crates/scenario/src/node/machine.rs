//! Machines with known costs: a file each in `machines/`, and files that a scenario names.
//!
//! A file has settings of `[host.NAME.processor]`, one per line, with their sources in comments.

use base::setting::Settings;
use network::host::Processor as Costs;

use super::processor::{MACHINE, Processor};
use crate::diagnostic::{Errors, Problems, Source, Span};
use crate::setting::Declared;
use crate::{included, nearest};

/// Name and file.
macro_rules! machines {
    ($($name:literal)+) => {
        /// Every predefined machine.
        pub(crate) const MACHINES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../machines/", $name, ".toml")))),+];
    };
}

machines! { "ideal" "pentium-4-e1000" "pentium-4-linux-2.4" "pentium-ii-266" "pentium-iii-xeon-550" }

/// The costs of a machine that a scenario names, or of a file.
pub(super) fn read(text: &str, span: &Span, problems: &mut Problems) -> Option<Costs> {
    let (name, file) = match text.strip_prefix(included::FILE) {
        // A missing text was reported already.
        Some(file) => file.split_once('\n')?,
        None => match MACHINES.iter().find(|(name, _)| *name == text) {
            Some(&machine) => machine,
            None => {
                let known = MACHINES.iter().map(|(name, _)| *name);
                let message = format!("there is no machine `{text}`");
                problems.push(span, message, nearest::suggest(text, known));
                return None;
            }
        },
    };
    let costs = parse(name, file);
    costs.map_err(|Wrong { message, help }| problems.push(span, message, help)).ok()
}

/// An error in a file, with its place first, and the remedy.
#[derive(Debug, PartialEq)]
struct Wrong {
    message: String,
    help: String,
}

/// The costs in a machine's file.
fn parse(name: &str, text: &str) -> Result<Costs, Wrong> {
    let mut problems = Problems::default();
    let costs = match toml::from_str::<Declared<Processor>>(text) {
        Ok(table) => read_table(&table, &mut problems),
        Err(error) => {
            let help = "write settings of `processor`, one per line: memory_copy = \"1 GB/s\"";
            problems.push(&error.span().unwrap_or_default(), error.message(), help);
            None
        }
    };
    let wrong = |errors: Errors| {
        let first = &errors.diagnostics()[0];
        let place = format!("{}:{}:{}", first.name, first.line, first.column);
        Wrong { message: format!("{place}: {}", first.message), help: first.help.clone() }
    };
    problems.into_result(&Source::new(name, text)).map_err(wrong)?;
    Ok(costs.unwrap_or_default())
}

fn read_table(table: &Declared<Processor>, problems: &mut Problems) -> Option<Costs> {
    let settings = Costs::FREE.settings();
    let unknown = table.unknown().or_else(|| table.name(MACHINE.name));
    if let Some(unknown) = unknown {
        let known = settings.iter().map(|setting| setting.name);
        let message = format!("there is no setting `{}`", unknown.text);
        problems.push(&unknown.span, message, nearest::suggest(&unknown.text, known));
        return None;
    }
    table.read(problems).map(|processor| processor.costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_can_be_read() {
        for (name, text) in MACHINES {
            assert!(parse(name, text).is_ok(), "{:?}", parse(name, text));
            assert!(text.starts_with('#'), "{name} says first what it is and where it is from");
        }
        assert_eq!(parse("ideal", MACHINES[0].1), Ok(Costs::FREE));
    }

    #[test]
    fn what_is_wrong_in_a_file_is_said_with_its_place() {
        let said = |text: &str| parse("m.toml", text).expect_err(text);
        let unknown = said("# a machine\nmemory_copi = \"1 GB/s\"\n");
        assert_eq!(unknown.message, "m.toml:2:1: there is no setting `memory_copi`");
        assert_eq!(unknown.help, "did you mean `memory_copy`?");
        assert_eq!(
            said("machine = \"ideal\"").message,
            "m.toml:1:1: there is no setting `machine`"
        );
        let unit = said("\n\nmemory_copy = \"1 GB\"");
        assert_eq!(unit.message, "m.toml:3:15: `GB` is not a unit of rate");
        assert!(said("memory_copy = ").message.starts_with("m.toml:1:"));
    }
}
