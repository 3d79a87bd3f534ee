//! One run from plan to closed run folder.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use guest::Kernel;
use network::observer::Observer;
use record::manifest::Environment;
use record::{
    Cost, Files, LabReport, Manifest, Recorder, Recording, RunFolder, Summary, Totals, Verdict,
};
use report::RunReport;
use report::run::Lab as ReportOfLab;
use scenario::Plan;
use serde_json::{Value, json};
use simulate::guests::Findings;
use traffic::Instant;

use crate::driver::{Driver, Fabric};
use crate::error::Error;
use crate::forecast;
use crate::live::Live;
use crate::meter::Meter;
use crate::progress::Steering;

/// A run about to start.
#[derive(Debug)]
pub struct Job {
    /// By whom.
    pub driver: Driver,
    /// What is run.
    pub plan: Plan,
    /// The scenario with every default written out.
    pub lock: String,
    /// Where its files go.
    pub folder: PathBuf,
    /// The words that run it again.
    pub command: Vec<String>,
    /// What of the scenario the driver leaves out, in words.
    pub left_out: Vec<String>,
}

/// How what was asked for ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// At its end, and all that was expected came true.
    Met,
    /// At its end; an expectation or a program of the scenario failed, or a flow stalled.
    Unmet,
    /// Before its end; what was measured until then is kept.
    Interrupted,
}

impl Status {
    /// Of what came to its end.
    pub const fn met(ok: bool) -> Self {
        if ok { Self::Met } else { Self::Unmet }
    }
}

/// What came out of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Its folder.
    pub folder: PathBuf,
    /// Its results.
    pub summary: Summary,
    /// Each expectation; none if it was interrupted, as nothing can be said of a part.
    pub verdicts: Vec<Verdict>,
    /// What its probes recorded.
    pub recording: Option<Recording>,
    /// What it cost.
    pub cost: Cost,
    /// What the lab found of the machine.
    pub lab: Option<LabReport>,
    /// What is known of programs at guest kernels, where hosts of a simulation have any.
    pub guests: Option<Findings>,
    /// Why it ended before its time, if lab or guests broke or the disk was full; the rest is of what went before.
    pub failure: Option<Error>,
    /// What the driver left out.
    pub left_out: Vec<String>,
}

impl Outcome {
    /// Whether every expectation was met, no program failed and no flow stalled.
    fn ok(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.ok)
            && self.failed_programs().is_empty()
            && self.summary.stalls().next().is_none()
    }

    /// How it ended.
    pub fn status(&self) -> Status {
        if self.complete() { Status::met(self.ok()) } else { Status::Interrupted }
    }

    /// The scenario's programs that failed, each with its status and what it said last.
    pub fn failed_programs(&self) -> &[String] {
        match (&self.lab, &self.guests) {
            (Some(lab), _) => &lab.failed_programs,
            (None, Some(guests)) => &guests.failed_programs,
            (None, None) => &[],
        }
    }

    /// What its programs had to use in place of what they were to use, and what else is to be known of them.
    pub fn substitutions(&self) -> &[String] {
        match (&self.lab, &self.guests) {
            (Some(lab), _) => &lab.substitutions,
            (None, Some(guests)) => &guests.notes,
            (None, None) => &[],
        }
    }

    /// Whether it came to its end.
    pub const fn complete(&self) -> bool {
        self.summary.run.complete
    }

    /// Summary, verdicts and cost as one JSON object.
    pub fn to_value(&self) -> Value {
        let mut value = self.summary.to_value();
        value["expectations"] = json!(self.verdicts);
        if !self.left_out.is_empty() {
            value["left_out"] = json!(self.left_out);
        }
        value["engine"]["cpu_seconds"] = json!(self.cost.cpu_seconds);
        value["engine"]["wall_seconds"] = json!(self.cost.wall_seconds);
        value["engine"]["peak_rss_bytes"] = json!(self.cost.peak_rss_bytes);
        if !self.failed_programs().is_empty() {
            value["failed_programs"] = json!(self.failed_programs());
        }
        value
    }
}

impl Job {
    /// A run of `plan` as it is; the scenario's lock file in its folder runs it again.
    pub fn new(driver: Driver, mut plan: Plan, folder: PathBuf) -> Self {
        driver.set_kernels(&mut plan);
        let run = ["suimon", "run", record::folder::SCENARIO].map(str::to_owned);
        let command = [run.to_vec(), driver.words()].concat();
        let lock = scenario::lock(&plan);
        Self { driver, plan, lock, folder, command, left_out: Vec::new() }
    }

    /// Refuses what this driver cannot run, and expectations of what there will not be.
    ///
    /// # Errors
    /// Either.
    pub fn check(&self) -> Result<(), Error> {
        if !self.driver.is_lab() {
            simulate::refusal::check(&self.plan)?;
        }
        forecast::check_expectations(&self.plan)
    }

