//! The keys of a host that no setting of a machine has.

use scenario::capability::Support;

use super::super::capability::CAPABILITIES;
use super::draft::{Draft, FlowEnd};
use super::{pacing, sysctls};

/// Notes the keys of the host and of its flows that ask for what a policy lacks.
pub(super) fn add_lacking(draft: &mut Draft<'_>, node: usize) {
    let request = draft.request;
    let flows = request.plan.flows.iter().filter(|flow| flow.from == node || flow.to == node);
    let mut owners = vec![("host", request.host)];
    owners.extend(flows.map(|flow| ("flow", &*flow.name)));
    for capability in CAPABILITIES {
        let Support::Lacking(why) = capability.support else { continue };
        for (table, name) in &owners {
            let pattern = format!("{table}.*.");
            let keys = capability.feature.keys();
            for key in keys.iter().filter_map(|key| key.strip_prefix(&*pattern)) {
                if let Some(place) = draft.place(table, name, &[key]) {
                    draft.note(format!("not set on a host: {place} ({why})"));
                }
            }
        }
    }
}

/// Notes the keys that the file gives and nothing sets.
pub(super) fn add(draft: &mut Draft<'_>, ends: &[FlowEnd<'_>]) {
    for end in ends {
        let paced = |draft: &Draft<'_>| {
            end.writes()
                && end.link().is_some_and(|link| pacing::wanted(draft, ends, link).is_some())
        };
        let (flow, table) = (&end.flow.name, end.table());
        // The tables first: a key is looked up in the whole file.
        if draft.place("flow", flow, &[table]).is_none() {
            continue;
        }
        if !end.writes() {
            note(draft, end, &["algorithm"]);
        }
        for (section, _, settings) in end.config.sections() {
            if draft.place("flow", flow, &[table, section]).is_none() {
                continue;
            }
            for setting in settings.settings() {
                let is_set = match (section, setting.name) {
                    ("emission", "pacing") => paced(draft),
                    (section, key) => is_set(end, section, key),
                };
                if !is_set {
                    note(draft, end, &[section, setting.name]);
                }
            }
        }
    }
}

fn note(draft: &mut Draft<'_>, end: &FlowEnd<'_>, keys: &[&str]) {
    let path: Vec<&str> = [end.table()].iter().chain(keys).copied().collect();
    if let Some(place) = draft.place("flow", &end.flow.name, &path) {
        draft.note(format!("not set on a host: {place}"));
    }
}

/// Whether a key of the end's table is set.
fn is_set(end: &FlowEnd<'_>, section: &str, key: &str) -> bool {
    match (section, key) {
        ("window", "initial") | ("rto", "min") | ("buffers", "send") => end.writes(),
        ("buffers", "receive") => end.reads(),
        // The device's own choice stays, unless TCP may not pass it several segments at once.
        ("emission", "tso") => !end.config.emission.tso,
        _ => sysctls::has(section, key),
    }
}
