//! The distributions and traces of a plan, most of them from files, with their means, for comparison with what the
//! author of a file states.

use base::setting::{Settings, Value};
use base::{Bytes, Distribution, Duration, Rate};
use network::trace::Trace;

use crate::literal::key;
use crate::lock::Groups;
use crate::plan::{End, Plan, Transport};
use crate::units::{Unit, Units};
use crate::workload;

/// A distribution or a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its key in the scenario: `flow.web.bytes`.
    pub key: String,
    /// Its mean.
    pub mean: Mean,
}

/// The mean of a distribution or a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mean {
    /// A mean of sizes.
    Size(Bytes),
    /// A mean of times.
    Time(Duration),
    /// The mean of a trace over its duration: IP packets of 1500 bytes.
    Rate(Rate),
}

impl Mean {
    /// The text for people.
    pub fn text(self, units: Units) -> String {
        let (unit, value) = self.measured(units);
        unit.text(value)
    }

    /// Its unit, and its value in bytes, seconds or bytes per second.
    pub(crate) fn measured(self, units: Units) -> (Unit, f64) {
        match self {
            Self::Size(Bytes(bytes)) => (units.size, bytes as f64),
            Self::Time(time) => (units.time, time.as_secs_f64()),
            Self::Rate(rate) => (units.rate, rate.bits_per_second() as f64 / 8.0),
        }
    }
}

/// The inputs of a plan, flows before links, without duplicate keys. Members of a `count` share one.
pub fn inputs(plan: &Plan) -> Vec<Input> {
    let groups = Groups::of(plan);
    let mut all = Vec::new();
    for group in &groups.flows {
        let (first, flow) = (&plan.flows[group.range.start], groups.flow_path(group.range.start));
        of_settings(&flow, &*first.demand, &mut all);
        match &first.transport {
            Transport::Tcp(tcp) => {
                if let Some((table, settings)) = workload::settings(&tcp.workload) {
                    of_settings(&format!("{flow}.{table}"), settings, &mut all);
                }
                of_settings(&format!("{flow}.read"), &tcp.reader, &mut all);
            }
            Transport::Udp(udp) => {
                if let Some((table, settings)) = workload::settings(&udp.workload) {
                    of_settings(&format!("{flow}.{table}"), settings, &mut all);
                }
            }
            Transport::Program(_) => {}
        }
    }
    for (number, link) in plan.links.iter().enumerate() {
        let ends = [0, 1].map(|end| of_end(&link.ends[end]));
        if ends[0] == ends[1] {
            let [both, _] = ends;
            add(both, [groups.link_path(number), format!("link.{}", key(&link.name))], &mut all);
            continue;
        }
        for (end, own) in ends.into_iter().enumerate() {
            let node = &plan.nodes[link.ends[end].node].name;
            let alone = format!("link.{}.at.{}", key(&link.name), key(node));
            add(own, [groups.end_path(number, end), alone], &mut all);
        }
    }
    all
}

/// Adds the inputs of a member of a counted table under the table's path, or under the member's own path if they
/// differ from an earlier member's.
fn add(own: Vec<Input>, [table, alone]: [String; 2], all: &mut Vec<Input>) {
    for Input { key, mean } in own {
        let path = format!("{table}.{key}");
        match all.iter().find(|known| known.key == path) {
            Some(known) if known.mean == mean => {}
            Some(_) => all.push(Input { key: format!("{alone}.{key}"), mean }),
            None => all.push(Input { key: path, mean }),
        }
    }
}

/// The inputs of one direction of a link.
fn of_end(end: &End) -> Vec<Input> {
    let mut all = Vec::new();
    for own in &end.impairments {
        let mut found = Vec::new();
        of_settings(own.name(), own.as_settings(), &mut found);
        // An impairment with a single setting is written as the value of that setting.
        if own.settings().len() == 1 {
            found.iter_mut().for_each(|input| input.key = own.name().to_owned());
        }
        all.append(&mut found);
    }
    all.extend(
        end.trace.as_ref().map(|trace| Input { key: "trace".into(), mean: of_trace(trace) }),
    );
    all
}

fn of_trace(trace: &Trace) -> Mean {
    Mean::Rate(trace.mean_of_packets())
}

fn of_settings(path: &str, settings: &dyn Settings, all: &mut Vec<Input>) {
    for setting in settings.settings() {
        let mean = match settings.get(setting.name) {
            Some(Value::RandomBytes(sizes @ Distribution::Empirical(_))) => {
                Mean::Size(sizes.mean())
            }
            Some(Value::RandomTime(times @ Distribution::Empirical(_))) => Mean::Time(times.mean()),
            _ => continue,
        };
        all.push(Input { key: format!("{path}.{}", setting.name), mean });
    }
}
