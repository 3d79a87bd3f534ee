//! The rates that a plan configures for ports and classes, for comparison with measured ones.

use base::setting::{Classes, Settings, Value};
use base::{Instant, Rate};
use network::PortId;
use record::summary::Named;
use scenario::Plan;
use scenario::plan::{Action, End, Link, NodeKind};
use traffic::qdisc;

use super::{Class, Port};

/// The names of a class's rate in all disciplines; the first that is set counts.
const RATES: [&str; 4] = ["rate", "real_time_m2", "link_share_m2", "bandwidth"];

/// Every port of `plan` in the order of their numbers, with empty counters.
pub fn ports(plan: &Plan) -> Vec<(String, Port)> {
    let ids = (0..).map(PortId).take(2 * plan.links.len());
    ids.map(|id| {
        let (link, end) = place(plan, id);
        (format!("{}:{}", plan.nodes[end.node].name, link.name), of(plan, id))
    })
    .collect()
}

/// The port `id` of `plan`, with empty counters.
pub fn of(plan: &Plan, id: PortId) -> Port {
    port(plan, id, &place(plan, id).1.queue)
}

fn place(plan: &Plan, PortId(id): PortId) -> (&Link, &End) {
    let link = &plan.links[id as usize / 2];
    (link, &link.ends[id as usize % 2])
}

/// Every port of `plan` after the changes up to `now`.
pub fn ports_at(plan: &Plan, now: Instant) -> Vec<(String, Port)> {
    let mut plan = plan.clone();
    let mut ports = ports(&plan);
    for change in std::mem::take(&mut plan.changes).iter().filter(|change| change.when <= now) {
        let Some((id, action)) = change.of_port() else { continue };
        if let Some((_, port)) = ports.get_mut(id.0 as usize) {
            apply(port, &mut plan, id, action);
        }
    }
    ports
}

/// Applies a change to the port `at`; `plan` takes the queue of a switch of disciplines.
pub fn apply(at: &mut Port, plan: &mut Plan, id: PortId, action: &Action) {
    match action {
        Action::Switch(queue) => {
            plan.links[id.0 as usize / 2].ends[id.0 as usize % 2].queue = queue.clone();
            *at = of(plan, id);
        }
        Action::Reserve(request) => {
            let class = Class {
                parent: request.parent.clone(),
                promised_rate: Some(bytes(request.rate)),
                ..Class::default()
            };
            at.class.0.push((request.name.clone(), class));
        }
        Action::Release(name) => at.class.0.retain(|(class, _)| class != name),
        // A plain FIFO takes over.
        Action::Disable => {
            let line_rate = at.line_rate;
            *at = Port { discipline: "fifo".into(), line_rate, ..Port::default() };
        }
        Action::Enable => *at = of(plan, id),
        Action::Rate(rate) => at.line_rate = Some(bytes(*rate)),
    }
}

/// A port of `plan` with the discipline `queue`.
fn port(plan: &Plan, id: PortId, queue: &qdisc::Parameters) -> Port {
    let (_, end) = place(plan, id);
    let line = end.direction.rate;
    if let NodeKind::Emulator(config) = &plan.nodes[end.node].kind {
        return Port {
            discipline: "emulator".into(),
            line_rate: Some(bytes(line)),
            promised_rate: Some(bytes(config.rate)),
            ..Port::default()
        };
    }
    of_queue(queue, line)
}

/// A port with that discipline at a line of that rate, with empty counters.
pub fn of_queue(queue: &qdisc::Parameters, line: Rate) -> Port {
    let settings = queue.as_settings();
    Port {
        discipline: queue.name().into(),
        line_rate: Some(bytes(line)),
        promised_rate: rate(settings),
        class: Named(settings.classes().map(|all| classes(all, line)).unwrap_or_default()),
        ..Port::default()
    }
}

fn classes(all: &dyn Classes, line: Rate) -> Vec<(String, Class)> {
    let each = (0..all.count()).map(|index| all.class(index));
    let weights: u64 = each.clone().filter_map(|(.., settings)| weight(settings)).sum();
    let class = |(name, parent, settings): (&str, Option<&str>, &dyn Settings)| {
        let promised = rate(settings).or_else(|| part(settings, weights).map(|p| p * bytes(line)));
        let parent = parent.map(Into::into);
        (name.to_owned(), Class { parent, promised_rate: promised, ..Class::default() })
    };
    each.map(class).collect()
}

/// The configured rate.
fn rate(settings: &dyn Settings) -> Option<f64> {
    let given = RATES.into_iter().find_map(|name| settings.get(name))?;
    if let Value::Rate(rate) = given { Some(bytes(rate)) } else { None }
}

