//! One run from plan to closed run folder.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use report::RunReport;
use report::run::Lab as ReportOfLab;
use results::manifest::Environment;
use results::{
    Cost, Files, LabReport, Manifest, Recorder, Recording, RunFolder, Summary, Totals, Verdict,
};
use scenario::Plan;
use serde_json::{Value, json};
use simulate::Steering;

use crate::failure::Failure;
use crate::forecast;
use crate::live::Live;
use crate::meter::Meter;
use crate::port::Fabric;
use crate::progress::Progress;

/// Who moves the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Driver {
    /// The simulator: virtual time, modelled TCP
    #[default]
    Simulator,
    /// The lab: real packets and the kernel's TCP, in real time on this machine
    Lab,
}

impl Driver {
    /// Its name in manifests.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Simulator => "simulate",
            Self::Lab => "lab",
        }
    }

    /// The words of a command line that choose it; none for the simulator.
    pub(crate) fn words(self, fabric: Fabric) -> Vec<String> {
        match self {
            Self::Simulator => Vec::new(),
            Self::Lab => [vec!["--on".into(), "lab".into()], fabric.words()].concat(),
        }
    }
}

/// The words that run again what a run folder holds, typed in that folder.
pub(crate) fn again(driver: Driver, fabric: Fabric) -> Vec<String> {
    let run = ["suimon", "run", results::folder::SCENARIO].map(str::to_owned);
    [run.to_vec(), driver.words(fabric)].concat()
}

/// A run about to start.
#[derive(Debug)]
pub(crate) struct Job {
    /// By whom.
    pub(crate) driver: Driver,
    /// How the lab's fabric does its work.
    pub(crate) fabric: Fabric,
    /// What is run.
    pub(crate) plan: Plan,
    /// The scenario with every default written out.
    pub(crate) lock: String,
    /// Where its files go.
    pub(crate) folder: PathBuf,
    /// The words that run it again.
    pub(crate) command: Vec<String>,
    /// What of the scenario the driver leaves out, in words.
    pub(crate) left_out: Vec<String>,
}

/// What came out of a run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Its results.
    pub(crate) summary: Summary,
    /// Each expectation; none if it was interrupted, as nothing can be said of a part.
    pub(crate) verdicts: Vec<Verdict>,
    /// What its probes recorded.
    pub(crate) recording: Option<Recording>,
    /// What it cost.
    pub(crate) cost: Cost,
    /// What the lab found of the machine.
    pub(crate) lab: Option<LabReport>,
    /// Why it ended before its time, if the lab broke or the disk was full; the rest is of what went before.
    pub(crate) failure: Option<Failure>,
    /// What the driver left out.
    pub(crate) left_out: Vec<String>,
}

