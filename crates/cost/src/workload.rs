//! A discipline with as many classes and filters as a case requests, for any discipline.

use base::setting::{Classes, Kind, Settings, Value};
use base::{Bytes, Fault, Rate};
use traffic::qdisc::{Parameters, Qdisc};
use traffic::{Discipline, Port};

use crate::case::{Case, Load};
use crate::filters;

/// So fast that the link never delays a packet.
const RATE: u64 = 100_000_000_000;

/// What is measured, before its first packet.
#[derive(Debug)]
pub struct Workload {
    /// The discipline; none to measure the cost of the walk alone.
    pub queue: Option<Qdisc>,
    /// The link that it serves.
    pub port: Port,
    /// Number of flows; flow `f` belongs to queue `f % queues`.
    pub flows: usize,
    /// Number of queues that always hold packets: the classes, or else the flows.
    pub queues: usize,
    /// Number of classes with queues.
    pub classes: usize,
    /// Number of filters.
    pub filters: usize,
}

impl Workload {
    /// The discipline of `case`, attached.
    pub fn new(case: &Case) -> Result<Self, Fault> {
        let Load { flows, seed, .. } = case.load;
        let parameters = parameters(case)?;
        let given = parameters.classes();
        let classes = given.map_or(0, |_| case.load.classes);
        let filters = given.map_or(0, |classes| classes.filters().len());
        let fitting = if classes == 0 { case.load.classes } else { classes.max(filters) };
        let flows = flows.unwrap_or(fitting).max(1);
        let queues = if classes == 0 { flows } else { classes };
        if flows < queues {
            let help = "use at least one flow per class: --flows";
            let noun = if flows == 1 { "flow" } else { "flows" };
            return Err(Fault::usage(format!("{flows} {noun} in {queues} classes"), help));
        }
        let rate = Rate::from_bits_per_second(RATE).unwrap_or(Rate::MIN);
        let port = Port { rate, mtu: Bytes(1_500), overhead: Bytes(20), seed };
        let queue = Some(Qdisc::attach(&parameters, port)?);
        Ok(Self { queue, port, flows, queues, classes, filters })
    }

    /// The same load without a discipline, with a plain FIFO, and the case itself.
    pub fn compared(self) -> Result<[Self; 3], Fault> {
        let endless = format!("fifo.packets = {}", u32::MAX);
        let plain = Qdisc::attach(&scenario::queue("fifo", &endless)?, self.port)?;
        Ok([Self { queue: None, ..self }, Self { queue: Some(plain), ..self }, self])
    }
}

/// The parameters: the queue's own, with its class repeated as often as requested.
fn parameters(case: &Case) -> Result<Parameters, Fault> {
    let given = Parameters::blank(&case.queue).map_or_else(|| written(&case.queue), Ok)?;
    let Some(of) = given.classes() else { return Ok(given) };
    if of.count() > 1 {
        let message = format!("{} classes in `{}`", of.count(), case.queue);
        let help = "give one class; --classes sets how often it is repeated";
        return Err(Fault::usage(message, help));
    }
    let mut all = Parameters::blank(given.name()).unwrap_or_else(|| given.clone());
    copy(given.as_settings(), all.as_settings_mut());
    let fresh = of.fresh();
    let model = if of.count() == 1 { of.class(0).2 } else { &*fresh };
    if let Some(classes) = all.classes_mut() {
        let class = Class { discipline: given.name(), model, fresh: &*fresh };
        class.repeat(classes, &case.load);
        filters::add(classes.filters_mut(), &case.load);
    }
    if let Some(last) = case.load.classes.checked_sub(1) {
        name_default(all.as_settings_mut(), &filters::class(last));
    }
    Ok(all)
}

/// A queue as in a scenario; `red` alone is `red = {}`.
fn written(queue: &str) -> Result<Parameters, Fault> {
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

/// The class for packets that no filter matches, if the discipline requires one.
fn name_default(settings: &mut dyn Settings, class: &str) {
    for setting in settings.settings() {
        if setting.kind == Kind::Text && setting.name.starts_with("default") {
            settings.set(setting.name, Value::Text(class.into()));
        }
    }
}

/// The class that serves as the model for all.
struct Class<'a> {
    discipline: &'a str,
    model: &'a dyn Settings,
    /// The default class.
    fresh: &'a dyn Settings,
}

