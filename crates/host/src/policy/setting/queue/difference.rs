//! The settings in which disciplines differ, for people.

use base::Rate;
use base::setting::{Settings, Value};
use traffic::qdisc::Parameters;
use traffic_kernel::{netlink, table};

use super::{Part, Role, Tree};
use crate::rtnetlink::queue::{self as tca, TCA_OPTIONS};
use crate::wire::{attributes, hex, long, text, unhex, word};

/// The different settings of two trees, of each one; `None` if the disciplines are others.
pub(in super::super::super) fn differing(one: &Tree, other: &Tree) -> Option<[String; 2]> {
    let kinds = |tree: &Tree| tree.parts.iter().map(Part::kind).collect::<Vec<_>>();
    if one.parts.is_empty() || kinds(one) != kinds(other) {
        return None;
    }
    let different = one.parts.iter().zip(&other.parts).filter(|(one, other)| one != other);
    let texts: Vec<[String; 2]> = different.map(|(one, other)| part(one, other)).collect();
    let side = |side: usize| texts.iter().map(|it| &it[side][..]).collect::<Vec<_>>().join("; ");
    Some([side(0), side(1)])
}

/// The different settings of two parts of a kind.
fn part(one: &Part, other: &Part) -> [String; 2] {
    let (mine, theirs) = (settings(one), settings(other));
    let without = |all: &[String], others: &[String]| {
        let own: Vec<&str> =
            all.iter().filter(|it| !others.contains(it)).map(String::as_str).collect();
        if own.is_empty() { "not set".to_owned() } else { own.join(", ") }
    };
    let kind = one.kind();
    if mine == theirs {
        return ["one setting", "another one"].map(|text| format!("{kind}: {text}"));
    }
    [without(&mine, &theirs), without(&theirs, &mine)].map(|text| format!("{kind}: {text}"))
}

/// How a number of 32 bits is written.
#[derive(Clone, Copy)]
enum Unit {
    Number,
    Bytes,
    Microseconds,
}

