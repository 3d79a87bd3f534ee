//! The catalogue: a page for each queueing discipline and each congestion control algorithm, from its registry entry,
//! settings and example.

mod algorithms;

use std::fmt::Write;

use base::setting::{Kind, Setting, Value};
use serde::Serialize;
use traffic::qdisc::{Entry, Parameters, REGISTRY};

use crate::nearest;
use crate::queue::sentence;
use crate::setting::{self, doc};
use crate::templates::without_schema;
use crate::value::{
    ActionUnit, CodePointUnit, DscpMapUnit, FractionUnit, MeasuredFractionUnit, MeasuredRateUnit,
    PcpMapUnit, PeriodUnit, PrioritiesUnit, RandomSizeUnit, RandomTimeUnit, RateLimitUnit,
    RateUnit, ShareUnit, SizeUnit, TimeUnit, Unit,
};

pub use algorithms::{AlgorithmPage, algorithm, algorithms};

/// The folder of the examples, from the root of the repository.
const EXAMPLES: &str = "scenarios/disciplines";
/// The test that runs every example, from the root of the repository. The tests of the manual require it.
const TESTED: &str = "crates/simulate/tests/runs/examples.rs";
/// The maximum line length of prose.
const COLUMNS: usize = 100;

/// A page of the catalogue.
#[derive(Clone, Debug, Serialize)]
pub struct Page {
    /// The discipline's name.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What it does, in a few sentences.
    pub what: &'static str,
    /// When to use it, and when not.
    pub when: &'static str,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// The parameters of each of its classes; `None` if it has no classes.
    pub class: Option<Vec<Parameter>>,
    /// The papers, RFCs and programs that it implements, with sections.
    pub sources: &'static [&'static str],
    /// A scenario that uses it.
    pub example: Example,
}

/// A parameter of a discipline or of its classes.
#[derive(Clone, Debug, Serialize)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The kind of its value, with the words of a choice.
    pub takes: String,
    /// Its range in words, `1 to 16`; empty without one.
    pub range: String,
    /// Whether it is required.
    pub required: bool,
    /// The default as TOML; `None` if it is not a single value. Then `doc` describes it.
    pub default: Option<String>,
    /// A description with range and source.
    pub doc: String,
    /// The notation of such a value.
    #[serde(skip)]
    written: Option<&'static str>,
}

/// A scenario that uses a discipline.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// Its file, from the root of the repository.
    pub file: String,
    /// The command that runs it, from there.
    pub command: String,
    /// The file's text.
    pub text: &'static str,
}

/// An unknown discipline or algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {what} `{name}`")]
pub struct Unknown {
    /// The kind of the unknown name.
    pub what: &'static str,
    /// The unknown name.
    pub name: String,
    /// The available names, or the one probably meant.
    pub help: String,
}

/// The page of the discipline of that name.
///
/// # Errors
///
/// A name that is not in the registry.
pub fn page(name: &str) -> Result<Page, Unknown> {
    let found = REGISTRY.iter().find(|entry| entry.name == name);
    let both = (Parameters::by_name(name), Parameters::blank(name));
    let (Some(entry), (Some(plain), Some(blank))) = (found, both) else {
        let help = nearest::suggest(name, REGISTRY.iter().map(|entry| entry.name));
        return Err(Unknown { what: "discipline", name: name.to_owned(), help });
    };
    let (plain, blank) = (plain.as_settings(), blank.as_settings());
    // A default that holds only while no other parameter is given is not the default of this parameter.
    let default =
        |name: &str| plain.get(name).filter(|value| blank.get(name).as_ref() == Some(value));
    let parameters = plain.settings().iter().map(|s| parameter(s, default(s.name))).collect();
    let class = plain.classes().map(|classes| {
        let fresh = classes.fresh();
        fresh.settings().iter().map(|s| parameter(s, fresh.get(s.name))).collect()
    });
    let Entry { name, summary, page, example } = *entry;
    let traffic::qdisc::Page { what, when, sources } = page;
    let example = Example::new(EXAMPLES, name, without_schema(example));
    Ok(Page { name, summary, what, when, parameters, class, sources, example })
}

