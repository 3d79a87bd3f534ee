//! The common parts of `[expect]` and `[compare]`: the judged quantities of entities.

use measured::{Entity, Part, Quantity, SIZE_BUCKETS, is_of};

use super::Directory;
use super::network::Network;
use crate::classes;
use crate::diagnostic::Problems;
use crate::file::{Given, Measured, Tables, quantities};
use crate::nearest;
use crate::plan::{Change, Flow, NodeKind};
use crate::value::{Name, Table};

/// The entities of judgements besides the network.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    pub(super) names: &'k Directory<'k>,
    pub(super) flows: &'k [Flow],
    pub(super) changes: &'k [Change],
    /// Whether sojourn times are recorded.
    pub(super) delays: bool,
}

/// Calls `found` for each judged quantity, with its path or short path in the summary. Reports quantities that are
/// not measured.
pub(super) fn each<'f, V>(
    tables: Tables<'f, V>,
    network: &Network<'_>,
    known: Known<'_>,
    problems: &mut Problems,
    mut found: impl FnMut(String, &'static Quantity, &'f V, &mut Problems),
) {
    let Known { names, flows, changes, delays } = known;
    for (name, table) in tables.flow.iter() {
        if names.is_group(&name.text) || names.find(name, problems).is_some() {
            for (key, quantity, value) in known_quantities(&table.own) {
                check_flow(name, key, quantity, flows, problems);
                found(format!("flow.{}.{}", name.text, quantity.name), quantity, value, problems);
            }
            for (bucket, table) in table.parts.iter() {
                check_bucket(bucket, problems);
                check_lacking(name, bucket, &Entity::Size.quantities()[0], flows, problems);
                for (_, quantity, value) in known_quantities(table) {
                    let path = format!("flow.{}.size.{}.{}", name.text, bucket.text, quantity.name);
                    found(path, quantity, value, problems);
                }
            }
        }
    }
    for (name, table) in tables.link.iter() {
        let links = &network.links.names;
        if links.is_group(&name.text) || links.find(name, problems).is_some() {
            check_classes(name, &table.parts, network, changes, problems);
            let at = format!("link.{}", name.text);
            for (key, quantity, value) in known_quantities(&table.own) {
                match quantity.part {
                    Some(Part::Sojourn) if !delays => no_sojourn(name, problems),
                    Some(part) => check_link(name, key, part, network, problems),
                    None => {}
                }
                found(format!("{at}.{}", quantity.name), quantity, value, problems);
            }
            for (class, table) in table.parts.iter() {
                for (_, quantity, value) in known_quantities(table) {
                    let path = format!("{at}.class.{}.{}", class.text, quantity.name);
                    found(path, quantity, value, problems);
                }
            }
        }
    }
    for (name, table) in tables.emulator.iter() {
        if is_emulator(name, network, problems) {
            for (_, quantity, value) in known_quantities(&table.own) {
                let path = format!("emulator.{}.{}", name.text, quantity.name);
                found(path, quantity, value, problems);
            }
        }
    }
    for (name, table) in tables.node.iter() {
        let nodes = &network.nodes.names;
        if nodes.is_group(&name.text) || nodes.find(name, problems).is_some() {
            for (_, quantity, value) in known_quantities(&table.own) {
                let path = format!("node.{}.{}", name.text, quantity.name);
                found(path, quantity, value, problems);
            }
        }
    }
    for (_, quantity, value) in
        tables.run.into_iter().flat_map(|table| known_quantities(&table.own))
    {
        found(format!("run.{}", quantity.name), quantity, value, problems);
    }
}

/// The judged quantities of a table; unknown keys were reported before.
fn known_quantities<E: Measured, V>(
    table: &Given<E, V>,
) -> impl Iterator<Item = (&Name, &'static Quantity, &V)> {
    let known = quantities(E::ENTITIES);
    table.list.iter().filter_map(move |(name, value)| {
        let quantity = known.iter().find(|quantity| quantity.name == name.text)?;
        Some((name, *quantity, value))
    })
}

fn is_emulator(name: &Name, network: &Network<'_>, problems: &mut Problems) -> bool {
    let emulators = network.nodes.list.iter().filter(|n| matches!(n.kind, NodeKind::Emulator(_)));
    let names: Vec<&str> = emulators.map(|node| node.name.as_str()).collect();
    let found = names.contains(&name.text.as_str());
    if !found && problems.is_empty() {
        let message = format!("there is no emulator `{}`", name.text);
        problems.push(&name.span, message, nearest::suggest(&name.text, names));
    }
    found
}

