//! Applies the changes of the command line to the file's tables.

use network::node::NodeKind;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::path::{Segment, keys};
use super::{Document, Override};
use crate::diagnostic::Problems;
use crate::{nearest, structure};

/// The value that removes a setting, unless it is a valid value of that setting.
const NONE: &str = "none";

impl Document {
    /// Applies `change` to the tables below `root`.
    pub(super) fn apply<'d>(
        &'d self,
        change: &'d Override,
        root: &mut Spanned<DeTable<'d>>,
        to: &mut Problems,
    ) {
        match self.value(&change.value) {
            Ok(value) if is_none(value.get_ref(), &change.path) => {
                unset(&change.path, root.get_mut(), to);
            }
            Ok(value) => self.insert(&change.path, value, root.get_mut(), to),
            Err(message) => to.push(&change.value.span, message, "write a TOML value"),
        }
    }

    fn insert<'d>(
        &'d self,
        path: &'d [Segment],
        value: Spanned<DeValue<'d>>,
        root: &mut DeTable<'d>,
        to: &mut Problems,
    ) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut table = root;
        for (depth, segment) in parents.iter().enumerate() {
            let is_there = table.contains_key(segment.key.as_str());
            if is_name(path, depth) && !is_there && !self.makes(&path[..=depth]) {
                return missing(path, depth, table, to);
            }
            make_room(table, &segment.key);
            let key = Spanned::new(segment.span.clone(), segment.key.as_str().into());
            let fresh = || Spanned::new(segment.span.clone(), DeValue::Table(DeTable::new()));
            match table.entry(key).or_insert_with(fresh).get_mut() {
                DeValue::Table(inner) => table = inner,
                _ => {
                    let message = format!("`{}` is not a table", segment.key);
                    return to.push(&segment.span, message, "end the path there");
                }
            }
        }
        make_room(table, &last.key);
        let key = Spanned::new(last.span.clone(), last.key.as_str().into());
        table.insert(key, value);
    }

    /// Whether the change sets all required keys of an entity, so that the file need not contain it. An entity
    /// without required keys could be a misspelt name, unless it is set as a whole.
    fn makes(&self, entity: &[Segment]) -> bool {
        let entity = keys(entity);
        let required = structure::required(&entity);
        let is_set = |name: &&str| {
            self.overrides.iter().any(|change| {
                let path = keys(&change.path);
                path.starts_with(&entity) && path.get(entity.len()) == Some(name)
            })
        };
        !required.is_empty() && required.iter().all(is_set)
    }
}

/// Whether the value removes the entry at `path`.
fn is_none(value: &DeValue<'_>, path: &[Segment]) -> bool {
    matches!(value, DeValue::String(text) if text == NONE)
        && !structure::takes_word(&keys(path), NONE)
}

/// Removes the entry at `path`. Without an entry, only an impossible path is an error.
fn unset(path: &[Segment], root: &mut DeTable<'_>, to: &mut Problems) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut table = root;
    for (depth, segment) in parents.iter().enumerate() {
        if is_name(path, depth) && !table.contains_key(segment.key.as_str()) {
            return missing(path, depth, table, to);
        }
        match table.get_mut(segment.key.as_str()).map(Spanned::get_mut) {
            Some(DeValue::Table(inner)) => table = inner,
            _ => return known(path, to),
        }
    }
    if table.remove(last.key.as_str()).is_none() {
        if is_name(path, parents.len()) {
            return missing(path, parents.len(), table, to);
        }
        known(path, to);
    }
}

/// Reports the first unknown key of a path.
fn known(path: &[Segment], to: &mut Problems) {
    let all = keys(path);
    for (depth, segment) in path.iter().enumerate() {
        if !structure::has(&all[..=depth]) {
            let below = structure::keys_below(&all[..depth]);
            let help = structure::of_direction(&segment.key, &below)
                .unwrap_or_else(|| nearest::suggest(&segment.key, below));
            return to.push(&segment.span, format!("there is no key `{}`", segment.key), help);
        }
    }
}

/// Reports that `table` has no entity of the name at `depth` of the path.
fn missing(path: &[Segment], depth: usize, table: &DeTable<'_>, to: &mut Problems) {
    let names = table.keys().map(|key| &**key.get_ref());
    let message = format!("there is no {} `{}`", path[depth - 1].key, path[depth].key);
    to.push(&path[depth].span, message, nearest::suggest(&path[depth].key, names));
}

/// Whether the key at `depth` of a path is the name of an entity, which must exist.
fn is_name(path: &[Segment], depth: usize) -> bool {
    let kinds = NodeKind::REGISTRY.iter().map(|kind| kind.name);
    let mut entities = kinds.chain(["link", "flow", "change"]);
    match (depth, path[0].key.as_str()) {
        (1, "probe" | "expect") => false,
        (1, table) => entities.any(|entity| entity == table),
        (2, "probe") => ["bandwidth", "sequence", "capture"].contains(&path[1].key.as_str()),
        _ => false,
    }
}

/// Removes the discipline in the file, because a queue has only one.
fn make_room(table: &mut DeTable<'_>, key: &str) {
    let disciplines = traffic::qdisc::REGISTRY.iter().map(|d| d.name);
    if disciplines.clone().any(|name| name == key) {
        for other in disciplines.filter(|&name| name != key) {
            table.remove(other);
        }
    }
}
