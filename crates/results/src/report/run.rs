//! The report of one run: verdict, command, tables and curves.

use scenario::Plan;

use crate::error::Error;
use crate::expectation::Verdict;
use crate::lab::LabReport;
use crate::recorder::Recording;
use crate::report::curves::{self, Figure};
use crate::report::quantity::{count, digits, rate, share, size, time};
use crate::report::{Cell, Grid, Mood, Page, Section};
use crate::summary::{DatagramSummary, Direction, EmulatorSummary, FlowSummary, Named, Summary};

/// Rows of the flows' table; the others are in `summary.json`.
const FLOWS_MAX: usize = 100;

/// What a report tells of.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What was run.
    pub plan: &'a Plan,
    /// What came out.
    pub summary: &'a Summary,
    /// What was expected.
    pub verdicts: &'a [Verdict],
    /// The time series, if probes asked for any.
    pub recording: Option<&'a Recording>,
    /// The command line that makes the same results again (`Manifest::command`).
    pub command: &'a [String],
    /// What it tells of the machine, if it moved real packets.
    pub lab: Option<&'a LabReport>,
}

impl Run<'_> {
    /// The page.
    ///
    /// # Errors
    /// If a table of the recording cannot be read back.
    pub fn to_html(&self) -> Result<String, Error> {
        let run = &self.summary.run;
        let seconds = time(run.seconds);
        let lead = match self.lab {
            None => format!("{seconds} simulated with seed {}", run.seed),
            Some(_) => format!("{seconds} on real packets"),
        };
        let title = if run.title.is_empty() { "A run" } else { &run.title };
        let mut page = Page::new(title, &lead);
        self.banners(&mut page);
        if !self.verdicts.is_empty() {
            page.section(&expectations(self.verdicts));
        }
        page.section(&self.again());
        if let Some(lab) = self.lab {
            page.section(&lab.section());
        }
        page.section(&self.flows());
        page.section(&self.links());
        let sections = match self.recording {
            Some(recording) => curves::all(self, recording)?,
            None => Vec::new(),
        };
        for (heading, figures) in sections.iter().filter(|(_, figures)| !figures.is_empty()) {
            page.section(&figures_section(heading, figures));
        }
        Ok(page.to_html())
    }

    fn banners(&self, page: &mut Page) {
        if let Some(warning) = self.lab.and_then(LabReport::warning) {
            page.banner(Mood::Bad, &warning);
        }
        let run = &self.summary.run;
        if !run.complete {
            let planned = self.plan.duration.as_secs_f64();
            let reached = time(run.seconds);
            page.banner(
                Mood::Bad,
                &format!("Incomplete: interrupted after {reached} of {}.", time(planned)),
            );
        }
        let all = self.verdicts.len();
        let failed = self.verdicts.iter().filter(|verdict| !verdict.ok).count();
        match (all, failed) {
            (0, _) => page.banner(Mood::Neutral, "Nothing was expected of this run."),
            (1, 0) => page.banner(Mood::Good, "The expectation holds."),
            (_, 0) => page.banner(Mood::Good, &format!("All {all} expectations hold.")),
            _ => page.banner(Mood::Bad, &format!("{failed} of {all} expectations failed.")),
        }
    }

    fn again(&self) -> Section {
        let mut section = Section::new("Run it again");
        section.code(&shell(self.command));
        section.paragraph(match self.lab {
            None => {
                "The same seed gives the same bytes of summary, tables, capture and this page, whatever \
                 the number of workers."
            }
            Some(_) => "Real packets never come twice in the same way: expect it to differ a little.",
        });
        section
    }

    fn flows(&self) -> Section {
        let mut section = Section::new("Flows");
        let run = &self.summary.run;
        section.paragraph(&format!(
            "{} flows, {} in all, {} together, fairness (Jain) {}.",
            count(run.flows),
            size(run.bytes),
            rate(run.goodput),
            digits(run.fairness),
        ));
        if !self.summary.group.0.is_empty() {
            section.grid(&self.groups());
        }
        for grid in [self.connections(), self.datagrams()].iter().flatten() {
            section.grid(grid);
        }
        let flows = self.summary.flow.0.len();
        if flows > FLOWS_MAX {
            section.paragraph(&format!(
                "At most {FLOWS_MAX} of a kind are listed; summary.json has all {flows}.",
            ));
        }
        section
    }

    /// The connections; `None` where there are none.
    fn connections(&self) -> Option<Grid> {
        let mut grid = Grid::new(&[
            "Flow",
            "Goodput",
            "Received",
            "Done",
            "Retransmissions",
            "Timeouts",
            "Drops",
            "RTT least",
            "RTT smoothed",
        ]);
        let mut flows =
            self.summary.flow.0.iter().filter(|(_, flow)| flow.datagrams.is_none()).peekable();
        flows.peek()?;
        flows.take(FLOWS_MAX).for_each(|(name, flow)| grid.row(flow_row(name, flow)));
        Some(grid)
    }

    /// The flows of datagrams; `None` where there are none.
    fn datagrams(&self) -> Option<Grid> {
        let mut grid = Grid::new(&[
            "Datagrams",
            "Goodput",
            "Sent",
            "Received",
            "Lost",
            "Marked",
            "Delay mean",
            "Delay longest",
            "Jitter",
        ]);
        let flows = self.summary.flow.0.iter();
        let mut flows =
            flows.filter_map(|(name, f)| Some((name, f, f.datagrams.as_ref()?))).peekable();
        flows.peek()?;
        flows.take(FLOWS_MAX).for_each(|(name, f, d)| grid.row(datagrams_row(name, f, d)));
        Some(grid)
    }

    fn groups(&self) -> Grid {
        let mut grid =
            Grid::new(&["Group", "Flows", "Goodput", "Least", "Most", "Fairness", "Drops"]);
        for (name, group) in &self.summary.group.0 {
            grid.row(vec![
                Cell::text_of(name),
                Cell::number(count(group.flows)),
                Cell::number(rate(group.goodput)),
                Cell::number(rate(group.goodput_min)),
                Cell::number(rate(group.goodput_max)),
                Cell::number(digits(group.fairness)),
                Cell::number(count(group.drops)),
            ]);
        }
        grid
    }

    fn links(&self) -> Section {
        let mut section = Section::new("Links and queues");
        let mut grid = Grid::new(&[
            "Port",
            "Packets",
            "Bytes",
            "Busy",
            "Gap frames",
            "Queue at most",
            "Drops",
            "Why",
        ]);
        for (name, link) in &self.summary.link.0 {
            let used = |direction: &&Direction| direction.packets + direction.drops > 0;
            let directions = [&link.forward, &link.reverse];
            directions.iter().filter(|d| used(d)).for_each(|d| grid.row(direction_row(name, d)));
        }
        section.grid(&grid);
        let mut grid =
            Grid::new(&["Emulator", "Packets", "Bytes", "Of its limit", "Buffer at most", "Drops"]);
        for (name, emulator) in &self.summary.emulator.0 {
            grid.row(emulator_row(name, emulator));
        }
        if !grid.is_empty() {
            section.grid(&grid);
        }
        let mut grid = Grid::new(&["Node", "Dropped within", "Why"]);
        for (name, node) in self.summary.node.0.iter().filter(|(_, node)| node.drops > 0) {
            let why = Cell::text_of(reasons(&node.drops_by_reason));
            grid.row(vec![Cell::text_of(name), Cell::number(count(node.drops)), why]);
        }
        if !grid.is_empty() {
            section.grid(&grid);
        }
        section
    }
}

