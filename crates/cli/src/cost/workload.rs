//! A discipline with as many classes and filters as a case asks for, whatever discipline it is.

use traffic::qdisc::{Parameters, Qdisc};
use traffic::setting::{Classes, Kind, Settings, Value};
use traffic::{Bytes, Discipline, Port, Rate};

use super::case::{Case, Load};
use super::filters;
use crate::failure::Failure;

/// So fast that a wire is no reason to wait.
const RATE: u64 = 100_000_000_000;

/// What is measured, before its first packet.
#[derive(Debug)]
pub(crate) struct Workload {
    /// The discipline.
    pub(crate) queue: Qdisc,
    /// What it serves.
    pub(crate) port: Port,
    /// The flows; flow `f` belongs to queue `f % queues`.
    pub(crate) flows: usize,
    /// Queues that always hold packets: the classes, or else the flows.
    pub(crate) queues: usize,
    /// Classes that it has.
    pub(crate) classes: usize,
    /// Filters that it has.
    pub(crate) filters: usize,
}

impl Workload {
    /// The discipline of `case`, attached.
    pub(crate) fn new(case: &Case) -> Result<Self, Failure> {
        let Load { flows, seed, .. } = case.load;
        let parameters = parameters(case)?;
        let given = parameters.settings().classes();
        let classes = given.map_or(0, Classes::count);
        let filters = given.map_or(0, |classes| classes.filters().len());
        let fitting = if classes == 0 { case.load.classes.max(1) } else { classes.max(filters) };
        let flows = flows.unwrap_or(fitting).max(1);
        let queues = if classes == 0 { flows } else { classes };
        let rate = Rate::from_bits_per_second(RATE).unwrap_or(Rate::MIN);
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed };
        let queue = Qdisc::attach(&parameters, port)?;
        Ok(Self { queue, port, flows, queues, classes, filters })
    }

    /// A plain FIFO under the same load, to compare with.
    pub(crate) fn plain(&self) -> Result<Self, Failure> {
        let queue = format!("fifo.packets = {}", u32::MAX);
        let queue = Qdisc::attach(&scenario::queue("fifo", &queue)?, self.port)?;
        Ok(Self { queue, ..*self })
    }
}

/// The parameters: the queue's own, and its class so many times as there are to be.
fn parameters(case: &Case) -> Result<Parameters, Failure> {
    let load = &case.load;
    let given = Parameters::blank(&case.queue).map_or_else(|| written(&case.queue), Ok)?;
    let mut all = Parameters::blank(given.name()).unwrap_or_else(|| given.clone());
    copy(given.settings(), all.settings_mut());
    let Some(of) = given.settings().classes() else { return Ok(all) };
    if of.count() > 1 {
        let message = format!("{} classes in `{}`", of.count(), case.queue);
        return Err(Failure::usage(
            message,
            "give one, of which --classes makes as many as it says",
        ));
    }
    let fresh = of.fresh();
    let model = if of.count() == 1 { of.class(0).2 } else { &*fresh };
    for place in 0..load.classes {
        let Some(classes) = all.settings_mut().classes_mut() else { break };
        let class = classes.add(&filters::class(place), None);
        copy(model, class);
        for setting in class.settings() {
            // What the model has of its own stays.
            let part = part(given.name(), setting.name, place, load);
            if model.get(setting.name) == fresh.get(setting.name)
                && let Some(part) = part
            {
                class.set(setting.name, part);
            }
        }
    }
    if load.classes > 0 {
        name_default(all.settings_mut(), &filters::class(load.classes - 1));
        let classes = all.settings_mut().classes_mut();
        classes.into_iter().for_each(|classes| filters::add(classes.filters_mut(), load));
    }
    Ok(all)
}

/// A queue as in a scenario; `red` alone is `red = {}`.
fn written(queue: &str) -> Result<Parameters, Failure> {
    let whole = if queue.contains('=') { queue.to_owned() } else { format!("{queue} = {{}}") };
    Ok(scenario::queue("queue", &whole)?)
}

fn copy(from: &dyn Settings, to: &mut dyn Settings) {
    for setting in from.settings() {
        if let Some(value) = from.get(setting.name) {
            to.set(setting.name, value);
        }
    }
}

/// Packets that no filter matches go to this class, where the discipline wants one named.
fn name_default(settings: &mut dyn Settings, class: &str) {
    for setting in settings.settings() {
        if setting.kind == Kind::Text && setting.name.starts_with("default") {
            settings.set(setting.name, Value::Text(class.into()));
        }
    }
}

/// What one of the classes has to be given, as no default can suit all of them: an equal part of what is
/// promised, or a place of its own.
fn part(discipline: &str, setting: &str, place: usize, load: &Load) -> Option<Value> {
    let rate = |of: u64| {
        let bits = RATE / 100 * load.promised / of / load.classes as u64;
        Rate::from_bits_per_second(bits).map(Value::Rate)
    };
    match (discipline, setting) {
        ("psp" | "cbq", "rate") | ("hfsc", "link_share_m2") => rate(1),
        // The other half is shared by weight.
        ("hfsc", "real_time_m2") => rate(2),
        ("ets", "percent") => {
            Some(load.promised / load.classes as u64).filter(|&n| n > 0).map(Value::Count)
        }
        ("priq" | "fairq", "priority") => Some(Value::Count((load.classes - 1 - place) as u64)),
        _ => None,
    }
}
