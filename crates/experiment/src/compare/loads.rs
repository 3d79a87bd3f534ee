//! The flows of runs, the names under which they are compared, and the flows that a run lacks.

use std::collections::BTreeSet;

use measured::group_of;
use record::StoredRun;
use serde_json::Value;

use super::rows::names;
use crate::error::Error;

/// The maximum number of flows that are listed; more are only counted.
const NAMED_MAX: usize = 4;

/// A flow of the first run, and the flow of the other runs that is compared with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The name in the first run.
    pub first: String,
    /// The name in the others.
    pub other: String,
}

impl std::str::FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((first, other)) if !first.is_empty() && !other.is_empty() => {
                Ok(Self { first: first.to_owned(), other: other.to_owned() })
            }
            _ => Err("use the flow of the first run and that of the others: down=down2".into()),
        }
    }
}

/// Refuses pairs with a flow that is in another pair, too.
pub(super) fn check_pairs(pairs: &[Pair]) -> Result<(), Error> {
    for (number, Pair { first, other }) in pairs.iter().enumerate() {
        let before = &pairs[..number];
        let twice = if before.iter().any(|pair| pair.first == *first) {
            first
        } else if before.iter().any(|pair| pair.other == *other) {
            other
        } else {
            continue;
        };
        let message = format!("two --pair name flow `{twice}`");
        return Err(Error::usage(message, "compare each flow with one other"));
    }
    Ok(())
}

/// Refuses a run that lacks one of `flows`, each a flow or the flows of a count.
pub(super) fn check_names<'a>(
    run: &StoredRun,
    mut flows: impl Iterator<Item = &'a String>,
) -> Result<(), Error> {
    let all = [names(&run.summary["flow"]), names(&run.summary["group"])].concat();
    let is_lacking = |flow: &&String| all.iter().all(|name| member(flow, name).is_none());
    let Some(flow) = flows.find(is_lacking) else { return Ok(()) };
    let message = format!("{} has no flow `{flow}`", run.folder.display());
    Err(Error::usage(message, format!("name one of its flows: {}", listed(&loads(&run.summary)))))
}

/// Renames flows of `run`, and the flows of a count, to the names of their counterparts in the first run: all at
/// once, so that flows can exchange names.
///
/// # Errors
/// If the run lacks one of the flows.
pub(super) fn rename(run: &mut StoredRun, pairs: &[Pair]) -> Result<(), Error> {
    check_names(run, pairs.iter().map(|pair| &pair.other))?;
    let renamed = |name: &str| {
        pairs.iter().find_map(|Pair { first, other }| {
            member(other, name).map(|number| format!("{first}{number}"))
        })
    };
    for table in ["flow", "group"] {
        let Some(table) = run.summary[table].as_object_mut() else { continue };
        let (mut own, mut paired) = (Vec::new(), Vec::new());
        for (name, value) in std::mem::take(table) {
            match renamed(&name) {
                Some(new) => paired.push((new, value)),
                None => own.push((name, value)),
            }
        }
        // A flow of the run's own whose name a paired flow takes is not compared.
        table.extend(own.into_iter().chain(paired));
    }
    Ok(())
}

/// What follows `flow` in `name`: nothing for the flow itself, the number for a member of a count. `None` for another
/// flow.
fn member<'a>(flow: &str, name: &'a str) -> Option<&'a str> {
    let number = name.strip_prefix(flow)?;
    (number.is_empty() || group_of(name) == Some(flow)).then_some(number)
}

/// Refuses a run that shares no flow with the first.
pub(super) fn check(first: &StoredRun, other: &StoredRun) -> Result<(), Error> {
    let [ours, theirs] = [first, other].map(|run| loads(&run.summary));
    let (Some(one), Some(another)) = (ours.first(), theirs.first()) else { return Ok(()) };
    if ours.intersection(&theirs).next().is_some() {
        return Ok(());
    }
    let [other, first] = [other, first].map(|run| run.folder.display());
    let message = format!(
        "{other} shares no flow with {first}: it has {}, not {}",
        listed(&theirs),
        listed(&ours)
    );
    Err(Error::usage(message, format!("use --pair {one}={another} to compare them")))
}

