//! One run, from plan to finished run folder.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use base::Instant;
use guest::Kernel;
use record::manifest::Environment;
use record::{Cost, LabReport, Manifest, Recording, RunFolder, Summary, Verdict};
use report::RunReport;
use report::run::Lab as ReportOfLab;
use scenario::Plan;
use simulate::guests::Findings;

use crate::driver::{DriverChoice, Request, Run};
use crate::error::Error;
use crate::forecast;
use crate::live::Live;
use crate::progress::Steering;
use crate::sweep::Keep;
use record::meter::Meter;

/// A run to be executed.
#[derive(Debug)]
pub struct Job {
    /// The driver.
    pub driver: DriverChoice,
    /// The plan.
    pub plan: Plan,
    /// The scenario with every default written out.
    pub lock: String,
    /// The folder of its files.
    pub folder: PathBuf,
    /// The command line that runs it again.
    pub command: Vec<String>,
    /// The parts of the scenario that the driver leaves out, as text.
    pub left_out: Vec<String>,
}

/// The way a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Complete, and all expectations were met.
    Met,
    /// Complete, but an expectation or a program of the scenario failed, or a flow stalled.
    Unmet,
    /// Ended early; what was measured until then is kept.
    Interrupted,
}

impl Status {
    /// The status of a complete run.
    pub const fn met(ok: bool) -> Self {
        if ok { Self::Met } else { Self::Unmet }
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Its folder.
    pub folder: PathBuf,
    /// Its results.
    pub summary: Summary,
    /// The verdict of each expectation; none if it was interrupted, because a part cannot be judged.
    pub verdicts: Vec<Verdict>,
    /// The recording of its probes.
    pub recording: Option<Recording>,
    /// The cost of the run.
    pub cost: Cost,
    /// The lab's report on the machine.
    pub lab: Option<LabReport>,
    /// Findings about programs on guest kernels, if hosts of a simulation have any.
    pub guests: Option<Findings>,
    /// The reason for an early end, if lab or guests broke or the disk was full; the rest covers the time
    /// before.
    pub failure: Option<Error>,
    /// The parts of the scenario that the driver left out.
    pub left_out: Vec<String>,
}

impl Outcome {
    /// Whether every expectation was met, no program failed and no flow stalled.
    fn ok(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.ok)
            && self.failed_programs().is_empty()
            && self.summary.stalls().next().is_none()
    }

    /// The status of the run.
    pub fn status(&self) -> Status {
        if self.complete() { Status::met(self.ok()) } else { Status::Interrupted }
    }

    /// The scenario's programs that failed, each with its status and its last output.
    pub fn failed_programs(&self) -> &[String] {
        match (&self.lab, &self.guests) {
            (Some(lab), _) => &lab.failed_programs,
            (None, Some(guests)) => &guests.failed_programs,
            (None, None) => &[],
        }
    }

    /// The substitutes that its programs had to use, and other notes about them.
    pub fn substitutions(&self) -> &[String] {
        match (&self.lab, &self.guests) {
            (Some(lab), _) => &lab.substitutions,
            (None, Some(guests)) => &guests.notes,
            (None, None) => &[],
        }
    }

    /// Whether the run is complete.
    pub const fn complete(&self) -> bool {
        self.summary.run.complete
    }
}

impl Job {
    /// A run of `plan` unchanged; the scenario's lock file in its folder runs it again.
    pub fn new(driver: DriverChoice, mut plan: Plan, folder: PathBuf) -> Self {
        driver.prepare(&mut plan);
        let run = ["suimon", "run", record::folder::SCENARIO].map(str::to_owned);
        let command = [run.to_vec(), driver.words()].concat();
        let lock = scenario::lock(&plan);
        Self { driver, plan, lock, folder, command, left_out: Vec::new() }
    }

    /// Refuses a plan that this driver cannot run, and expectations of quantities that it will not have.
    ///
    /// # Errors
    /// Either.
    pub fn check(&self) -> Result<(), Error> {
        self.driver.check(&self.plan)?;
        forecast::check_expectations(&self.plan)
    }

