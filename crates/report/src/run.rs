//! The report of one run: the verdict, key numbers, curves, tables, the network, the command and what it was made on.

use scenario::Plan;

use crate::curves::{self, Colours, Figure};
use crate::{Cell, Grid, Mood, Page, Section, ranks, topology};
use record::error::Error;
use record::expectation::Verdict;
use record::lab::LabReport;
use record::manifest::Environment;
use record::quantity::Kind;
use record::recorder::Recording;
use record::summary::Summary;
use record::totals::Cost;

mod environment;
mod glance;
mod machine;
mod stored;
mod tables;

pub use stored::stored_to_html;

/// The contents of a report.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The plan that was run.
    pub plan: &'a Plan,
    /// The results.
    pub summary: &'a Summary,
    /// The judged expectations.
    pub verdicts: &'a [Verdict],
    /// The time series, if probes asked for any.
    pub recording: Option<&'a Recording>,
    /// The command line that reproduces the results (`Manifest::command`).
    pub command: &'a [String],
    /// The parts of the scenario that the driver left out ([`record::Manifest::left_out`]).
    pub left_out: &'a [String],
    /// Further information about guests ([`record::Manifest::guest_notes`]).
    pub guest_notes: &'a [String],
    /// The state of the machine, if the run moved real packets.
    pub lab: Option<Lab<'a>>,
}

/// The state of the machine during a run on real packets. A simulation's report contains nothing about its machine,
/// so that it has the same bytes on all.
#[derive(Clone, Copy, Debug)]
pub struct Lab<'a> {
    /// Whether it kept up.
    pub report: &'a LabReport,
    /// The machine.
    pub environment: &'a Environment,
    /// The cost of the run.
    pub cost: Cost,
}

/// The times that the results of a simulated kernel do not include.
const IN_NO_TIME: &str = "At hosts with a kernel, each system call takes 1 us, and computing in programs and the stack takes no \
                          time: the speed of a machine has no effect.";

