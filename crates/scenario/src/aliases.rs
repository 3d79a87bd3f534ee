//! Other people's names for what there is here: Linux' `reno` and `tbf`.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// Congestion control algorithms.
const ALGORITHMS: [(&str, &str); 1] = [("reno", "newreno")];
/// Queueing disciplines.
const DISCIPLINES: [(&str, &str); 1] = [("tbf", "tbr")];

fn of(aliases: &[(&'static str, &'static str)], name: &str) -> Option<&'static str> {
    aliases.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name)
}

/// The algorithm's own name.
pub(crate) fn algorithm(name: &str) -> &str {
    of(&ALGORITHMS, name).unwrap_or(name)
}

/// The discipline that an alias stands for.
pub(crate) fn discipline(name: &str) -> Option<&'static str> {
    of(&DISCIPLINES, name)
}

/// Gives every queue below a table its discipline's own name.
pub(crate) fn spell_out(table: &mut DeTable<'_>) {
    for (key, value) in table.iter_mut() {
        let queue = key.get_ref() == "queue";
        if let DeValue::Table(inner) = value.get_mut() {
            if queue {
                spell_out_queue(inner);
            } else {
                spell_out(inner);
            }
        }
    }
}

/// The same of a queue's own table, and of the queues within.
pub(crate) fn spell_out_queue(queue: &mut DeTable<'_>) {
    for (alias, name) in DISCIPLINES {
        if queue.contains_key(name) {
            continue;
        }
        if let Some((key, value)) = queue.remove_entry(alias) {
            queue.insert(Spanned::new(key.span(), name.into()), value);
        }
    }
    spell_out(queue);
}