impl Example {
    fn new(folder: &str, name: &str, text: &'static str) -> Self {
        let file = format!("{folder}/{name}.toml");
        Self { command: format!("suimon run {file}"), file, text }
    }
}

fn parameter(setting: &Setting, default: Option<Value>) -> Parameter {
    let default = default.filter(|_| !setting.required).and_then(|value| default_text(&value));
    let (takes, written) = (takes(setting.kind), written(setting.kind));
    let (name, required, range) = (setting.name, setting.required, range(setting));
    Parameter { name, takes, range, required, default, doc: doc(setting), written }
}

/// The range of a setting for its page. A count of 32 bits has no upper end there.
fn range(setting: &Setting) -> String {
    let mut range = setting.range;
    if setting.kind == Kind::Count && range.greatest == u64::from(u32::MAX) {
        range.greatest = u64::MAX;
    }
    range.text(setting.kind)
}

fn takes(kind: Kind) -> String {
    let word = match kind {
        Kind::Flag => "true or false",
        Kind::Count => "number",
        Kind::Bytes => "size",
        Kind::Rate => "rate",
        Kind::RateOrMeasured => "rate, or measured",
        Kind::Time => "time",
        Kind::Frequency => "frequency",
        Kind::Priorities => "priorities",
        Kind::Thresholds => "size, or two sizes",
        Kind::DscpMap => "priorities by code point",
        Kind::PcpMap => "priorities by received priority",
        Kind::CodePoint => "code point",
        Kind::RandomTime => "time, or a distribution",
        Kind::RandomBytes => "size, or a distribution",
        Kind::Share => "share",
        Kind::Fraction => "fraction",
        Kind::FractionOrMeasured => "fraction, or measured",
        Kind::RateLimit => "rate, or unlimited",
        Kind::TunedBytes => "size, or autotuned",
        Kind::Choice(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`\"{word}\"`")).collect();
            return words.join(" or ");
        }
        Kind::Queue => "discipline",
        Kind::Action => "action",
        Kind::Text => "name",
    };
    word.to_owned()
}

/// The units of such a value, by examples.
fn written(kind: Kind) -> Option<&'static str> {
    match kind {
        Kind::Bytes | Kind::TunedBytes | Kind::Thresholds => Some(SizeUnit::SUMMARY),
        Kind::Rate => Some(RateUnit::SUMMARY),
        Kind::RateOrMeasured => Some(MeasuredRateUnit::SUMMARY),
        Kind::Time => Some(TimeUnit::SUMMARY),
        Kind::Frequency => Some(PeriodUnit::SUMMARY),
        Kind::Priorities => Some(PrioritiesUnit::SUMMARY),
        Kind::DscpMap => Some(DscpMapUnit::SUMMARY),
        Kind::PcpMap => Some(PcpMapUnit::SUMMARY),
        Kind::CodePoint => Some(CodePointUnit::SUMMARY),
        Kind::RandomTime => Some(RandomTimeUnit::SUMMARY),
        Kind::RandomBytes => Some(RandomSizeUnit::SUMMARY),
        Kind::Share => Some(ShareUnit::SUMMARY),
        Kind::Fraction => Some(FractionUnit::SUMMARY),
        Kind::FractionOrMeasured => Some(MeasuredFractionUnit::SUMMARY),
        Kind::RateLimit => Some(RateLimitUnit::SUMMARY),
        Kind::Action => Some(ActionUnit::SUMMARY),
        Kind::Flag | Kind::Count | Kind::Choice(_) | Kind::Queue | Kind::Text => None,
    }
}

/// A default as TOML; a share to five places of a percent, because a tenth is not a whole number of 2^-32.
fn default_text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if text.is_empty() => None,
        Value::Share(share) => {
            let percent = format!("{:.5}", f64::from(share.0) * 100.0 / 2_f64.powi(32));
            Some(format!("\"{} %\"", percent.trim_end_matches('0').trim_end_matches('.')))
        }
        value => Some(setting::text(value)),
    }
}