impl Run<'_> {
    /// The page.
    ///
    /// # Errors
    /// If a table of the recording cannot be read back.
    pub fn to_html(&self) -> Result<String, Error> {
        let run = &self.summary.run;
        let units = self.plan.units;
        let seconds = units.duration.text(run.seconds);
        let lead = match self.lab {
            None => format!("{seconds} simulated with seed {}", run.seed),
            Some(_) => format!("{seconds} on real packets"),
        };
        let title = if run.title.is_empty() { "A run" } else { &run.title };
        let mut page = Page::new(title, &lead);
        self.banners(&mut page);
        page.section(&glance::section(self.plan, self.summary));
        self.notes(&mut page);
        if !self.verdicts.is_empty() {
            page.section(&self.expectations());
        }
        if let Some(recording) = self.recording {
            ranks::sections(&mut page, &recording.ranks, units)?;
            let mut figures = curves::over_time(self, recording)?;
            let mut counted = Vec::from_iter(curves::goodputs(self));
            counted.extend(curves::completions(self));
            counted.extend(curves::distributions(self.summary, &recording.delays, units)?);
            let mut colours = Colours::default();
            let drawn = figures.iter_mut().chain(counted.iter_mut().map(|(figure, _)| figure));
            drawn.for_each(|figure| {
                figure.chart.fold();
                colours.paint(&mut figure.chart);
            });
            over_time(&mut page, &figures);
            distributions(&mut page, &counted);
        }
        page.section(&tables::flows(self.summary, units));
        page.section(&tables::links(self.summary, units));
        page.section(&topology::section(self.plan));
        if let Some(lab) = self.lab {
            page.section(&machine::section(lab.report));
        }
        page.section(&self.again());
        page.section(&environment::section(self));
        Ok(page.to_html())
    }

    /// What makes the run doubtful, then the verdict.
    fn banners(&self, page: &mut Page) {
        if let Some(warning) = self.lab.and_then(|lab| lab.report.warning()) {
            page.banner(Mood::Bad, &warning);
        }
        for (flow, why) in self.summary.stalls() {
            page.banner(Mood::Bad, &format!("Flow {flow} stalled, {why}."));
        }
        let run = &self.summary.run;
        if !run.complete {
            let planned = self.plan.duration.as_secs_f64();
            let unit = self.plan.units.duration.fit([planned]);
            let [reached, planned] = [run.seconds, planned].map(|seconds| unit.show(seconds));
            page.banner(
                Mood::Bad,
                &format!("Incomplete: interrupted after {reached} of {planned}."),
            );
        }
        let all = self.verdicts.len();
        let failed = self.verdicts.iter().filter(|verdict| !verdict.ok).count();
        match (all, failed) {
            (0, _) => page.banner(Mood::Neutral, "No expectations defined."),
            (1, 0) => page.banner(Mood::Good, "The expectation holds."),
            (_, 0) => page.banner(Mood::Good, &format!("All {all} expectations hold.")),
            (1, _) => page.banner(Mood::Bad, "The expectation failed."),
            _ => page.banner(Mood::Bad, &format!("{failed} of {all} expectations failed.")),
        }
    }

    /// What a reader should know of the numbers.
    fn notes(&self, page: &mut Page) {
        if !self.left_out.is_empty() {
            let what = self.left_out.join("; ");
            page.banner(
                Mood::Neutral,
                &format!("Left out of the simulation, because it requires a real kernel: {what}."),
            );
        }
        if self.lab.is_none() && self.plan.has_kernels() {
            page.banner(Mood::Neutral, IN_NO_TIME);
        }
        self.guest_notes.iter().for_each(|note| page.banner(Mood::Neutral, note));
    }

    fn expectations(&self) -> Section {
        let mut section = Section::new("Expectations");
        let known = self.summary.quantities();
        let mut grid = Grid::new(&["Verdict", "Quantity", "Measured", "Expected"]);
        for Verdict { path, value, low, high, ok } in self.verdicts {
            let values = [Some(*value), *low, *high].into_iter().flatten();
            let unit = self.plan.units.unit(Kind::of(path)).fit(values);
            let text = unit.show(*value);
            // A path may be an abbreviation of another one, and then the summary does not have it by that name.
            let named = known.binary_search_by(|(known, _)| known.as_str().cmp(path)).is_ok();
            let measured =
                if named { Cell::measure(path, *value, text) } else { Cell::number(text) };
            let expected = match [low, high].map(|limit| limit.map(|value| unit.show(value))) {
                [Some(low), Some(high)] => format!("{low} to {high}"),
                [Some(low), None] => format!("at least {low}"),
                [None, Some(high)] => format!("at most {high}"),
                [None, None] => String::new(),
            };
            // The verdict is first, where it is in sight on a phone.
            let (path, expected) = (Cell::text_of(path), Cell::number(expected));
            grid.row(vec![Cell::Held(*ok), path, measured, expected]);
        }
        section.grid(&grid);
        section
    }

    fn again(&self) -> Section {
        let mut section = Section::new("Run it again");
        section.paragraph(&environment::what(self));
        section.command(self.command);
        section.paragraph(match self.lab {
            None => {
                "The same seed gives the same bytes of summary, tables, capture and this page, with \
                 any number of workers."
            }
            Some(_) => "Runs with real packets are never identical: expect small differences.",
        });
        section
    }
}

fn over_time(page: &mut Page, figures: &[Figure]) {
    if figures.is_empty() {
        return;
    }
    let mut section = Section::new("Over time");
    section.hint(
        "Drag to zoom, double-click to reset; click a name to hide its line. Where a curve is too fast \
         for the screen, its range is an area and the line is its mean.",
    );
    figures.iter().for_each(|figure| section.figure(&figure.chart, &figure.caption));
    page.section(&section);
}

fn distributions(page: &mut Page, figures: &[(Figure, Grid)]) {
    if figures.is_empty() {
        return;
    }
    let mut section = Section::new("Distributions");
    for (figure, grid) in figures {
        section.figure(&figure.chart, &figure.caption);
        section.grid(grid);
    }
    page.section(&section);
}