/// Lists the flows that only one of two runs has: the comparison covers only what both have.
pub(super) fn lacking(runs: &[StoredRun]) -> Vec<String> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let ours = loads(&first.summary);
    let mut notes = Vec::new();
    for other in others {
        let theirs = loads(&other.summary);
        let lacks = |who: &StoredRun, what: BTreeSet<String>| {
            let folder = who.folder.display();
            let flows = if what.len() == 1 { "flow" } else { "flows" };
            (!what.is_empty()).then(|| format!("{folder} lacks {flows} {}", listed(&what)))
        };
        let difference = |a: &BTreeSet<String>, b| a.difference(b).cloned().collect();
        let (missing, more): (BTreeSet<_>, BTreeSet<_>) =
            (difference(&ours, &theirs), difference(&theirs, &ours));
        let pair = missing.first().zip(more.first());
        let pair =
            pair.map(|(ours, theirs)| format!("--pair {ours}={theirs} compares two of them"));
        let words = [lacks(other, missing.clone()), lacks(first, more.clone()), pair];
        let words: Vec<_> = words.into_iter().flatten().collect();
        if !words.is_empty() && !notes.contains(&words.join("; ")) {
            notes.push(words.join("; "));
        }
    }
    notes
}

/// TCP counters. They are unknown for a program's connections; a summary has zeros there.
const OF_TCP: [&str; 11] = [
    "retransmissions",
    "retransmitted_bytes",
    "timeouts",
    "spurious_timeouts",
    "fast_recoveries",
    "undos",
    "tail_loss_probes",
    "congestion_echoes",
    "srtt_seconds",
    "min_rtt_seconds",
    "cwnd_packets",
];

/// Every number of a run's summary except those that are unknown for flows of programs.
pub(super) fn quantities(run: &StoredRun) -> Vec<(String, f64)> {
    let mut all = run.quantities();
    let programs = programs(&run.summary);
    if programs.is_empty() {
        return all;
    }
    let others = names(&run.summary["flow"]).into_iter().any(|flow| !programs.contains(flow));
    let groups: BTreeSet<&str> = programs.iter().filter_map(|flow| group_of(flow)).collect();
    all.retain(|(path, _)| {
        let Some((entity, field)) = path.rsplit_once('.') else { return true };
        match entity.split_once('.') {
            // Sums leave programs out, and the fairness needs other flows.
            None if entity == "run" && field == "fairness" => others,
            None if entity == "run" && field == "loss" => false,
            None if entity == "run" => !OF_TCP.contains(&field),
            Some(("flow", flow)) if programs.contains(flow) => !OF_TCP.contains(&field),
            Some(("group", group)) if groups.contains(group) => {
                !OF_TCP.contains(&field) && field != "fairness"
            }
            _ => true,
        }
    });
    all
}

/// The flows that are programs.
fn programs(summary: &Value) -> BTreeSet<&str> {
    let flows = names(&summary["flow"]).into_iter();
    flows.filter(|flow| summary["flow"][flow]["program"].is_object()).collect()
}

/// Lists what cannot be compared of flows that are a program in one run and a model in another.
pub(super) fn unknown_to_programs(runs: &[StoredRun]) -> Vec<String> {
    let programs: Vec<BTreeSet<&str>> = runs.iter().map(|run| programs(&run.summary)).collect();
    let loads: Vec<BTreeSet<String>> = runs.iter().map(|run| loads(&run.summary)).collect();
    let name = |flow: &str| group_of(flow).unwrap_or(flow).to_owned();
    let note = |(place, run): (usize, &StoredRun)| {
        let is_modelled = |flow: &str, other: usize| {
            let is_there = [flow, &name(flow)].iter().any(|flow| loads[other].contains(*flow));
            is_there && !programs[other].iter().any(|own| *own == flow || name(own) == name(flow))
        };
        let mixed =
            programs[place].iter().filter(|flow| (0..runs.len()).any(|o| is_modelled(flow, o)));
        let mixed: BTreeSet<String> = mixed.map(|flow| name(flow)).collect();
        let folder = run.folder.display();
        (!mixed.is_empty()).then(|| {
            format!(
                "{folder}: {} belongs to a program: its retransmissions, timeouts and RTTs are unknown, and \
                 goodput and bytes are payload in both directions",
                listed(&mixed)
            )
        })
    };
    runs.iter().enumerate().filter_map(note).collect()
}

/// The flows of a summary, those of a count under its name.
fn loads(summary: &Value) -> BTreeSet<String> {
    let groups = names(&summary["group"]);
    let name = |flow: &str| match group_of(flow) {
        Some(group) if groups.contains(&group) => group.to_owned(),
        _ => flow.to_owned(),
    };
    names(&summary["flow"]).into_iter().map(name).collect()
}

/// Lists flows: `a`, `b` and N more.
fn listed(flows: &BTreeSet<String>) -> String {
    let shown: Vec<_> = flows.iter().take(NAMED_MAX).map(|flow| format!("`{flow}`")).collect();
    match flows.len().saturating_sub(NAMED_MAX) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
