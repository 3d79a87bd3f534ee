//! The checks before the first run: whether the quantities to measure, and to expect, will exist.

use base::{DropReason, Instant};
use measured::{
    EngineSummary, Entity, LinkSummary, Part, Quantity, SIZE_BUCKETS, group_of, size_bucket,
};
use record::expectation::{may_come, measured, unknown};
use scenario::Plan;
use scenario::plan::{Flow, NodeKind};
use traffic::Relaxed;
use traffic::condition::Conditioner;

use crate::error::Error;
use crate::execution::Job;

/// Paths of quantities in the making.
#[derive(Default)]
struct Paths(Vec<String>);

impl Paths {
    /// Adds the quantities of an entity that it has.
    fn add(&mut self, at: &str, entity: Entity, has: impl Fn(&Quantity) -> bool) {
        let own = entity.quantities().iter().filter(|quantity| has(quantity));
        self.0.extend(own.map(|quantity| format!("{at}.{}", quantity.field)));
    }

    /// Adds the entries of a field with these names.
    fn each<'n>(&mut self, at: &str, field: &str, names: impl Iterator<Item = &'n str>) {
        self.0.extend(names.map(|name| format!("{at}.{field}.{name}")));
    }

    fn drops(&mut self, at: &str) {
        self.each(at, "drops_by_reason", DropReason::ALL.into_iter().map(DropReason::name));
    }
}

/// The path of every quantity that a run of the plan measures, in alphabetical order, each with 0 as its value.
pub(crate) fn quantities(plan: &Plan) -> Vec<(String, f64)> {
    let mut paths = Paths::default();
    paths.add("run", Entity::Run, |_| true);
    let engine = EngineSummary::QUANTITIES.iter().copied().flatten();
    paths.0.extend(engine.map(|quantity| format!("engine.{}", quantity.field)));
    for flow in &plan.flows {
        // The state of a connection is zero where there is none.
        let has = |quantity: &Quantity| {
            quantity.part == Some(Part::Connection) || flow.lacks(quantity).is_none()
        };
        paths.add(&format!("flow.{}", flow.name), Entity::Flow, has);
    }
    for members in plan.flows.chunk_by(|a, b| group_of(&a.name) == group_of(&b.name)) {
        if let Some(group) = group_of(&members[0].name) {
            add_group(&mut paths, group, members);
        }
    }
    (0..plan.links.len()).for_each(|link| add_link(&mut paths, plan, link));
    (0..plan.nodes.len()).for_each(|node| add_node(&mut paths, plan, node));
    for change in &plan.changes {
        paths.add(&format!("change.{}", change.name), Entity::Change, |_| true);
    }
    paths.0.sort_unstable();
    paths.0.into_iter().map(|path| (path, 0.0)).collect()
}

fn add_group(paths: &mut Paths, group: &str, members: &[Flow]) {
    let has = |quantity: &Quantity| members.iter().any(|flow| flow.lacks(quantity).is_none());
    paths.add(&format!("group.{group}"), Entity::Group, has);
    for (size, _) in SIZE_BUCKETS {
        let is_of = |flow: &Flow| {
            let bytes = flow.span.bytes.filter(|_| flow.tcp().is_some());
            bytes.and_then(|bytes| size_bucket(bytes.0)) == Some(size)
        };
        if members.iter().any(is_of) {
            paths.add(&format!("group.{group}.size.{size}"), Entity::Size, |_| true);
        }
    }
}

fn add_link(paths: &mut Paths, plan: &Plan, number: usize) {
    let link = &plan.links[number];
    let own = LinkSummary::QUANTITIES.iter().copied().flatten();
    paths.0.extend(own.map(|quantity| format!("link.{}.{}", link.name, quantity.field)));
    for (end, way) in ["forward", "reverse"].into_iter().enumerate() {
        let at = format!("link.{}.{way}", link.name);
        let has = |quantity: &Quantity| match quantity.part {
            Some(Part::Sojourn) => plan.probes.delays,
            Some(part) => link.has(end, part, &plan.nodes),
            None => true,
        };
        paths.add(&at, Entity::Direction, has);
        paths.drops(&at);
        let relaxed = plan.relaxed_classes(number, end);
        for class in plan.classes(number, end) {
            let at = format!("{at}.class.{class}");
            paths.add(&at, Entity::Class, has);
            if relaxed.contains(&class) {
                let guarantees = Relaxed::default().counts().map(|(name, _)| name);
                paths.each(&at, "relaxed", guarantees.into_iter());
            }
        }
        let conditioner = link.ends[1 - end].conditioner.as_ref();
        let conditioner =
            conditioner.and_then(|own| Conditioner::attach(own, 0, Instant::ZERO).ok());
        if let Some(conditioner) = conditioner {
            conditioner.elements(&mut |name, _| {
                paths.add(&format!("{at}.element.{name}"), Entity::Element, |_| true);
            });
        }
    }
}

