//! Aliases: Linux's `reno` and `tbf`, and netem's parameters of a loss model.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// Congestion control algorithms.
const ALGORITHMS: [(&str, &str); 1] = [("reno", "newreno")];
/// Queueing disciplines.
const DISCIPLINES: [(&str, &str); 1] = [("tbf", "tbr")];
/// The keys of `gemodel` in tc-netem(8).
const GEMODEL: [(&str, &str); 4] =
    [("p", "to_bad"), ("r", "to_good"), ("1-h", "loss_bad"), ("1-k", "loss_good")];

fn of(aliases: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    aliases.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name)
}

/// The algorithm's own name.
pub(crate) fn algorithm(name: &str) -> &str {
    of(&ALGORITHMS, name).unwrap_or(name)
}

/// The discipline of an alias.
pub(crate) fn discipline(name: &str) -> Option<&'static str> {
    of(&DISCIPLINES, name)
}

/// Replaces aliases of disciplines and of `gemodel` keys everywhere in a table.
pub(crate) fn spell_out(table: &mut DeTable<'_>) {
    for (key, value) in table.iter_mut() {
        if let DeValue::Table(inner) = value.get_mut() {
            match key.get_ref().as_ref() {
                "queue" => spell_out_queue(inner),
                "gemodel" => rename(inner, &GEMODEL),
                _ => spell_out(inner),
            }
        }
    }
}

/// Replaces aliases in a queue's own table and in the queues within it.
pub(crate) fn spell_out_queue(queue: &mut DeTable<'_>) {
    rename(queue, &DISCIPLINES);
    spell_out(queue);
}

/// Replaces those keys of a table that are aliases.
fn rename(table: &mut DeTable<'_>, aliases: &[(&'static str, &'static str)]) {
    for &(alias, name) in aliases {
        if table.contains_key(name) {
            continue;
        }
        if let Some((key, value)) = table.remove_entry(alias) {
            table.insert(Spanned::new(key.span(), name.into()), value);
        }
    }
}
