//! A finished run, looked at as if it were under way: what its tables hold of a moment.

use std::path::Path;

use results::summary::Named;
use results::{FlowRow, Name, Past, QueueRow, Row, Table};
use scenario::{Document, Plan};
use traffic::{Duration, Instant};

use crate::failure::Failure;
use crate::statistics::sampled::{self, Pair};
use crate::statistics::{Port, Statistics, promise};

/// Samples that are kept at most, of everything together.
const ROWS_MAX: u64 = 1 << 20;
/// Moments that are told apart, at most and at least.
const MOMENTS: std::ops::RangeInclusive<u64> = 200..=10_000;

/// A finished run.
pub(super) struct Replay {
    /// What does not change.
    still: Statistics,
    /// The scenario as it was run, if this version can read it.
    plan: Option<Plan>,
    end: Instant,
    /// What is sampled moves in steps of this at least.
    moment: Duration,
    queues: Tracks<QueueRow>,
    flows: Tracks<FlowRow>,
}

impl Replay {
    /// Reads what a run left in `folder`.
    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let past = Past::read(folder)?;
        let document = Document::parse(results::folder::SCENARIO, &past.scenario);
        let plan = document.and_then(|document| document.plan()).ok();
        let seconds = past.summary["run"]["seconds"].as_f64().unwrap_or(0.0);
        // Picoseconds of any run fit.
        let end = Instant::from_ps((seconds * 1e12) as u64);
        let title = past.summary["run"]["title"].as_str().unwrap_or_default().to_owned();
        let lab = past.lab.as_ref();
        let things = plan.as_ref().map_or(16, |plan| plan.flows.len() + 2 * plan.links.len());
        let moments = (ROWS_MAX / things.max(1) as u64).clamp(*MOMENTS.start(), *MOMENTS.end());
        let moment = Duration::from_ns((end.as_ns() / moments).max(1));
        Ok(Self {
            still: Statistics {
                title,
                driver: past.driver,
                duration_seconds: Some(seconds),
                kept_up: lab.map(|lab| lab.kept_up),
                lateness: lab.map(|lab| lab.lateness),
                ..Statistics::default()
            },
            queues: Tracks::read(folder, moment, |row: &QueueRow| (row.port, row.time_ns))?,
            flows: Tracks::read(folder, moment, |row: &FlowRow| (row.flow, row.time_ns))?,
            plan,
            end,
            moment,
        })
    }

    /// When the run ended.
    pub(super) const fn end(&self) -> Instant {
        self.end
    }

    /// A step by which a person sees the whole of it in about so many.
    pub(super) fn step(&self, steps: u64) -> Duration {
        Duration::from_ps(self.end.as_ps() / steps).max(self.moment)
    }

    /// Everything at that moment; rates are of the span before it.
    pub(super) fn at(&self, now: Instant, span: Duration) -> Statistics {
        let now = now.min(self.end);
        let known = self.plan.as_ref().map(|plan| promise::ports_at(plan, now)).unwrap_or_default();
        let port = |(name, pair): (&str, Pair<QueueRow>)| {
            let (_, port) = known.iter().find(|(known, _)| known == name).cloned()?;
            Some((name.to_owned(), Port { counts: sampled::queue(&pair), ..port }))
        };
        let bare = |(name, pair): (&str, Pair<QueueRow>)| {
            let port = Port { counts: sampled::queue(&pair), ..Port::default() };
            (name.to_owned(), port)
        };
        let queues = self.queues.at(now, span, |row| row.time_ns);
        let flows = self.flows.at(now, span, |row| row.time_ns);
        Statistics {
            seconds: now.as_secs_f64(),
            port: Named(queues.map(|at| port(at).unwrap_or_else(|| bare(at))).collect()),
            flow: Named(flows.map(|(name, pair)| (name.into(), sampled::flow(&pair))).collect()),
            ..self.still.clone()
        }
    }
}

/// The samples of one kind: of each port or flow its own, in order of time.
struct Tracks<R>(Vec<(String, Vec<R>)>);

impl<R: Row> Tracks<R> {
    /// Reads the table of `folder`, if it has one. Of the samples within a moment the last is kept.
    fn read(
        folder: &Path,
        moment: Duration,
        key: impl Fn(&R) -> (Name, u64),
    ) -> Result<Self, Failure> {
        let mut tracks: Vec<(String, Vec<R>)> = Vec::new();
        if !folder.join(R::FILE).exists() {
            return Ok(Self(tracks));
        }
        let place = |time_ns: u64| time_ns.div_ceil(moment.as_ns().max(1));
        Table::<R>::open(folder).each(|row, names| {
            let (name, time_ns) = key(row);
            let number = name.0 as usize;
            while tracks.len() <= number {
                let name = names.text(Name(tracks.len() as u32));
                tracks.push((name.to_owned(), Vec::new()));
            }
            let rows = &mut tracks[number].1;
            match rows.last_mut() {
                Some(last) if place(key(last).1) == place(time_ns) => *last = *row,
                _ => rows.push(*row),
            }
        })?;
        Ok(Self(tracks))
    }

    /// The last sample of each until `now`, and the last one that is older by `span` or more.
    fn at(
        &self,
        now: Instant,
        span: Duration,
        time_ns: impl Fn(&R) -> u64 + Copy,
    ) -> impl Iterator<Item = (&str, Pair<R>)> {
        self.0.iter().filter_map(move |(name, rows)| {
            let until = |ns: u64| rows.partition_point(|row| time_ns(row) <= ns);
            let index = until(now.as_ns()).checked_sub(1)?;
            let row = rows[index];
            let earlier = time_ns(&row).saturating_sub(span.as_ns());
            // The first samples lie nearer together than the span.
            let before = until(earlier).saturating_sub(1);
            let before = (before < index).then(|| rows[before]);
            Some((name.as_str(), (before, row)))
        })
    }
}
