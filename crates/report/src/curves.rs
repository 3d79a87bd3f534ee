//! The curves of a run's report, read from its tables and thinned on the way.

use std::collections::BTreeMap;

use base::Instant;
use scenario::plan::Window;
use scenario::{Unit, Units};

use crate::chart::{Area, Axis, COLUMNS, Chart, Decimator, Series, Shape, Thinned};
use crate::run::Run;
use record::error::Error;
use record::recorder::Recording;
use record::rows::{Name, TableRow};
use record::table::Table;

mod bandwidth;
mod classes;
mod colours;
mod completion;
mod counter;
mod distributions;
mod flows;
mod limits;
mod lines;
mod notifications;
pub(crate) mod overlay;
mod pauses;
mod points;
mod queues;
mod sequences;
mod spread_sum;

pub(crate) use colours::Colours;
pub(crate) use completion::completions;
pub(crate) use distributions::figures as distributions;
pub(crate) use flows::goodputs;

/// Flows or queues in one chart: more are hard to distinguish.
const TOGETHER: usize = 6;

/// A chart with its caption.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) chart: Chart,
    pub(crate) caption: String,
}

pub(crate) use points::Points;

/// The name of what is drawn, and the part of the run to draw, in seconds.
type Wanted = (String, (f64, f64));

/// The owner of a row: `SECOND of FIRST` is wanted as `FIRST SECOND`.
type Key = (Name, Option<Name>);

/// Every curve over time, not yet painted; none where nothing was recorded.
pub(crate) fn over_time(run: &Run<'_>, kept: &Recording) -> Result<Vec<Figure>, Error> {
    let mut figures = flows::rates(run, &kept.flows)?;
    figures.extend(classes::rates(run, &kept.classes)?);
    figures.extend(bandwidth::figures(run, &kept.bandwidth)?);
    figures.extend(flows::windows_and_round_trips(run, &kept.flows)?);
    figures.extend(queues::backlogs(run, &kept.queues)?);
    figures.extend(classes::backlogs(run, &kept.classes)?);
    figures.extend(queues::losses(run, &kept.queues)?);
    figures.extend(pauses::figures(run, &kept.pauses)?);
    figures.extend(notifications::figures(run, &kept.notifications)?);
    figures.extend(sequences::figures(run, &kept.sequences)?);
    Ok(figures)
}

/// Reads the curves of what is wanted, one for each of a row's `N` points. `points` gets the index in `wanted` of the
/// row's owner.
fn read<R: TableRow, const N: usize>(
    table: &Table<R>,
    wanted: &[Wanted],
    key: impl Fn(&R) -> Key,
    mut points: impl FnMut(usize, &R) -> [Option<(f64, f64)>; N],
) -> Result<Vec<[Points; N]>, Error> {
    let start = |&(_, range): &Wanted| [(); N].map(|()| Decimator::new(range, COLUMNS));
    let mut curves: Vec<_> = wanted.iter().map(start).collect();
    let mut places = BTreeMap::new();
    table.each(|row, names| {
        let place = places.entry(key(row)).or_insert_with_key(|&(first, second)| {
            let first = names.text(first).to_owned();
            let text = second.map_or(first.clone(), |second| first + " " + names.text(second));
            wanted.iter().position(|(wanted, _)| *wanted == text)
        });
        let Some(place) = *place else { return };
        for (curve, point) in curves[place].iter_mut().zip(points(place, row)) {
            point.into_iter().for_each(|(x, y)| curve.push(x, y));
        }
    })?;
    Ok(curves.into_iter().map(|curve| curve.map(Points::from)).collect())
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn greatest<'a>(curves: impl IntoIterator<Item = &'a Points>) -> f64 {
    curves.into_iter().flat_map(|curve| curve.iter()).map(|point| point.1).fold(0.0, f64::max)
}

fn scaled(points: Points, x: Unit, y: Unit) -> Points {
    let (x, y) = (x.factor(), y.factor());
    points.map(|point| (point.0 / x, point.1 / y))
}

fn series(name: impl Into<String>, shape: Shape, points: Points) -> Series {
    let Thinned { points, means } = points.into_thinned();
    Series { name: name.into(), shape, colour: 0, points, means, area: Area::default() }
}

/// A window's part of the run, in seconds.
fn range(run: &Run<'_>, window: Window) -> (f64, f64) {
    let end = run.summary.run.seconds;
    (window.from.as_secs_f64().min(end), window.until.as_secs_f64().min(end))
}

fn whole(run: &Run<'_>) -> (f64, f64) {
    range(run, Window { from: Instant::ZERO, until: Instant::NEVER })
}

/// The time axis over `range`, with the unit it is in.
fn time_axis(units: Units, (from, to): (f64, f64)) -> (Axis, Unit) {
    let unit = units.duration.fit([to - from]);
    let factor = unit.factor();
    let axis = Axis::new(unit.label("time")).range(from / factor, to / factor);
    (axis.time(factor), unit)
}

/// Says how many of all are drawn, and where the others are.
fn some_of(drawn: usize, all: usize, file: &str) -> String {
    if drawn < all {
        format!("{drawn} of {all} drawn; {file} has all samples.")
    } else {
        format!("{file} has all samples.")
    }
}