impl Class<'_> {
    /// Creates the groups, and the classes within them in turn.
    fn repeat(&self, to: &mut dyn Classes, load: &Load) {
        let group = |number: usize| format!("group{number}");
        for number in 0..load.groups {
            let class = to.add(&group(number), None);
            self.fill(class, |setting| part(self.discipline, setting, load.groups, load.promised));
        }
        for number in 0..load.classes {
            let within = (load.groups > 0).then(|| group(number % load.groups));
            let class = to.add(&filters::class(number), within.as_deref());
            self.fill(class, |setting| {
                place(self.discipline, setting, load.classes - 1 - number)
                    .or_else(|| guarantee(self.discipline, setting, load.classes, load.promised))
                    .or_else(|| part(self.discipline, setting, load.classes, load.promised))
            });
        }
    }

    /// Copies the model, except what each class must have of its own and the model does not give.
    fn fill(&self, class: &mut dyn Settings, own: impl Fn(&str) -> Option<Value>) {
        copy(self.model, class);
        for setting in class.settings() {
            let given = self.model.get(setting.name) != self.fresh.get(setting.name);
            if let Some(value) = own(setting.name).filter(|_| !given) {
                class.set(setting.name, value);
            }
        }
    }
}

/// An equal share of the guarantee, in a setting that has no suitable default.
fn part(discipline: &str, setting: &str, of: usize, promised: u64) -> Option<Value> {
    match (discipline, setting) {
        ("psp" | "cbq", "rate") | ("hfsc", "link_share_m2") => {
            let bits = RATE / 100 * promised / of as u64;
            Rate::from_bits_per_second(bits).map(Value::Rate)
        }
        // With more than a hundred classes, none can have a percentage: they are strict.
        ("ets", "percent") => Some(promised / of as u64).filter(|&n| n > 0).map(Value::Count),
        _ => None,
    }
}

/// Half of a class's share is guaranteed, if guarantees are a separate curve.
fn guarantee(discipline: &str, setting: &str, of: usize, promised: u64) -> Option<Value> {
    let is = (discipline, setting) == ("hfsc", "real_time_m2");
    is.then(|| part(discipline, "link_share_m2", 2 * of, promised)).flatten()
}

/// A unique priority, if each class needs one.
fn place(discipline: &str, setting: &str, place: usize) -> Option<Value> {
    let is = matches!((discipline, setting), ("priq" | "fairq", "priority"));
    is.then_some(Value::Count(place as u64))
}

#[cfg(test)]
mod tests {
    use traffic::qdisc::REGISTRY;

    use super::*;

    fn workload(queue: &str, load: Load) -> Result<Workload, String> {
        let case = Case { queue: queue.into(), load };
        Workload::new(&case).map_err(|error| error.to_string())
    }

    /// Fails for a new discipline whose classes need more than a name.
    #[test]
    fn every_discipline_takes_the_usual_load() {
        for entry in REGISTRY {
            let workload = workload(entry.name, Load::default()).expect(entry.name);
            let queue = workload.queue.expect("a queue");
            let mut classes = 0;
            queue.classes(&mut |_, _, _| classes += 1);
            assert!(classes == 0 || classes >= workload.classes, "{}", entry.name);
            assert_eq!((workload.flows, workload.queues), (5, 5), "{}", entry.name);
        }
    }

    #[test]
    fn a_class_is_repeated_with_what_it_has() {
        let load = Load { classes: 12, groups: 3, filters: Some(30), ..Load::default() };
        let case = Case { queue: "cbq.class.each = { priority = 3, queue.red = {} }".into(), load };
        let parameters = parameters(&case).expect("right");
        let classes = parameters.classes().expect("classes");
        assert_eq!((classes.count(), classes.filters().len()), (15, 30));
        let (name, parent, last) = classes.class(14);
        assert_eq!((name, parent), ("class11", Some("group2")));
        assert_eq!(last.get("priority"), Some(Value::Count(3)));
        assert_eq!(last.get("rate"), Rate::from_bits_per_second(RATE / 12).map(Value::Rate));
        let queue = last.get("queue");
        assert_eq!(queue.as_ref().and_then(Parameters::of).map(Parameters::name), Some("red"));
    }

    #[test]
    fn what_makes_no_load_is_refused() {
        let fewer = Load { flows: Some(3), ..Load::default() };
        assert_eq!(
            workload("drr", fewer).expect_err("refused"),
            "3 flows in 5 classes\n  help: use at least one flow per class: --flows"
        );
        let two = "drr = { class.a = {}, class.b = {} }";
        assert!(workload(two, Load::default()).expect_err("refused").contains("give one"));
    }
}