impl Page {
    /// The page in Markdown, ending in a newline.
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n", self.name);
        paragraph(&mut text, &sentence(self.summary));
        paragraph(&mut text, self.what);
        paragraph(&mut text, &format!("**When to use it.** {}", self.when));
        text += "## Parameters\n\n";
        let place = format!("In `queue.{}` of a link or of one of its ends.", self.name);
        paragraph(&mut text, &place);
        list(&mut text, &self.parameters);
        if let Some(class) = &self.class {
            text += "## Parameters of a class\n\n";
            let place = format!(
                "In `queue.{}.class.NAME`, besides `match`, the filter of its packets, and `parent`, its parent class, if \
                 classes can be nested.",
                self.name
            );
            paragraph(&mut text, &place);
            list(&mut text, class);
        }
        units(&mut text, self.parameters.iter().chain(self.class.iter().flatten()));
        write_example(&mut text, &self.example);
        text += "\n## Sources\n\n";
        self.sources.iter().for_each(|source| wrap(&mut text, "- ", source));
        text
    }
}

/// The index of the catalogue in Markdown: every discipline with a link to its page.
pub fn index() -> String {
    let mut text = String::from("# Queueing disciplines\n\n");
    paragraph(
        &mut text,
        "The queueing disciplines that a port can have. Each page says what the discipline does, when to \
         use it, what can be set, its sources, and shows an example that runs. `suimon list disciplines \
         NAME` prints the same page. The pages are generated from the sources: `UPDATE_CATALOGUE=1 cargo \
         test -p scenario --test it catalogue` writes them again.",
    );
    text += "| discipline | what it does |\n| --- | --- |\n";
    for Entry { name, summary, .. } in REGISTRY {
        let _ = writeln!(text, "| [`{name}`]({name}.md) | {summary} |");
    }
    text
}

fn write_example(text: &mut String, Example { file, command, text: example }: &Example) {
    let _ = write!(text, "## Example\n\n`{file}`:\n\n<!-- run by: {TESTED} -->\n");
    let _ = write!(text, "```console\n$ {command}\n```\n\n```toml\n{example}```\n");
}

fn list(text: &mut String, parameters: &[Parameter]) {
    if parameters.is_empty() {
        *text += "None.\n";
    }
    for Parameter { name, takes, range, required, default, doc, .. } in parameters {
        let range = if range.is_empty() { String::new() } else { format!(", {range}") };
        let default = match default {
            _ if *required => "; required".to_owned(),
            Some(default) => format!("; default `{default}`"),
            None => String::new(),
        };
        wrap(text, "- ", &format!("`{name}` ({takes}{range}{default}): {doc}"));
    }
    text.push('\n');
}

/// The notations of the kinds of values that occur.
fn units<'p>(text: &mut String, parameters: impl Iterator<Item = &'p Parameter>) {
    let mut forms: Vec<&str> = parameters.filter_map(|parameter| parameter.written).collect();
    forms.sort_unstable();
    forms.dedup();
    if !forms.is_empty() {
        *text += "Units of these values:\n\n";
        forms.iter().for_each(|form| wrap(text, "- ", form));
        text.push('\n');
    }
}

fn paragraph(text: &mut String, words: &str) {
    wrap(text, "", words);
    text.push('\n');
}

/// Adds `words` in lines of at most [`COLUMNS`], the first line after `mark`, the others indented by its length.
fn wrap(text: &mut String, mark: &str, words: &str) {
    let mut line = mark.to_owned();
    for word in words.split_whitespace() {
        if line.len() > mark.len() && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            *text += &line;
            text.push('\n');
            line = " ".repeat(mark.len());
        }
        if line.len() > mark.len() {
            line.push(' ');
        }
        line += word;
    }
    *text += &line;
    text.push('\n');
}
