//! `[expect]`: bounds on the summary's quantities, in base units.

use super::{Directory, Network};
use crate::classes;
use crate::diagnostic::Problems;
use crate::file::{Bounds, ExpectEmulator, ExpectFlow, ExpectLink, ExpectRun, Scenario};
use crate::nearest;
use crate::plan::{Change, Expectation, Flow, NodeKind, Transport};
use crate::tolerance::Base;
use crate::value::{Name, Quantity, Table, Unit};

/// What expectations refer to beside the network.
#[derive(Clone, Copy)]
pub(super) struct Known<'k> {
    pub(super) names: &'k Directory<'k>,
    pub(super) flows: &'k [Flow],
    pub(super) changes: &'k [Change],
    /// Whether sojourn times are counted.
    pub(super) delays: bool,
}

pub(super) fn resolve(
    file: &Scenario,
    network: &Network<'_>,
    known: Known<'_>,
    problems: &mut Problems,
) -> Vec<Expectation> {
    let Known { names, flows, changes, delays } = known;
    let mut found = Found { list: Vec::new(), problems };
    for (name, table) in file.expect.flow.iter() {
        if names.is_group(&name.text) || names.find(name, found.problems).is_some() {
            if table.delay_mean.is_some() || table.delay_max.is_some() {
                check_delay(name, flows, found.problems);
            }
            if table.exchanges.is_some()
                || table.response_mean.is_some()
                || table.response_max.is_some()
            {
                check_exchange(name, flows, found.problems);
            }
            found.flow(&name.text, table);
        }
    }
    for (name, table) in file.expect.link.iter() {
        let links = &network.links.names;
        if links.is_group(&name.text) || links.find(name, found.problems).is_some() {
            check_classes(name, &table.class, network, changes, found.problems);
            let sojourn = [&table.sojourn_p50, &table.sojourn_p99, &table.sojourn_max];
            if !delays && sojourn.iter().any(|bounds| bounds.is_some()) {
                no_sojourn(name, found.problems);
            }
            found.link(&format!("link.{}", name.text), table);
        }
    }
    for (name, table) in file.expect.emulator.iter() {
        if is_emulator(name, network, found.problems) {
            found.emulator(&format!("emulator.{}", name.text), table);
        }
    }
    if let Some(ExpectRun { goodput, drops, loss, fairness }) = &file.expect.run {
        found.bound("run.goodput".into(), goodput.as_ref());
        found.bound("run.drops".into(), drops.as_ref());
        found.bound("run.loss".into(), loss.as_ref());
        found.bound("run.fairness".into(), fairness.as_ref());
    }
    found.list
}

pub(super) fn is_emulator(name: &Name, network: &Network<'_>, problems: &mut Problems) -> bool {
    let emulators = network.nodes.list.iter().filter(|n| matches!(n.kind, NodeKind::Emulator(_)));
    let names: Vec<&str> = emulators.map(|node| node.name.as_str()).collect();
    let found = names.contains(&name.text.as_str());
    if !found && problems.is_empty() {
        let message = format!("there is no emulator `{}`", name.text);
        problems.push(&name.span, message, nearest::suggest(&name.text, names));
    }
    found
}

/// The flow of that name, or the first of those that its count made.
fn named<'f>(name: &str, flows: &'f [Flow]) -> Option<&'f Flow> {
    let member = |flow: &Flow| {
        let number = flow.name.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()))
    };
    flows.iter().find(|flow| flow.name == name || member(flow))
}

/// Delays are measured of a flow of datagrams, or of all that a count made.
pub(super) fn check_delay(name: &Name, flows: &[Flow], problems: &mut Problems) {
    let one = named(&name.text, flows).map(|flow| &flow.transport);
    if matches!(one, Some(Transport::Udp(_))) {
        return;
    }
    let help = "expect it of a flow with `datagrams` beside it";
    // Flows are complete only where nothing else is wrong.
    if problems.is_empty() {
        problems.push(&name.span, format!("`{}` has no delay that is measured", name.text), help);
    }
}

/// That sojourn times are bounded which the file says not to count.
pub(super) fn no_sojourn(name: &Name, problems: &mut Problems) {
    let message = format!("sojourn times at `{}` are not counted", name.text);
    problems.push(&name.span, message, "leave `automatic = false` out of [probe]");
}