fn expectations(verdicts: &[Verdict]) -> Section {
    let mut section = Section::new("Expectations");
    let mut grid = Grid::new(&["Quantity", "Measured", "At least", "At most", "Verdict"]);
    for verdict in verdicts {
        let limit = |limit: Option<f64>| {
            Cell::number(limit.map_or_else(String::new, |v| quantity(&verdict.path, v)))
        };
        grid.row(vec![
            Cell::text_of(&verdict.path),
            Cell::number(quantity(&verdict.path, verdict.value)),
            limit(verdict.low),
            limit(verdict.high),
            Cell::Held(verdict.ok),
        ]);
    }
    section.grid(&grid);
    section
}

/// A value of the summary in the unit that its path tells.
fn quantity(path: &str, value: f64) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    match name {
        _ if name.starts_with("goodput") => rate(value),
        "utilisation" => share(value),
        _ if name.ends_with("seconds") => time(value),
        _ if name.contains("bytes") => format!("{} B", digits(value)),
        _ => digits(value),
    }
}

fn flow_row(name: &str, flow: &FlowSummary) -> Vec<Cell> {
    vec![
        Cell::text_of(name),
        Cell::number(rate(flow.goodput)),
        Cell::number(size(flow.bytes)),
        Cell::text_of(if flow.completed { "yes" } else { "to the end" }),
        Cell::number(count(flow.retransmissions)),
        Cell::number(count(flow.timeouts)),
        Cell::number(count(flow.drops)),
        Cell::number(time(flow.min_rtt_seconds)),
        Cell::number(time(flow.srtt_seconds)),
    ]
}

fn datagrams_row(name: &str, flow: &FlowSummary, datagrams: &DatagramSummary) -> Vec<Cell> {
    vec![
        Cell::text_of(name),
        Cell::number(rate(flow.goodput)),
        Cell::number(count(datagrams.sent)),
        Cell::number(count(datagrams.received)),
        Cell::number(format!("{} ({})", count(datagrams.lost), share(datagrams.loss))),
        Cell::number(count(datagrams.marked)),
        Cell::number(time(datagrams.delay_mean_seconds)),
        Cell::number(time(datagrams.delay_max_seconds)),
        Cell::number(time(datagrams.jitter_seconds)),
    ]
}

fn direction_row(link: &str, direction: &Direction) -> Vec<Cell> {
    vec![
        Cell::text_of(format!("{}:{link}", direction.from)),
        Cell::number(count(direction.packets)),
        Cell::number(size(direction.bytes)),
        Cell::number(share(direction.utilisation)),
        Cell::number(count(direction.gap_frames)),
        Cell::number(size(direction.backlog_bytes_max)),
        Cell::number(count(direction.drops)),
        Cell::text_of(reasons(&direction.drops_by_reason)),
    ]
}

fn emulator_row(name: &str, emulator: &EmulatorSummary) -> Vec<Cell> {
    vec![
        Cell::text_of(name),
        Cell::number(count(emulator.packets)),
        Cell::number(size(emulator.bytes)),
        Cell::number(share(emulator.utilisation)),
        Cell::number(size(emulator.backlog_bytes_max)),
        Cell::number(count(emulator.drops)),
    ]
}

/// The reasons that there were: `queue_bytes 12, link_loss 3`.
fn reasons(drops: &Named<u64>) -> String {
    let those = drops.0.iter().filter(|(_, n)| *n > 0);
    those.map(|(reason, n)| format!("{reason} {}", count(*n))).collect::<Vec<_>>().join(", ")
}

fn figures_section(heading: &str, figures: &[Figure]) -> Section {
    let mut section = Section::new(heading);
    figures.iter().for_each(|figure| section.figure(&figure.chart, &figure.caption));
    section
}

/// A command line as a shell takes it.
pub(super) fn shell(command: &[String]) -> String {
    command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