fn add_node(paths: &mut Paths, plan: &Plan, number: usize) {
    let node = &plan.nodes[number];
    let has = |quantity: &Quantity| quantity.part.is_none_or(|part| plan.node_has(number, part));
    let at = format!("node.{}", node.name);
    paths.add(&at, Entity::Node, has);
    paths.drops(&at);
    if matches!(node.kind, NodeKind::Emulator(_)) {
        let at = format!("emulator.{}", node.name);
        paths.add(&at, Entity::Emulator, |_| true);
        paths.drops(&at);
    }
}

fn is_there(path: &str, known: &[(String, f64)]) -> bool {
    measured(path, known).is_some() || may_come(path, known)
}

/// Refuses a plan with an expectation of a quantity that its summary will not have.
///
/// # Errors
/// The first such expectation.
pub(crate) fn check_expectations(plan: &Plan) -> Result<(), Error> {
    if plan.expectations.is_empty() {
        return Ok(());
    }
    let known = quantities(plan);
    let missing = plan.expectations.iter().find(|expected| !is_there(&expected.path, &known));
    missing.map_or(Ok(()), |missing| Err(unknown(&missing.path, &known).into()))
}

/// Refuses a measure that no run of the sweep will have; `goodput` is short for `run.goodput`.
///
/// # Errors
/// The first such measure.
pub(crate) fn check_measures(jobs: &[Job], measures: &[String]) -> Result<(), Error> {
    let mut open: Vec<&String> = measures.iter().collect();
    let mut first = None;
    for job in jobs {
        let known = quantities(&job.plan);
        let is_missing =
            |path: &str| !is_there(path, &known) && !is_there(&format!("run.{path}"), &known);
        open.retain(|path| is_missing(path));
        if open.is_empty() {
            return Ok(());
        }
        first.get_or_insert(known);
    }
    match (open.first(), first) {
        (Some(path), Some(known)) => Err(unknown(path, &known).into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    use network::host::Kernel;
    use record::Summary;
    use scenario::Document;
    use scenario::plan::Probes;
    use simulate::Steering;

    use super::*;
    use crate::driver::{DriverChoice, Guests};

    /// Calls `each` with the plan of every example that names no further files, which only `Experiment` reads.
    fn examples(mut each: impl FnMut(&Path, Plan)) {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut checked = 0;
        for folder in
            std::fs::read_dir(scenarios).expect("examples").map(|entry| entry.expect("one"))
        {
            for file in std::fs::read_dir(folder.path()).into_iter().flatten() {
                let path = file.expect("a file").path();
                let text = std::fs::read_to_string(&path).expect("text");
                let Ok(document) = Document::parse(&path.to_string_lossy(), &text) else {
                    continue;
                };
                if let Ok(plan) = document.plan() {
                    each(&path, plan);
                    checked += 1;
                }
            }
        }
        assert!(checked > 20, "{checked} examples");
    }

    #[test]
    fn what_the_examples_expect_will_be_there() {
        examples(|path, mut plan| {
            check_expectations(&plan).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            DriverChoice::of(&Guests(Kernel::Linux6_12)).prepare(&mut plan);
            check_expectations(&plan).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        });
    }

    #[test]
    fn a_run_measures_what_is_forecast() {
        let mut wrong = Vec::new();
        examples(|path, plan| {
            if DriverChoice::default().check(&plan).is_err() {
                return;
            }
            // A run that is interrupted at once has every quantity that does not depend on events.
            let probes = Probes { idle: true, ..plan.probes };
            let plan = Plan { measure: None, probes, ..plan };
            let over = AtomicBool::new(true);
            let steering = Steering { interrupted: &over, progress: &|_| {} };
            let totals = simulate::run(&plan, &mut (), steering).expect("a run");
            let run = Summary::new(&plan, &totals).quantities();
            let forecast = quantities(&plan);
            let known: BTreeSet<&str> = forecast.iter().map(|(path, _)| path.as_str()).collect();
            let declared = run.iter().map(|(path, _)| path.as_str());
            let declared = declared.filter(|path| Quantity::of(path).is_some());
            // A field of MPI jobs that is not a quantity.
            let declared = declared.filter(|path| !path.ends_with(".mpi.bytes"));
            let missed: Vec<&str> = declared.filter(|path| !known.contains(path)).collect();
            wrong.extend(missed.iter().map(|name| format!("{path:?}: {name} is not forecast")));
            let measured: BTreeSet<&str> = run.iter().map(|(path, _)| path.as_str()).collect();
            let lacking = known.iter().filter(|path| !measured.contains(*path));
            let lacking = lacking.filter(|path| !comes_later(path, &run));
            wrong.extend(lacking.map(|name| format!("{path:?}: {name} is not measured")));
        });
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Whether a run has the quantity only after some event: others of its part are there.
    fn comes_later(path: &str, run: &[(String, f64)]) -> bool {
        let part = path.rsplit_once('.').map_or("", |(part, _)| part);
        let is_beside = |other: &str| other.strip_prefix(part).is_some_and(|o| o.starts_with('.'));
        path.starts_with("change.") || run.iter().any(|(other, _)| is_beside(other))
    }
}