    /// Executes the run on this thread, and writes its folder. A full disk interrupts it.
    ///
    /// # Errors
    /// A folder that cannot be written, a plan that the driver refuses, a lab that cannot be built. A lab that
    /// broke later is the outcome's failure.
    pub fn execute(&self, steering: Steering<'_>) -> Result<Outcome, Error> {
        self.execute_with(true, steering)
    }

    fn execute_with(&self, report: bool, steering: Steering<'_>) -> Result<Outcome, Error> {
        let kernel = self.driver.kernel(&self.plan)?;
        let manifest = Manifest {
            run: String::new(),
            build: crate::BUILD.into(),
            driver: self.driver.manifest().into(),
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
        let live = Live::open(&self.plan, self.driver.manifest(), folder.path());
        let progress = |now| {
            live.reached(now);
            advance(now);
            if folder.files().is_full() {
                steering.interrupted.store(true, Ordering::Relaxed);
            }
        };
        let of_run = record::Steering { interrupted: steering.interrupted, progress: &progress };
        // On several cores, its other threads count, too.
        let several = self.driver.options.cores.is_some_and(|cores| cores.get() > 1);
        let meter = if several { Meter::of_process() } else { Meter::start() };
        let run = self.driver.run(Request {
            plan: &self.plan,
            options: self.driver.options,
            kernel: kernel.as_ref(),
            files: folder.files(),
            live: &live,
            steering: of_run,
        })?;
        let cost = meter.read();
        let outcome = self.close(folder, run, cost, report);
        // From here on, the results are in the folder itself.
        drop(live);
        outcome.inspect(|outcome| {
            if outcome.complete() {
                // The driver may not have reported the end of the run.
                advance(Instant::ZERO + self.plan.duration);
            }
            steering.progress.ended(self, outcome);
        })
    }

    /// Executes a run of a sweep: its report is written only when asked for, by [`crate::write_report`]. Removes the
    /// files that a sweep with `keep` does not need of a complete run.
    ///
    /// # Errors
    /// Those of [`Job::execute`], and a file that cannot be removed.
    pub fn execute_keeping(&self, keep: Keep, steering: Steering<'_>) -> Result<Outcome, Error> {
        let outcome = self.execute_with(false, steering)?;
        if keep == Keep::Table && outcome.complete() {
            record::folder::keep_results(&self.folder)?;
        }
        Ok(outcome)
    }

    fn close(
        &self,
        mut folder: RunFolder,
        run: Run,
        cost: Cost,
        has_report: bool,
    ) -> Result<Outcome, Error> {
        let Run { totals, mut recording, lab, guests, failure } = run;
        if let Some(lab) = &lab {
            folder.set_lab(lab.clone());
        }
        let notes = guests.as_ref().map_or(&[][..], |guests| &guests.notes);
        folder.set_guest_notes(notes.to_vec());
        let summary = Summary::new(&self.plan, &totals);
        let judged = if totals.ending.complete { &self.plan.expectations[..] } else { &[] };
        // If this fails, what was measured is still kept.
        let verdicts = record::judge(judged, &summary);
        let environment = Environment::read();
        let report = has_report.then(|| RunReport {
            plan: &self.plan,
            summary: &summary,
            verdicts: verdicts.as_deref().unwrap_or_default(),
            recording: recording.as_ref(),
            command: &self.command,
            left_out: &self.left_out,
            guest_notes: notes,
            lab: lab.as_ref().map(|report| ReportOfLab { report, environment: &environment, cost }),
        });
        let report = report.map(|report| report.to_html()).transpose()?;
        let full = folder.finish(&summary, report.as_deref(), totals.ending, cost)?;
        if let Some(recording) = &mut recording {
            recording.in_folder(&self.folder);
        }
        let verdicts = verdicts?;
        let full = full.then(|| Error::disk_full(&self.folder));
        let failure = failure.or(full);
        let left_out = self.left_out.clone();
        let folder = self.folder.clone();
        Ok(Outcome { folder, summary, verdicts, recording, cost, lab, guests, failure, left_out })
    }
}
