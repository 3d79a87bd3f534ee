//! The input of an experiment: a scenario, and changes to it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use scenario::{Document, Plan, Run};

use crate::driver::DriverChoice;
use crate::error::Error;
use crate::execution::{Job, Outcome};
use crate::folders;
use crate::progress::Steering;
use crate::sweep::{Keep, MEASURE, Sweep, SweepOptions, SweepOutcome};

/// A scenario and its changes.
#[derive(Clone, Debug, Default)]
pub struct Experiment {
    /// The scenario's file. The files that it names are looked up in its folder.
    pub file: PathBuf,
    /// The scenario's text, instead of the file's contents.
    pub text: Option<String>,
    /// Settings that override the file, each `PATH=VALUE`.
    pub set: Vec<String>,
    /// Settings to vary, each `PATH=A,B,..` or a range, `PATH=A..B/COUNT`.
    pub vary: Vec<String>,
    /// The seed of everything random, instead of the file's.
    pub seed: Option<u64>,
    /// Seeds from first to last, `1..8`: one run for each.
    pub seeds: Option<String>,
    /// Files that the scenario names, by name, instead of those in its folder.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Experiment {
    /// The scenario in `file`, unchanged.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into(), ..Self::default() }
    }

    /// Reads the scenario's file and those that it names, so that it runs on machines without them.
    ///
    /// # Errors
    /// Those of [`Experiment::runs`].
    pub fn load(&mut self) -> Result<(), Error> {
        self.text = Some(self.read_scenario()?);
        let document = self.document()?;
        for name in document.files().into_iter().chain(document.traces()) {
            let file = self.read_named(&name)?;
            self.files.insert(name, file);
        }
        Ok(())
    }

    /// Every run of the grid; a single one without parameters if nothing is varied.
    ///
    /// # Errors
    /// A file that cannot be read, a scenario or a change that is wrong.
    pub fn runs(&self) -> Result<Vec<Run>, Error> {
        Ok(self.document()?.runs()?)
    }

    /// The plan of the only run.
    ///
    /// # Errors
    /// Those of [`Experiment::runs`], and a grid.
    pub fn plan(&self) -> Result<Plan, Error> {
        Ok(self.only_run()?.plan()?)
    }

    fn only_run(&self) -> Result<Run, Error> {
        let mut runs = self.runs()?;
        match (runs.pop(), runs.len()) {
            (Some(run), 0) => Ok(run),
            (_, others) => {
                let (file, number) = (self.file.display(), others + 1);
                let message = format!("{file} is a sweep of {number} runs");
                Err(Error::usage(message, "choose one of them with --set"))
            }
        }
    }

    /// Runs it once, into the folder `out`, by default `runs/NAME-SEED`. For real packets, the process must
    /// still have a single thread, or root's privileges.
    ///
    /// # Errors
    /// Those of [`Experiment::runs`], a grid, a plan that the driver refuses, an expectation of a quantity that
    /// it will not have, a folder that cannot be written. A lab that broke later, or a full disk, is the
    /// outcome's failure.
    pub fn run(
        &self,
        driver: DriverChoice,
        out: Option<PathBuf>,
        steering: Steering<'_>,
    ) -> Result<Outcome, Error> {
        driver.acquire()?;
        let run = self.only_run()?;
        let usual = |plan: &Plan| folders::of_run(&self.name(), plan.seed, driver);
        let job = self.job(&run, driver, |plan| out.unwrap_or_else(|| usual(plan)))?;
        job.check()?;
        job.execute(steering)
    }

    /// Runs every point of its grid that an earlier sweep has not done, and writes table and report of all.
    /// Results do not depend on the number of workers. The lab runs in real time, so it needs a single worker.
    ///
    /// # Errors
    /// Those of [`Experiment::run`], and a folder with another grid. An error in a run is the outcome's
    /// failure.
    pub fn sweep(
        &self,
        options: SweepOptions,
        workers: NonZeroUsize,
        steering: Steering<'_>,
    ) -> Result<SweepOutcome, Error> {
        options.driver.acquire()?;
        let sweep = Sweep::new(self, self.runs()?, options, steering.interrupted)?;
        sweep.open()?.execute(workers, steering)
    }

    /// The job for one of its runs: `folder` returns the folder for a plan.
    ///
    /// # Errors
    /// A scenario that is wrong at that point of the grid, a plan that the driver refuses.
    pub fn job(
        &self,
        run: &Run,
        driver: DriverChoice,
        folder: impl FnOnce(&Plan) -> PathBuf,
    ) -> Result<Job, Error> {
        let mut plan = run.plan()?;
        driver.prepare(&mut plan);
        let lock = scenario::lock(&plan);
        driver.check(&plan)?;
        let left_out = driver.leave_out(&mut plan);
        let command = [self.command(&run.parameters), driver.words()].concat();
        Ok(Job { driver, folder: folder(&plan), lock, left_out, command, plan })
    }

    /// The scenario with the changes and the files that it names, without a choice among the runs of a grid.
    ///
    /// # Errors
    /// A file that cannot be read, a change that is wrong.
    pub fn document(&self) -> Result<Document, Error> {
        let text = self.read_scenario()?;
        let mut document = Document::parse(&self.file.to_string_lossy(), &text)?;
        for assignment in &self.set {
            document.set(assignment)?;
        }
        if let Some(seed) = self.seed {
            document.set(&format!("seed={seed}"))?;
        }
        for assignment in &self.vary {
            document.vary(assignment)?;
        }
        if let Some(range) = &self.seeds {
            document.seeds(range)?;
        }
        for name in document.files() {
            let text = read_text(&*self.read_named(&name)?)
                .map_err(record::error::file(&self.beside(&name)))?;
            document.supply(name, text);
        }
        for name in document.traces() {
            let path = self.beside(&name);
            let trace = scenario::read_trace(&name, &self.read_named(&name)?).map_err(invalid);
            let trace = trace.map_err(record::error::file(&path))?.into();
            document
                .supply_trace(name, trace)
                .map_err(invalid)
                .map_err(record::error::file(&path))?;
        }
        Ok(document)
    }

    /// The scenario's text.
    fn read_scenario(&self) -> Result<String, Error> {
        match &self.text {
            Some(text) => Ok(text.clone()),
            None => {
                let read = open(&self.file).and_then(read_text);
                Ok(read.map_err(record::error::file(&self.file))?)
            }
        }
    }

    /// The contents of a file that the scenario names.
    fn read_named(&self, name: &str) -> Result<Vec<u8>, Error> {
        if let Some(file) = self.files.get(name) {
            return Ok(file.clone());
        }
        let path = self.beside(name);
        let mut file = Vec::new();
        let source = open(&path).map_err(record::error::file(&path))?;
        source.take(FILE_MAX).read_to_end(&mut file).map_err(record::error::file(&path))?;
        Ok(file)
    }

    /// The path of a file that the scenario names, relative to the scenario's folder.
    fn beside(&self, name: &str) -> PathBuf {
        self.file.parent().map_or_else(|| name.into(), |folder| folder.join(name))
    }

    /// The name of a run: the file's name without folder and extension.
    pub fn name(&self) -> String {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.filter(|stem| stem != "-").unwrap_or_else(|| "stdin".into())
    }

    /// The command line that runs it again at one point of its grid, without options that cannot change
    /// results.
    fn command(&self, parameters: &[(String, String)]) -> Vec<String> {
        let mut words = vec!["suimon".into(), "run".into(), self.file.display().to_string()];
        let pairs = parameters.iter().map(|(path, value)| format!("{path}={value}"));
        for assignment in self.set.iter().cloned().chain(pairs) {
            words.extend(["--set".into(), assignment]);
        }
        words.extend(self.seed.into_iter().flat_map(seed_option));
        words
    }

    /// The command line that runs the whole grid again, without options that cannot change results or files.
    pub(crate) fn sweep_command(&self, measures: &[String], keep: Keep) -> Vec<String> {
        let mut words = vec!["suimon".into(), "sweep".into(), self.file.display().to_string()];
        let mut option = |name: &str, value: &str| words.extend([name.into(), value.into()]);
        self.set.iter().for_each(|assignment| option("--set", assignment));
        self.seed.iter().for_each(|seed| option("--seed", &seed.to_string()));
        self.vary.iter().for_each(|assignment| option("--vary", assignment));
        self.seeds.iter().for_each(|range| option("--seeds", range));
        if measures != [MEASURE] {
            measures.iter().for_each(|path| option("--measure", path));
        }
        if keep == Keep::Table {
            option("--keep", keep.name());
        }
        words
    }
}

fn seed_option(seed: u64) -> [String; 2] {
    ["--seed".into(), seed.to_string()]
}

/// The longest file that a scenario may name (a trace of an MPI program), bytes.
const FILE_MAX: u64 = 1 << 30;
/// The longest scenario that is read, bytes. The parser's own limit is lower and has its own message.
const BYTES_MAX: u64 = 64 << 20;

fn invalid(why: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// Opens a file or a pipe, but no device, which may have no end.
fn open(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        let why = "it is a device: name a file, or `-` for stdin";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    File::open(path)
}

/// Reads a scenario's text to its end, up to a limit.
///
/// # Errors
/// The system's error; text that is too long or not in UTF-8.
pub fn read_text(source: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        let why = format!("longer than {} MiB, the maximum of a scenario", BYTES_MAX >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    let no_text = || io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(bytes).map_err(|_| no_text())
}