/// The configured part of the line rate: as a share, in percent, or by weight.
fn part(settings: &dyn Settings, weights: u64) -> Option<f64> {
    match (settings.get("share"), settings.get("percent")) {
        (Some(Value::Share(share)), _) => Some(f64::from(share.0) / 2f64.powi(32)),
        (_, Some(Value::Count(percent))) => Some(percent as f64 / 100.0),
        _ => weight(settings).map(|weight| weight as f64 / weights.max(1) as f64),
    }
}

/// The weight of a class of `drr`, unless a quantum is set. The weights of `wfq` are per flow.
fn weight(settings: &dyn Settings) -> Option<u64> {
    let turns = settings.settings().iter().any(|setting| setting.name == "quantum");
    match (settings.get("quantum"), settings.get("weight")) {
        (None, Some(Value::Count(weight))) if turns => Some(weight),
        _ => None,
    }
}

/// A rate in bytes per second.
fn bytes(rate: Rate) -> f64 {
    rate.bits_per_second() as f64 / 8.0
}

#[cfg(test)]
mod tests {
    use scenario::Document;

    use super::*;

    fn promised(queue: &str) -> Vec<(String, Option<f64>)> {
        let text = format!(
            r#"
            duration = "1 s"
            [host.a]
            [router.r]
            [host.b]
            [link.in]
            between = ["a", "r"]
            rate = "1 Gbit/s"
            [link.out]
            between = ["r", "b"]
            rate = "80 Mbit/s"
            {queue}"#
        );
        let plan = Document::parse("test", &text).and_then(|document| document.plan());
        let ports = ports(&plan.unwrap_or_else(|errors| panic!("{:?}", errors.diagnostics())));
        let (name, port) = &ports[2];
        assert_eq!((name.as_str(), port.line_rate), ("r:out", Some(10e6)));
        let classes = port.class.0.iter().map(|(name, class)| (name.clone(), class.promised_rate));
        [(String::new(), port.promised_rate)].into_iter().chain(classes).collect()
    }

    #[test]
    fn a_port_that_is_disabled_has_a_fifo_until_it_is_enabled() {
        let change =
            |name: &str, what: &str| format!("[change.{name}]\nat = \"r:out\"\nwhen = \"{what}\n");
        let text = [
            "duration = \"9 s\"\n[host.a]\n[router.r]\n[host.b]\n".to_owned(),
            "[link.in]\nbetween = [\"a\", \"r\"]\nrate = \"1 Gbit/s\"\n".to_owned(),
            "[link.out]\nbetween = [\"r\", \"b\"]\nrate = \"1 Gbit/s\"\n".to_owned(),
            change("one", "1 s\"\nqueue.drr.class = { a = { match = {} }, b = {} }"),
            change("two", "2 s\"\nenabled = false"),
            change("three", "3 s\"\nenabled = true"),
        ];
        let plan = Document::parse("test", &text.concat()).and_then(|document| document.plan());
        let plan = plan.unwrap_or_else(|errors| panic!("{:?}", errors.diagnostics()));
        let told = [0, 1, 2, 3].map(|second| {
            let now = Instant::ZERO + base::Duration::from_ms(1_000 * second + 500);
            let (_, port) = ports_at(&plan, now).swap_remove(2);
            (port.discipline, port.class.0.len())
        });
        let wanted = [("fifo", 0), ("drr", 2), ("fifo", 0), ("drr", 2)];
        assert_eq!(told, wanted.map(|(name, classes)| (name.to_owned(), classes)));
    }

    #[test]
    fn every_kind_of_promise_is_a_rate() {
        let of = |name: &str, rate| (name.to_owned(), rate);
        let cbq = r#"[link.out.at.r.queue.cbq]
            default = "rest"
            class.web = { rate = "20 Mbit/s", match = { destination_port = "80" } }
            class.rest = { share = "50 %" }"#;
        assert_eq!(promised(cbq), [of("", None), of("web", Some(2.5e6)), of("rest", Some(5e6))]);
        let drr = r#"[link.out.at.r.queue.drr]
            default_class = "rest"
            class.web = { weight = 3, match = { destination_port = "80" } }
            class.rest = { weight = 1 }"#;
        assert_eq!(promised(drr), [of("", None), of("web", Some(7.5e6)), of("rest", Some(2.5e6))]);
        let tbr = r#"at.r.queue.tbr = { rate = "8 Mbit/s" }"#;
        assert_eq!(promised(tbr), [of("", Some(1e6))]);
    }
}
