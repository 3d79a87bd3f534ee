//! Why a verb could not do its work, and how that is told.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, SourceCode};
use serde_json::{Value, json};

use crate::excerpt::Excerpt;
use crate::exit::Exit;
use crate::{output, sanitise};

/// Why a verb could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A scenario is wrong; each problem has its place.
    #[error(transparent)]
    Scenario(#[from] scenario::Errors),
    /// Results could not be written or judged.
    #[error(transparent)]
    Results(#[from] results::Error),
    /// A discipline refused its parameters.
    #[error(transparent)]
    World(#[from] simulate::Refusal),
    /// The lab could not be built, or broke.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// A discipline refused its parameters.
    #[error(transparent)]
    Discipline(#[from] traffic::qdisc::Error),
    /// The command line asks for what there is not.
    #[error("{message}\n  help: {help}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What would be right.
        help: String,
    },
    /// A file or stream failed.
    #[error("{}: {source}{}", path.display(), remedy(source))]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file or stream takes nothing.
    #[error("{}: {source}\n  help: {}", path.display(), room(source))]
    Unwritten {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A folder cannot be made or read.
    #[error("{}: {source}; {}", path.display(), results::error::remedy(source))]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no more room for results.
    #[error("{}: the disk is full: what was measured until then is kept, and told above\n  help: make room \
        there, or choose a folder on another disk with --out, and run it again", folder.display())]
    DiskFull {
        /// The run's folder.
        folder: PathBuf,
    },
    /// A paper's `published.toml`, which is part of the program, is wrong.
    #[error("papers/{paper}/published.toml: {message}")]
    Paper {
        /// The paper.
        paper: String,
        /// What is wrong.
        message: String,
    },
}

impl Failure {
    /// The command line is wrong.
    pub(crate) fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    /// A file failed that was to be read.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_owned(), source }
    }

    /// A file failed that was to be written.
    pub(crate) fn unwritten(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::Unwritten { path: path.to_owned(), source }
    }

    /// A folder failed.
    pub(crate) fn folder(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::Folder { path: path.to_owned(), source }
    }

    /// Tells it on stdout as a JSON document, of the form that `suimon check --json` has.
    pub(crate) fn print_json(&self) -> Result<Exit, Self> {
        let errors = match self {
            Self::Scenario(errors) => errors.diagnostics().iter().map(problem).collect(),
            other => {
                let text = other.to_string();
                let (message, help) = text.split_once("\n  help: ").unwrap_or((&text, ""));
                vec![json!({ "message": message, "help": help })]
            }
        };
        output::print_json(&json!({ "ok": false, "errors": errors }))?;
        Ok(self.exit())
    }

    const fn exit(&self) -> Exit {
        match self {
            Self::Results(results::Error::Io { .. } | results::Error::Busy { .. })
            | Self::DiskFull { .. }
            | Self::Unwritten { .. }
            | Self::Folder { .. } => Exit::Lacking,
            Self::Lab(lab::Error::Lacking { .. } | lab::Error::System { .. }) => Exit::Lacking,
            _ => Exit::Usage,
        }
    }

    /// Tells it on stderr.
    pub(crate) fn report(&self) -> Exit {
        match self {
            Self::Scenario(errors) => output::picture(&pictures(errors)),
            Self::Lab(_) if self.exit() == Exit::Lacking => {
                output::note(&format!(
                    "error: {self}\n  `suimon doctor` tells what this machine can do"
                ));
            }
            other => output::note(&format!("error: {other}")),
        }
        self.exit()
    }
}

/// A problem of a scenario with its place.
pub(crate) fn problem(diagnostic: &scenario::Diagnostic) -> Value {
    json!({
        "file": diagnostic.name,
        "line": diagnostic.line,
        "column": diagnostic.column,
        "message": diagnostic.message,
        "help": diagnostic.help,
    })
}

/// What a person can do about a file that cannot be used, where that is plain.
fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::NotFound => "\n  help: check the name, and the folder that it is looked for in",
        ErrorKind::IsADirectory => "\n  help: name a file in it",
        ErrorKind::InvalidData => "\n  help: give a text file in UTF-8",
        ErrorKind::PermissionDenied => {
            "\n  help: name another file, or ask for the right to it: ls -l"
        }
        _ => "",
    }
}

/// What a person can do about a file that cannot be written.
fn room(error: &std::io::Error) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room there",
        _ => "name a file in a folder that can be written",
    }
}

/// Every problem with the lines it stands in.
fn pictures(errors: &scenario::Errors) -> String {
    let colour = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(100);
    let mut text = String::new();
    for diagnostic in errors.diagnostics() {
        // Writing to a string does not fail.
        let _ = handler.render_report(&mut text, &Picture::new(diagnostic));
    }
    text
}

/// A problem as miette wants it.
#[derive(Debug)]
struct Picture {
    message: String,
    help: String,
    span: std::ops::Range<usize>,
    source: Excerpt,
}

impl Picture {
    fn new(problem: &scenario::Diagnostic) -> Self {
        let [name, message, help] = [&problem.name, &problem.message, &problem.help]
            .map(|text| sanitise::text(text).into_owned());
        let source = Excerpt::new(name, sanitise::source(&problem.text).into_owned());
        Self { message, help, span: problem.span.clone(), source }
    }
}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Picture {}

impl miette::Diagnostic for Picture {
    fn help(&self) -> Option<Box<dyn fmt::Display + '_>> {
        (!self.help.is_empty()).then(|| Box::new(&self.help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(None, self.source.shown(&self.span));
        Some(Box::new(std::iter::once(label)))
    }
}