/// Responses are measured of a flow with an exchange, or of all that a count made.
pub(super) fn check_exchange(name: &Name, flows: &[Flow], problems: &mut Problems) {
    let one = named(&name.text, flows).and_then(Flow::tcp);
    if one.is_some_and(|tcp| tcp.workload.asks()) {
        return;
    }
    let help = "name a flow with an `exchange`";
    // Flows are complete only where nothing else is wrong.
    if problems.is_empty() {
        problems.push(&name.span, format!("`{}` has no exchanges", name.text), help);
    }
}

/// A class is one that a discipline at either end has, from the start or by a change.
pub(super) fn check_classes<T>(
    name: &Name,
    table: &Table<T>,
    network: &Network<'_>,
    changes: &[Change],
    problems: &mut Problems,
) {
    if table.iter().len() == 0 {
        return;
    }
    let links = network.links.list.iter().enumerate();
    let mut known = Vec::new();
    for (index, link) in links.filter(|(_, link)| link.name == name.text) {
        known.extend((0..2).flat_map(|end| classes::of_end(link, 2 * index + end, changes)));
    }
    for (class, _) in table.iter() {
        if problems.is_empty() && !known.contains(&class.text) {
            let help = nearest::suggest(&class.text, known.iter().map(String::as_str));
            problems.push(&class.span, format!("there is no class `{}`", class.text), help);
        }
    }
}

struct Found<'p> {
    list: Vec<Expectation>,
    problems: &'p mut Problems,
}

impl Found<'_> {
    fn flow(&mut self, name: &str, table: &ExpectFlow) {
        let path = |quantity| format!("flow.{name}.{quantity}");
        self.bound(path("goodput"), table.goodput.as_ref());
        self.bound(path("bytes"), table.bytes.as_ref());
        self.bound(path("retransmissions"), table.retransmissions.as_ref());
        self.bound(path("timeouts"), table.timeouts.as_ref());
        self.bound(path("drops"), table.drops.as_ref());
        self.bound(path("delay_mean"), table.delay_mean.as_ref());
        self.bound(path("delay_max"), table.delay_max.as_ref());
        self.bound(path("exchanges"), table.exchanges.as_ref());
        self.bound(path("response_mean"), table.response_mean.as_ref());
        self.bound(path("response_max"), table.response_max.as_ref());
    }

    fn link(&mut self, at: &str, table: &ExpectLink) {
        self.bound(format!("{at}.drops"), table.drops.as_ref());
        self.bound(format!("{at}.utilisation"), table.utilisation.as_ref());
        self.bound(format!("{at}.queue_max"), table.queue_max.as_ref());
        self.bound(format!("{at}.sojourn_p50"), table.sojourn_p50.as_ref());
        self.bound(format!("{at}.sojourn_p99"), table.sojourn_p99.as_ref());
        self.bound(format!("{at}.sojourn_max"), table.sojourn_max.as_ref());
        for (name, class) in table.class.iter() {
            let path = |quantity| format!("{at}.class.{}.{quantity}", name.text);
            self.bound(path("rate"), class.rate.as_ref());
            self.bound(path("drops"), class.drops.as_ref());
        }
    }

    fn emulator(&mut self, at: &str, table: &ExpectEmulator) {
        self.bound(format!("{at}.drops"), table.drops.as_ref());
        self.bound(format!("{at}.utilisation"), table.utilisation.as_ref());
    }

    fn bound<U: Unit>(&mut self, path: String, bounds: Option<&Bounds<Quantity<U>>>)
    where
        U::Value: Base,
    {
        let Some(bounds) = bounds else { return };
        let mut read = |q: Option<&Quantity<U>>| {
            q.map(|q| q.read(self.problems).map(Base::base)).map_or(Some(None), |v| v.map(Some))
        };
        let (low, high) = (read(bounds.min.as_ref()), read(bounds.max.as_ref()));
        let (Some(low), Some(high)) = (low, high) else { return };
        if let (Some(least), Some(most), Some(quantity)) = (low, high, &bounds.max)
            && least > most
        {
            let help = "let `min` be at most `max`";
            self.problems.push(&quantity.span, format!("`{path}` cannot be met"), help);
        }
        if low.is_some() || high.is_some() {
            self.list.push(Expectation { path, low, high });
        }
    }
}
