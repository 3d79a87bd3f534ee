//! `[expect]`: bounds on the summary's quantities, in base units.

use traffic::{Bytes, Rate};

use super::{Directory, Network};
use crate::diagnostic::Problems;
use crate::file::{Bounds, ExpectFlow, ExpectPort, ExpectRun, Scenario};
use crate::nearest;
use crate::plan::{Expectation, NodeKind};
use crate::value::{Name, Quantity, Unit};

/// How a quantity counts in the summary.
trait Base {
    /// In bytes, bytes per second, or as it is.
    fn base(self) -> f64;
}

impl Base for Rate {
    fn base(self) -> f64 {
        self.bits_per_second() as f64 / 8.0
    }
}
impl Base for Bytes {
    fn base(self) -> f64 {
        self.0 as f64
    }
}
impl Base for f64 {
    fn base(self) -> f64 {
        self
    }
}

pub(super) fn resolve(
    file: &Scenario,
    network: &Network<'_>,
    flows: &Directory<'_>,
    problems: &mut Problems,
) -> Vec<Expectation> {
    let mut found = Found { list: Vec::new(), problems };
    for (name, table) in file.expect.flow.iter() {
        if flows.is_group(&name.text) || flows.find(name, found.problems).is_some() {
            found.flow(&name.text, table);
        }
    }
    for (name, table) in file.expect.link.iter() {
        let links = &network.links.names;
        if links.is_group(&name.text) || links.find(name, found.problems).is_some() {
            found.port(&format!("link.{}", name.text), table);
        }
    }
    for (name, table) in file.expect.emulator.iter() {
        if is_emulator(name, network, found.problems) {
            found.port(&format!("emulator.{}", name.text), table);
        }
    }
    if let Some(ExpectRun { fairness }) = &file.expect.run {
        found.bound("run.fairness".into(), fairness.as_ref());
    }
    found.list
}

fn is_emulator(name: &Name, network: &Network<'_>, problems: &mut Problems) -> bool {
    let emulators = network.nodes.list.iter().filter(|n| matches!(n.kind, NodeKind::Emulator(_)));
    let names: Vec<&str> = emulators.map(|node| node.name.as_str()).collect();
    let found = names.contains(&name.text.as_str());
    if !found && problems.is_empty() {
        let message = format!("there is no emulator `{}`", name.text);
        problems.push(&name.span, message, nearest::suggest(&name.text, names));
    }
    found
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
    }

    fn port(&mut self, at: &str, table: &ExpectPort) {
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
