//! `[compare]`: how far runs of different drivers may lie apart.

use super::Network;
use super::expectations::{
    Known, check_classes, check_delay, check_exchange, is_emulator, no_sojourn,
};
use crate::diagnostic::Problems;
use crate::file::{CompareEmulator, CompareFlow, CompareLink, CompareRun, Scenario};
use crate::plan::{Comparison, Flow, Tolerance, Within};
use crate::value::{Name, Quantity, Unit};

pub(super) fn resolve(
    file: &Scenario,
    network: &Network<'_>,
    Known { names, flows, changes, delays }: Known<'_>,
    problems: &mut Problems,
) -> Comparison {
    let table = &file.compare;
    let mut comparison = Comparison::default();
    if let Some(percent) = table.tolerance.as_ref().and_then(|percent| percent.read(problems)) {
        comparison.percent = percent;
    }
    let mut found = Found { list: Vec::new(), problems };
    for (name, table) in table.flow.iter() {
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
            if let Some(within) = &table.min_rtt {
                check_round_trip(name, within, flows, found.problems);
            }
            found.flow(&format!("flow.{}", name.text), table);
        }
    }
    for (name, table) in table.link.iter() {
        let links = &network.links.names;
        if links.is_group(&name.text) || links.find(name, found.problems).is_some() {
            check_classes(name, &table.class, network, changes, found.problems);
            let sojourn = [&table.sojourn_p50, &table.sojourn_p99, &table.sojourn_max];
            if !delays && sojourn.iter().any(|within| within.is_some()) {
                no_sojourn(name, found.problems);
            }
            found.link(&format!("link.{}", name.text), table);
        }
    }
    for (name, table) in table.emulator.iter() {
        if is_emulator(name, network, found.problems) {
            found.emulator(&format!("emulator.{}", name.text), table);
        }
    }
    if let Some(table) = &table.run {
        found.run(table);
    }
    comparison.tolerances = found.list;
    comparison
}

/// Round trips are measured of one connection.
fn check_round_trip<U: Unit>(
    name: &Name,
    within: &Quantity<U>,
    flows: &[Flow],
    problems: &mut Problems,
) {
    let one = flows.iter().find(|flow| flow.name == name.text);
    let help = match one {
        Some(flow) if flow.tcp().is_some() => return,
        Some(_) => "compare it of a flow that is a connection".to_owned(),
        None => format!("compare it of one flow: \"{}.1\"", name.text),
    };
    // Flows are complete only where nothing else is wrong.
    if problems.is_empty() {
        problems.push(&within.span, format!("`{}` has no round trip time", name.text), help);
    }
}

struct Found<'p> {
    list: Vec<Tolerance>,
    problems: &'p mut Problems,
}

impl Found<'_> {
    fn flow(&mut self, at: &str, table: &CompareFlow) {
        self.within(at, "goodput", table.goodput.as_ref());
        self.within(at, "bytes", table.bytes.as_ref());
        self.within(at, "retransmissions", table.retransmissions.as_ref());
        self.within(at, "timeouts", table.timeouts.as_ref());
        self.within(at, "drops", table.drops.as_ref());
        self.within(at, "min_rtt", table.min_rtt.as_ref());
        self.within(at, "delay_mean", table.delay_mean.as_ref());
        self.within(at, "delay_max", table.delay_max.as_ref());
        self.within(at, "exchanges", table.exchanges.as_ref());
        self.within(at, "response_mean", table.response_mean.as_ref());
        self.within(at, "response_max", table.response_max.as_ref());
    }

    fn link(&mut self, at: &str, table: &CompareLink) {
        self.within(at, "drops", table.drops.as_ref());
        self.within(at, "utilisation", table.utilisation.as_ref());
        self.within(at, "queue_max", table.queue_max.as_ref());
        self.within(at, "sojourn_p50", table.sojourn_p50.as_ref());
        self.within(at, "sojourn_p99", table.sojourn_p99.as_ref());
        self.within(at, "sojourn_max", table.sojourn_max.as_ref());
        for (name, class) in table.class.iter() {
            let at = format!("{at}.class.{}", name.text);
            self.within(&at, "rate", class.rate.as_ref());
            self.within(&at, "drops", class.drops.as_ref());
        }
    }

    fn emulator(&mut self, at: &str, table: &CompareEmulator) {
        self.within(at, "drops", table.drops.as_ref());
        self.within(at, "utilisation", table.utilisation.as_ref());
        self.within(at, "queue_max", table.queue_max.as_ref());
    }

    fn run(&mut self, table: &CompareRun) {
        self.within("run", "goodput", table.goodput.as_ref());
        self.within("run", "fairness", table.fairness.as_ref());
        self.within("run", "drops", table.drops.as_ref());
        self.within("run", "retransmissions", table.retransmissions.as_ref());
        self.within("run", "timeouts", table.timeouts.as_ref());
    }

    fn within<U: Unit<Value = Within>>(
        &mut self,
        at: &str,
        quantity: &str,
        within: Option<&Quantity<U>>,
    ) {
        let within = within.and_then(|within| within.read(self.problems));
        let path = format!("{at}.{quantity}");
        self.list.extend(within.map(|within| Tolerance { path, within }));
    }
}
