//! The catalogue of congestion control: a page for each algorithm, from its registry entry, the initial comment of
//! its C file, its parameters and its example.

use std::fmt::Write;

use base::setting::Value;
use congestion::Algorithm;
use serde::Serialize;

use super::{Example, Parameter, Unknown, list, paragraph, parameter, write_example};
use crate::congestion::of_parameter;
use crate::nearest;
use crate::queue::sentence;
use crate::templates::without_schema;

/// The folder of the examples, from the root of the repository.
const EXAMPLES: &str = "scenarios/congestion";

/// A page of the catalogue.
#[derive(Clone, Debug, Serialize)]
pub struct AlgorithmPage {
    /// The algorithm's name.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Its rules, their sources and departures from them, in Markdown.
    pub about: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// A scenario that uses it.
    pub example: Example,
}

/// The page of the algorithm of that name.
///
/// # Errors
///
/// A name that is not in the registry.
pub fn algorithm(name: &str) -> Result<AlgorithmPage, Unknown> {
    let Some(algorithm) = Algorithm::by_name(name) else {
        let help = nearest::suggest(name, Algorithm::all().iter().map(Algorithm::name));
        return Err(Unknown { what: "congestion control algorithm", name: name.to_owned(), help });
    };
    let name = algorithm.name();
    let parameter = |set: &'static congestion::Parameter| {
        parameter(&of_parameter(set), Some(Value::Count(set.default().into())))
    };
    Ok(AlgorithmPage {
        name,
        summary: algorithm.summary(),
        about: algorithm.about().collect::<Vec<_>>().join("\n"),
        parameters: algorithm.parameters().iter().map(parameter).collect(),
        example: Example::new(EXAMPLES, name, without_schema(algorithm.example())),
    })
}

impl AlgorithmPage {
    /// The page in Markdown, ending in a newline.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", self.name);
        paragraph(&mut text, &sentence(self.summary));
        let _ = writeln!(text, "{}\n", self.about);
        text += "## Parameters\n\n";
        if !self.parameters.is_empty() {
            let place = format!(
                "In `congestion.{0}` of a flow: `congestion = {{ {0} = {{ … }} }}`.",
                self.name
            );
            paragraph(&mut text, &place);
        }
        list(&mut text, &self.parameters);
        write_example(&mut text, &self.example);
        text
    }
}

/// The index in Markdown: every algorithm with a link to its page.
pub fn algorithms() -> String {
    let mut text = String::from("# Congestion control\n\n");
    paragraph(
        &mut text,
        "The congestion control algorithms that a flow can use. Each is one C file, compiled for the \
         simulator and for the kernel. Each page has the algorithm's rules, its sources, its departures \
         from them, what can be set, and an example that runs. `suimon list algorithms NAME` prints the \
         same page. The pages are generated from the sources: `UPDATE_CATALOGUE=1 cargo test -p scenario \
         --test it catalogue` writes them again.",
    );
    text += "| algorithm | what it does |\n| --- | --- |\n";
    for algorithm in Algorithm::all() {
        let name = algorithm.name();
        let _ = writeln!(text, "| [`{name}`]({name}.md) | {} |", algorithm.summary());
    }
    text
}
