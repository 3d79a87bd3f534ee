//! The parameters of our congestion control in a guest kernel. A kernel has one set per algorithm, from its command
//! line.

use base::Fault;
use congestion::Config;
use scenario::Plan;

/// The kernel command line words for the flows of kernels, as in `sui_vegas.alpha=3`; an algorithm at its defaults
/// needs none.
///
/// # Errors
/// If two flows set an algorithm differently.
pub(super) fn words(plan: &Plan) -> Result<Vec<String>, Fault> {
    let mut set: Vec<Config> = Vec::new();
    for config in plan.congestion(|flow| plan.is_simulated(flow) && !plan.is_modelled(flow)) {
        match set.iter().find(|it| it.algorithm().name() == config.algorithm().name()) {
            Some(before) if *before != config => return Err(two(before, &config)),
            Some(_) => {}
            None => set.push(config),
        }
    }
    let words = set.iter().flat_map(|config| {
        let name = config.algorithm().kernel_name();
        let changed = config.parameters().filter(|(it, value)| *value != it.default());
        changed.map(move |(it, value)| format!("{name}.{}={value}", it.name()))
    });
    Ok(words.collect())
}

fn two(one: &Config, other: &Config) -> Fault {
    let values_of = |config: &Config| {
        let values = config.parameters().map(|(it, value)| format!("{} = {value}", it.name()));
        values.collect::<Vec<_>>().join(", ")
    };
    let name = one.algorithm().name();
    Fault::usage(
        format!(
            "flows between hosts with a `kernel` set `{name}` differently: {}; and {}",
            values_of(one),
            values_of(other)
        ),
        "a guest kernel has one set of parameters: use the same for all these flows, or run it with --on lab",
    )
}

#[cfg(test)]
mod tests {
    use scenario::Document;

    use super::*;

    /// The words for these flows from `a` to `b`, which have kernels, and from `c` to `d`, which have none.
    fn words_of(flows: &str) -> Result<Vec<String>, Fault> {
        let hosts = "[host.a]\nkernel = \"linux-6.12\"\n[host.b]\nkernel = \"linux-6.12\"\n[host.c]\n[host.d]\n\
                     [link.real]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\n\
                     [link.model]\nbetween = [\"c\", \"d\"]\nrate = \"10 Mbit/s\"\n";
        let text = format!("duration = \"1 s\"\n{hosts}{flows}");
        let plan = Document::parse("test.toml", &text).and_then(|document| document.plan());
        words(&plan.unwrap_or_else(|errors| panic!("{errors}")))
    }

    fn flow(name: &str, [from, to]: [&str; 2], congestion: &str) -> String {
        format!("[flow.{name}]\nfrom = \"{from}\"\nto = \"{to}\"\ncongestion = {congestion}\n")
    }

    #[test]
    fn what_differs_from_the_defaults_is_a_word_each() {
        let vegas = flow("one", ["a", "b"], "{ vegas = { alpha = 3, beta = 6 } }");
        let same = flow("two", ["b", "a"], "{ vegas = { beta = 6, alpha = 3 } }");
        let words = words_of(&(vegas + &same + &flow("three", ["a", "b"], "\"cubic\"")));
        assert_eq!(words.expect("one setting"), ["sui_vegas.alpha=3", "sui_vegas.beta=6"]);
        assert_eq!(words_of(&flow("one", ["a", "b"], "\"vegas\"")).expect("none"), [""; 0]);
    }

    #[test]
    fn two_settings_of_an_algorithm_are_refused() {
        let set = flow("one", ["a", "b"], "{ vegas = { alpha = 3 } }");
        let refused = words_of(&(set.clone() + &flow("two", ["a", "b"], "\"vegas\"")));
        let refused = refused.expect_err("two settings").to_string();
        let expected = "set `vegas` differently: alpha = 3, beta = 4, gamma = 1; and alpha = 2, ";
        assert!(refused.contains(expected), "{refused}");
        // Modelled hosts may have any number of sets.
        let words = words_of(&(set + &flow("two", ["c", "d"], "\"vegas\"")));
        assert_eq!(words.expect("one setting"), ["sui_vegas.alpha=3"]);
    }

    #[test]
    fn a_change_sets_it_too() {
        let change = "[change.c]\nwhen = \"500 ms\"\nflow = \"one\"\ncongestion = { vegas = { gamma = 2 } }\n";
        let words = words_of(&(flow("one", ["a", "b"], "\"newreno\"") + change));
        assert_eq!(words.expect("one setting"), ["sui_vegas.gamma=2"]);
    }
}