/// Reports a quantity that the flow of that name, or the flows of its count, do not have.
fn check_flow(
    name: &Name,
    key: &Name,
    quantity: &Quantity,
    flows: &[Flow],
    problems: &mut Problems,
) {
    // Flows are complete only if there are no other problems.
    if !problems.is_empty() {
        return;
    }
    let single = flows.iter().any(|flow| flow.name == name.text);
    let entity = if single { Entity::Flow } else { Entity::Group };
    if !quantities(&[entity]).iter().any(|known| known.name == quantity.name) {
        let message = format!("`{}` has no `{}`", name.text, quantity.name);
        let help = match single {
            true => "only the flows of a `count` or a `matrix` have it, together".to_owned(),
            false => format!("name one flow: \"{}.1\"", name.text),
        };
        return problems.push(&key.span, message, help);
    }
    check_lacking(name, key, quantity, flows, problems);
}

/// Reports at `at` what the flow of that name, or the first flow of its count, lacks for a quantity.
fn check_lacking(
    name: &Name,
    at: &Name,
    quantity: &Quantity,
    flows: &[Flow],
    problems: &mut Problems,
) {
    let flow = flows.iter().find(|flow| is_of(&flow.name, &name.text));
    if let Some([lacks, help]) = flow.and_then(|flow| flow.lacks(quantity))
        && problems.is_empty()
    {
        problems.push(&at.span, format!("`{}` has no {lacks}", name.text), help);
    }
}

/// Reports an unknown size bucket of completion times.
fn check_bucket(bucket: &Name, problems: &mut Problems) {
    let known = SIZE_BUCKETS.map(|(name, _)| name);
    if !known.contains(&bucket.text.as_str()) {
        let message = format!("there is no size `{}`", bucket.text);
        problems.push(&bucket.span, message, format!("they are {}", known.join(", ")));
    }
}

/// Reports a quantity of a part that neither direction of a link has.
fn check_link(name: &Name, key: &Name, part: Part, network: &Network<'_>, problems: &mut Problems) {
    let nodes = &network.nodes.list;
    let mut own = network.links.list.iter().filter(|link| is_of(&link.name, &name.text));
    if !problems.is_empty() || own.any(|link| [0, 1].iter().any(|end| link.has(*end, part, nodes)))
    {
        return;
    }
    let (name, key) = (&name.text, key);
    let (message, help) = match part {
        Part::Pauses => (
            format!("no end of `{name}` pauses the other: there is no `{}`", key.text),
            "give a switch there `lossless` priorities, or name another link",
        ),
        Part::Notifications => (
            format!(
                "no switch sends congestion notifications for `{name}`: there is no `{}`",
                key.text
            ),
            "set `qcn` priorities on a switch",
        ),
        _ => (
            format!("`{name}` has no impairments, so it has no `{}`", key.text),
            "add an impairment to the link, such as `loss`, or name another link",
        ),
    };
    problems.push(&key.span, message, help);
}

/// Reports judged sojourn times that the file excludes from recording.
fn no_sojourn(name: &Name, problems: &mut Problems) {
    let message = format!("sojourn times at `{}` are not counted", name.text);
    problems.push(&name.span, message, "remove `automatic = false` from [probe]");
}

/// Checks that a discipline at either end has the class, from the start or by a change.
fn check_classes<T>(
    name: &Name,
    table: &Table<T>,
    network: &Network<'_>,
    changes: &[Change],
    problems: &mut Problems,
) {
    if table.iter().len() == 0 {
        return;
    }
    let links = network.links.list.iter().enumerate();
    let mut known = Vec::new();
    for (index, link) in links.filter(|(_, link)| link.name == name.text) {
        known.extend((0..2).flat_map(|end| classes::of_end(link, 2 * index + end, changes)));
    }
    for (class, _) in table.iter() {
        if problems.is_empty() && !known.contains(&class.text) {
            let help = nearest::suggest(&class.text, known.iter().map(String::as_str));
            problems.push(&class.span, format!("there is no class `{}`", class.text), help);
        }
    }
}