    /// Executes it, on this thread, and writes its folder. A disk that is full interrupts it.
    ///
    /// # Errors
    /// A folder that cannot be written, a plan that the driver refuses, a lab that cannot be built. One that broke
    /// later is the outcome's failure.
    pub fn execute(&self, steering: Steering<'_>) -> Result<Outcome, Error> {
        let kernel = self.kernel()?;
        let manifest = Manifest {
            run: String::new(),
            build: crate::BUILD.into(),
            driver: self.driver.name().into(),
            seed: self.plan.seed,
            command: self.command.clone(),
            arguments: std::env::args().collect(),
            left_out: self.left_out.clone(),
            guest_kernel: kernel.as_ref().map(Kernel::name),
            guest_notes: Vec::new(),
            lab: None,
            disk_full: false,
        };
        let folder = RunFolder::create(&self.folder, manifest, &self.lock)?;
        for (name, file) in self.plan.traces() {
            folder.keep_trace(name, file)?;
        }
        let advance = steering.of(&self.plan);
        let live = Live::open(&self.plan, self.driver.name(), folder.path());
        let progress = |now| {
            live.reached(now);
            advance(now);
            if folder.files().is_full() {
                steering.interrupted.store(true, Ordering::Relaxed);
            }
        };
        let of_run = record::Steering { interrupted: steering.interrupted, progress: &progress };
        let meter = Meter::start();
        let run = match self.driver {
            Driver::Simulator | Driver::Kernel(_) => {
                simulate(&self.plan, kernel.as_ref(), folder.files(), &live, of_run)?
            }
            Driver::Lab(fabric) => self.in_lab(fabric, folder.files(), &live, of_run)?,
        };
        let cost = meter.read();
        let outcome = self.close(folder, run, cost);
        // From here on the folder itself tells.
        drop(live);
        outcome.inspect(|outcome| {
            if outcome.complete() {
                // The driver need not have told the very end.
                advance(Instant::ZERO + self.plan.duration);
            }
            steering.progress.ended(self, outcome);
        })
    }

    /// The kernel that hosts of a simulation have; `None` if none has one.
    fn kernel(&self) -> Result<Option<Kernel>, Error> {
        if self.driver.is_lab() || !self.plan.has_kernels() {
            return Ok(None);
        }
        Ok(Some(guest::built::newest()?.ok_or(guest::Error::NotBuilt)?))
    }

    fn close(&self, mut folder: RunFolder, run: Run, cost: Cost) -> Result<Outcome, Error> {
        let Run { totals, mut recording, lab, guests, failure } = run;
        if let Some(lab) = &lab {
            folder.set_lab(lab.clone());
        }
        let notes = guests.as_ref().map_or(&[][..], |guests| &guests.notes);
        folder.set_guest_notes(notes.to_vec());
        let summary = Summary::new(&self.plan, &totals);
        let judged = if totals.ending.complete { &self.plan.expectations[..] } else { &[] };
        // Should that fail, what was measured is kept all the same.
        let verdicts = record::judge(judged, &summary);
        let environment = Environment::read();
        let report = RunReport {
            plan: &self.plan,
            summary: &summary,
            verdicts: verdicts.as_deref().unwrap_or_default(),
            recording: recording.as_ref(),
            command: &self.command,
            left_out: &self.left_out,
            guest_notes: notes,
            lab: lab.as_ref().map(|report| ReportOfLab { report, environment: &environment, cost }),
        };
        let full = folder.finish(&summary, &report.to_html()?, totals.ending, cost)?;
        if let Some(recording) = &mut recording {
            recording.in_folder(&self.folder);
        }
        let verdicts = verdicts?;
        let full = full.then(|| Error::DiskFull { folder: self.folder.clone() });
        let failure = failure.or(full);
        let left_out = self.left_out.clone();
        let folder = self.folder.clone();
        Ok(Outcome { folder, summary, verdicts, recording, cost, lab, guests, failure, left_out })
    }

    /// Runs the plan in the lab.
    fn in_lab(
        &self,
        fabric: Fabric,
        files: &Files,
        live: &Live,
        steering: record::Steering<'_>,
    ) -> Result<Run, Error> {
        let plan = &self.plan;
        let interrupted = Some(steering.interrupted);
        let options = lab::Options { folder: Some(files.path()), interrupted, ..fabric.options() };
        let mut recorder = Recorder::in_folder(plan, files)?.of_real_frames();
        let lab::Outcome { totals, report, failure, .. } =
            lab::run(plan, options, &mut live.tap(&mut recorder), steering)?;
        let recording = Some(recorder.finish(&totals)?);
        let failure = failure.map(Error::from);
        Ok(Run { totals, recording, lab: Some(report), guests: None, failure })
    }
}

/// What a driver came back with.
struct Run {
    totals: Totals,
    recording: Option<Recording>,
    lab: Option<LabReport>,
    guests: Option<Findings>,
    failure: Option<Error>,
}

/// Simulates `plan`, with a recorder only if a probe asks for one.
fn simulate(
    plan: &Plan,
    kernel: Option<&Kernel>,
    files: &Files,
    live: &Live,
    steering: record::Steering<'_>,
) -> Result<Run, Error> {
    if !Recorder::is_needed(plan) {
        let run = simulate_for(plan, kernel, files, &mut (), steering)?;
        let recording = Recording::of_jobs(plan, files, &run.totals)?;
        return Ok(Run { recording, ..run });
    }
    let recorder = Recorder::in_folder(plan, files)?;
    let mut recorder = if kernel.is_some() { recorder.of_real_frames() } else { recorder };
    let run = simulate_for(plan, kernel, files, &mut live.tap(&mut recorder), steering)?;
    let recording = Some(recorder.finish(&run.totals)?);
    Ok(Run { recording, ..run })
}

fn simulate_for(
    plan: &Plan,
    kernel: Option<&Kernel>,
    files: &Files,
    observer: &mut impl Observer,
    steering: record::Steering<'_>,
) -> Result<Run, Error> {
    let (recording, lab) = (None, None);
    let Some(kernel) = kernel else {
        let totals = simulate::run(plan, observer, steering)?;
        return Ok(Run { totals, recording, lab, guests: None, failure: None });
    };
    let program = std::env::current_exe().map_err(Error::file(Path::new("/proc/self/exe")))?;
    let options = simulate::guests::Options { kernel, program: &program };
    let simulate::guests::Outcome { totals, findings, failure } =
        simulate::guests::run(plan, options, files.path(), observer, steering)?;
    let failure = failure.map(Error::from);
    Ok(Run { totals, recording, lab, guests: Some(findings), failure })
}