impl Outcome {
    /// Whether every expectation was met, and no program failed.
    pub(crate) fn ok(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.ok) && self.failed_programs().is_empty()
    }

    /// The scenario's programs that failed, each with its status and what it said last.
    pub(crate) fn failed_programs(&self) -> &[String] {
        self.lab.as_ref().map_or(&[], |lab| &lab.failed_programs)
    }

    /// What its programs had to use in place of what they were to use.
    pub(crate) fn substitutions(&self) -> &[String] {
        self.lab.as_ref().map_or(&[], |lab| &lab.substitutions)
    }

    /// Whether it came to its end.
    pub(crate) const fn complete(&self) -> bool {
        self.summary.run.complete
    }

    /// Summary, verdicts and cost as one JSON object.
    pub(crate) fn to_value(&self) -> Value {
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
    /// Refuses what this driver cannot run, and expectations of what there will not be.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.driver == Driver::Simulator {
            simulate::refusal::check(&self.plan)?;
        }
        forecast::check_expectations(&self.plan)
    }

    /// Simulates it, on this thread, and writes its folder. A disk that is full interrupts it.
    pub(crate) fn execute(
        &self,
        interrupted: &AtomicBool,
        progress: &Progress,
    ) -> Result<Outcome, Failure> {
        let manifest = Manifest {
            run: String::new(),
            driver: self.driver.name().into(),
            seed: self.plan.seed,
            command: self.command.clone(),
            arguments: std::env::args().collect(),
            left_out: self.left_out.clone(),
            lab: None,
            disk_full: false,
        };
        let folder = RunFolder::create(&self.folder, manifest, &self.lock)?;
        let progress = progress.of(&self.plan);
        let live = Live::open(&self.plan, self.driver.name(), folder.path());
        let progress = |now| {
            live.reached(now);
            progress(now);
            if folder.files().is_full() {
                interrupted.store(true, Ordering::Relaxed);
            }
        };
        let steering = Steering { interrupted, progress: &progress };
        let meter = Meter::start();
        let run = match self.driver {
            Driver::Simulator => simulate(&self.plan, folder.files(), &live, steering)?,
            Driver::Lab => self.in_lab(folder.files(), &live, steering)?,
        };
        let cost = meter.read();
        let outcome = self.close(folder, run, cost);
        // From here on the folder itself tells.
        drop(live);
        outcome
    }

    fn close(&self, mut folder: RunFolder, run: Run, cost: Cost) -> Result<Outcome, Failure> {
        let Run { totals, mut recording, lab, failure } = run;
        if let Some(lab) = &lab {
            folder.set_lab(lab.clone());
        }
        let summary = Summary::new(&self.plan, &totals);
        let judged = if totals.ending.complete { &self.plan.expectations[..] } else { &[] };
        // Should that fail, what was measured is kept all the same.
        let verdicts = results::judge(judged, &summary);
        let environment = Environment::read();
        let report = RunReport {
            plan: &self.plan,
            summary: &summary,
            verdicts: verdicts.as_deref().unwrap_or_default(),
            recording: recording.as_ref(),
            command: &self.command,
            left_out: &self.left_out,
            lab: lab.as_ref().map(|report| ReportOfLab { report, environment: &environment, cost }),
        };
        let full = folder.finish(&summary, &report.to_html()?, totals.ending, cost)?;
        if let Some(recording) = &mut recording {
            recording.in_folder(&self.folder);
        }
        let verdicts = verdicts?;
        let full = full.then(|| Failure::DiskFull { folder: self.folder.clone() });
        let failure = failure.map(Failure::from).or(full);
        let left_out = self.left_out.clone();
        Ok(Outcome { summary, verdicts, recording, cost, lab, failure, left_out })
    }

    /// Runs the plan in the lab.
    fn in_lab(&self, files: &Files, live: &Live, steering: Steering<'_>) -> Result<Run, Failure> {
        let plan = &self.plan;
        let interrupted = Some(steering.interrupted);
        let options =
            lab::Options { folder: Some(files.path()), interrupted, ..self.fabric.options() };
        let mut recorder = Recorder::in_folder(plan, files)?.of_real_frames();
        let lab::Outcome { totals, report, failure, .. } =
            lab::run(plan, options, &mut live.tap(&mut recorder), steering)?;
        let recording = Some(recorder.finish(&totals)?);
        Ok(Run { totals, recording, lab: Some(report), failure })
    }
}

/// What a driver came back with.
struct Run {
    totals: Totals,
    recording: Option<Recording>,
    lab: Option<LabReport>,
    failure: Option<lab::Error>,
}

/// Simulates `plan`, with a recorder only if a probe asks for one.
fn simulate(
    plan: &Plan,
    files: &Files,
    live: &Live,
    steering: Steering<'_>,
) -> Result<Run, Failure> {
    if !Recorder::is_needed(plan) {
        let totals = simulate::run(plan, &mut (), steering)?;
        return Ok(Run { totals, recording: None, lab: None, failure: None });
    }
    let mut recorder = Recorder::in_folder(plan, files)?;
    let totals = simulate::run(plan, &mut live.tap(&mut recorder), steering)?;
    let recording = Some(recorder.finish(&totals)?);
    Ok(Run { totals, recording, lab: None, failure: None })
}