/// An attribute, its name, and its number's unit.
type Known = (u16, &'static str, Unit);

/// The attributes that have such numbers, with the names that tc(8) has for them.
const NUMBERS: [(&str, &[Known]); 4] = {
    use Unit::{Bytes, Microseconds, Number};
    [
        (
            "codel",
            &[
                (tca::TCA_CODEL_LIMIT, "limit", Number),
                (tca::TCA_CODEL_TARGET, "target", Microseconds),
                (tca::TCA_CODEL_INTERVAL, "interval", Microseconds),
                (tca::TCA_CODEL_CE_THRESHOLD, "ce_threshold", Microseconds),
                (tca::TCA_CODEL_ECN, "ecn", Number),
            ],
        ),
        ("drr", &[(tca::TCA_DRR_QUANTUM, "quantum", Bytes)]),
        (
            "fq_codel",
            &[
                (tca::TCA_FQ_CODEL_LIMIT, "limit", Number),
                (tca::TCA_FQ_CODEL_FLOWS, "flows", Number),
                (tca::TCA_FQ_CODEL_QUANTUM, "quantum", Bytes),
                (tca::TCA_FQ_CODEL_TARGET, "target", Microseconds),
                (tca::TCA_FQ_CODEL_INTERVAL, "interval", Microseconds),
                (tca::TCA_FQ_CODEL_CE_THRESHOLD, "ce_threshold", Microseconds),
                (tca::TCA_FQ_CODEL_MEMORY_LIMIT, "memory_limit", Bytes),
                (tca::TCA_FQ_CODEL_ECN, "ecn", Number),
            ],
        ),
        (
            "pie",
            &[
                (tca::TCA_PIE_LIMIT, "limit", Number),
                (tca::TCA_PIE_TARGET, "target", Microseconds),
                (tca::TCA_PIE_TUPDATE, "tupdate", Microseconds),
                (tca::TCA_PIE_ALPHA, "alpha", Number),
                (tca::TCA_PIE_BETA, "beta", Number),
                (tca::TCA_PIE_ECN, "ecn", Number),
            ],
        ),
    ]
};

/// The settings of a part, as far as they are known: those of the disciplines that policies have.
fn settings(part: &Part) -> Vec<String> {
    let kind = part.kind();
    let all = attributes(&unhex(&part.attributes).unwrap_or_default());
    let options = all.into_iter().find(|(kind, _)| *kind == TCA_OPTIONS);
    let options = options.map(|(_, value)| value).unwrap_or_default();
    let number = |handle: u32| format!("{:x}:{:x}", handle >> 16, handle & 0xffff);
    let mut found =
        vec![format!("handle {}", number(part.handle)), format!("parent {}", number(part.parent))];
    match kind.as_str() {
        "pfifo" => found.push(format!("limit {} packets", word(&options, 0))),
        "bfifo" => found.push(format!("limit {} B", word(&options, 0))),
        "tbf" => found.extend(bucket_filter(&options)),
        "htb" => found.extend(bucket_class(&options)),
        "hfsc" => found.extend(curves(&options)),
        "prio" => found.push(format!("{} bands", word(&options, 0))),
        "red" => found.extend(early(&options)),
        "flower" => found.extend(matches(part.role, &options)),
        "suimon" | "psp" => found.extend(of_module(&options)),
        kind => {
            let known = NUMBERS.iter().find(|(name, _)| *name == kind);
            let given = attributes(&options);
            for (wanted, name, unit) in known.map(|(_, known)| *known).unwrap_or_default() {
                if let Some((_, value)) = given.iter().find(|(kind, _)| kind == wanted) {
                    let value = word(value, 0);
                    found.push(match unit {
                        Unit::Number => format!("{name} {value}"),
                        Unit::Bytes => format!("{name} {value} B"),
                        Unit::Microseconds => format!("{name} {value} us"),
                    });
                }
            }
        }
    }
    found
}

/// The settings of a TBF: `struct tc_tbf_qopt`, whose burst is a time.
fn bucket_filter(options: &[u8]) -> Vec<String> {
    /// Nanoseconds of a tick (`PSCHED_SHIFT`).
    const TICK: u64 = 64;
    let given = attributes(options);
    let value =
        |wanted: u16| given.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let Some(qopt) = value(tca::TCA_TBF_PARMS) else { return Vec::new() };
    let rate = value(tca::TCA_TBF_RATE64).map_or(word(qopt, 8).into(), |rate| long(rate, 0));
    let burst = u128::from(u64::from(word(qopt, 28)) * TICK) * u128::from(rate) / 1_000_000_000;
    vec![
        format!("rate {}", bits(rate.saturating_mul(8))),
        format!("burst {burst} B"),
        format!("limit {} B", word(qopt, 24)),
    ]
}

/// The settings of a class of HTB: `struct tc_htb_opt`.
fn bucket_class(options: &[u8]) -> Vec<String> {
    let given = attributes(options);
    let value =
        |wanted: u16| given.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    if let Some(glob) = value(tca::TCA_HTB_INIT) {
        return vec![format!("default {:x}", word(glob, 8))];
    }
    let Some(opt) = value(tca::TCA_HTB_PARMS) else { return Vec::new() };
    let rate = |exact: u16, at: usize| {
        let bytes = value(exact).map_or(word(opt, at).into(), |rate| long(rate, 0));
        bits(bytes.saturating_mul(8))
    };
    vec![
        format!("rate {}", rate(tca::TCA_HTB_RATE64, 8)),
        format!("ceil {}", rate(tca::TCA_HTB_CEIL64, 20)),
        format!("buffer {} ticks", word(opt, 24)),
        format!("cbuffer {} ticks", word(opt, 28)),
        format!("quantum {} B", word(opt, 32)),
        format!("prio {}", word(opt, 40)),
    ]
}

/// The curves of a class of HFSC: `struct tc_service_curve`. The discipline itself has a default class instead.
fn curves(options: &[u8]) -> Vec<String> {
    const NAMES: [(u16, &str); 3] =
        [(tca::TCA_HFSC_RSC, "rt"), (tca::TCA_HFSC_FSC, "ls"), (tca::TCA_HFSC_USC, "ul")];
    if let &[low, high] = options {
        return vec![format!("default {:x}", u16::from_ne_bytes([low, high]))];
    }
    let mut found = Vec::new();
    for (kind, value) in attributes(options) {
        let name = NAMES.iter().find(|(number, _)| *number == kind).map_or("?", |(_, name)| name);
        let slope = |at: usize| bits(u64::from(word(&value, at)) * 8);
        found.push(format!("{name} m1 {} d {} us m2 {}", slope(0), word(&value, 4), slope(8)));
    }
    found
}

/// The settings of a RED: `struct tc_red_qopt`.
fn early(options: &[u8]) -> Vec<String> {
    let given = attributes(options);
    let value =
        |wanted: u16| given.iter().find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let Some(qopt) = value(tca::TCA_RED_PARMS) else { return Vec::new() };
    let mut found = vec![
        format!("limit {} B", word(qopt, 0)),
        format!("min {} B", word(qopt, 4)),
        format!("max {} B", word(qopt, 8)),
    ];
    let bytes = qopt.get(12..16).unwrap_or_default();
    let names = ["weight 2^-", "scale 2^-", "cell 2^", "flags "];
    found.extend(names.iter().zip(bytes).map(|(name, byte)| format!("{name}{byte}")));
    found.extend(value(tca::TCA_RED_MAX_P).map(|most| format!("probability {}", word(most, 0))));
    found
}

/// A filter: its priority, its class, and its conditions as numbers.
fn matches(role: Role, options: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    if let Role::Filter(info) = role {
        found.push(format!("pref {}", info >> 16));
    }
    for (kind, value) in attributes(options) {
        found.push(match kind {
            tca::TCA_FLOWER_CLASSID => {
                format!("flowid {:x}:{:x}", word(&value, 0) >> 16, word(&value, 0) & 0xffff)
            }
            kind => format!("key {kind} {}", hex(&value)),
        });
    }
    found
}

fn bits(rate: u64) -> String {
    Rate::from_bits_per_second(rate).map_or("0 bit/s".to_owned(), |rate| rate.to_string())
}

/// The settings of a discipline of the module.
fn of_module(options: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for (kind, value) in attributes(options) {
        match kind {
            netlink::TABLE => {
                let table = text(&value);
                match table::read(&table) {
                    Ok(parameters) => of_discipline(&mut found, "", &parameters),
                    Err(_) => found.extend(table.lines().map(str::to_owned)),
                }
                found.extend(filters(&table));
            }
            netlink::RATE => found.push(format!("line {}", bits(long(&value, 0)))),
            netlink::OVERHEAD => found.push(format!("overhead {} B", word(&value, 0))),
            netlink::GAP => found.push(match word(&value, 0) {
                netlink::GAP_LOCAL => "gap local".to_owned(),
                _ => "gap pause".to_owned(),
            }),
            _ => {}
        }
    }
    found
}

/// The discipline with its settings and classes, each after `before`.
fn of_discipline(found: &mut Vec<String>, before: &str, parameters: &Parameters) {
    found.push(format!("{before}{}", parameters.name()));
    let own = parameters.as_settings();
    of_settings(found, before, own);
    let Some(classes) = own.classes() else { return };
    for (name, parent, class) in (0..classes.count()).map(|index| classes.class(index)) {
        let parent = parent.map(|parent| format!(" in {parent}")).unwrap_or_default();
        found.push(format!("{before}class {name}{parent}"));
        of_settings(found, &format!("{before}class {name} "), class);
    }
}

fn of_settings(found: &mut Vec<String>, before: &str, settings: &dyn Settings) {
    for setting in settings.settings() {
        let name = setting.name;
        let value = settings.get(name);
        if let Some(queue) = value.as_ref().and_then(Parameters::of) {
            of_discipline(found, &format!("{before}{name} "), queue);
            continue;
        }
        let value = match value {
            Some(Value::Rate(rate)) => rate.to_string(),
            Some(Value::Bytes(bytes)) => format!("{} B", bytes.0),
            Some(Value::Time(time) | Value::Frequency(time)) => {
                format!("{} ms", time.as_ns() as f64 / 1e6)
            }
            Some(Value::Flag(flag)) => flag.to_string(),
            Some(Value::Count(count)) => count.to_string(),
            Some(Value::Share(share)) => share.to_string(),
            Some(Value::Choice(word)) => word.to_owned(),
            Some(value) => format!("{value:?}"),
            None => continue,
        };
        found.push(format!("{before}{name} {value}"));
    }
}

/// The filters of a table, each in one line.
fn filters(table: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut within = false;
    for line in table.lines() {
        match (within, line) {
            (true, "end") => within = false,
            (true, line) => found.iter_mut().last().into_iter().for_each(|filter| {
                filter.push(' ');
                filter.push_str(line);
            }),
            (false, line) if line.starts_with("filter ") => {
                found.push(line.to_owned());
                within = true;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtnetlink::queue::TC_H_ROOT;
    use crate::wire::push;

    fn tree(table: &str, line: u64) -> Tree {
        let mut options = Vec::new();
        push(&mut options, netlink::TABLE, format!("{table}\0").as_bytes());
        push(&mut options, netlink::RATE, &line.to_ne_bytes());
        let part = Part::new(TC_H_ROOT, 0x5100_0000, netlink::KIND, &options);
        Tree { parts: vec![part], ..Tree::default() }
    }

    #[test]
    fn different_settings_of_the_module_are_shown() {
        let of = |rate: &str, prefix: &str| {
            format!(
                "psp\nclass bulk\nrate {rate}\nend\nfilter bulk\npriority 0\ndestination {prefix}\nend\n"
            )
        };
        let one = tree(&of("40000000", "10.0.0.0/8"), 1_000_000_000);
        for (other, texts) in [
            (
                tree(&of("30000000", "10.0.0.0/8"), 1_000_000_000),
                ["suimon: class bulk rate 40 Mbit/s", "suimon: class bulk rate 30 Mbit/s"],
            ),
            (
                tree(&of("40000000", "10.9.0.0/16"), 50_000_000),
                [
                    "suimon: filter bulk priority 0 destination 10.0.0.0/8, line 1 Gbit/s",
                    "suimon: filter bulk priority 0 destination 10.9.0.0/16, line 50 Mbit/s",
                ],
            ),
        ] {
            assert_eq!(differing(&one, &other), Some(texts.map(str::to_owned)));
        }
        let other = Part::new(TC_H_ROOT, 0x5100_0000, "pfifo", &[0; 4]);
        let other = Tree { parts: vec![other], ..Tree::default() };
        assert_eq!(differing(&one, &other), None);
        assert_eq!(differing(&Tree::default(), &Tree::default()), None);
    }
}
