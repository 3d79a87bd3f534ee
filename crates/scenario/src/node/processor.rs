//! `[host.NAME.processor]`: the costs of a processor.

use base::setting::{Field, Setting, Settings, Value};
use network::host;

use crate::setting::Named;

/// A processor as written in the file: the costs of `machine`, and settings that differ from them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Processor {
    pub(super) costs: host::Processor,
}

/// The machine that provides the defaults of the other settings; it is read first.
pub(super) const MACHINE: Setting = Setting {
    name: "machine",
    kind: <String as Field>::KIND.expect("text"),
    required: false,
    range: <String as Field>::RANGE,
    doc: "Machine with known costs, \"ideal\" unless given: \"pentium-4-linux-2.4\", \"pentium-4-e1000\", \
          \"pentium-ii-266\", \"pentium-iii-xeon-550\"; or \"file:NAME\", a file that `suimon cost host` wrote.",
};

impl Settings for Processor {
    fn settings(&self) -> Vec<Setting> {
        [vec![MACHINE], self.costs.settings()].concat()
    }

    fn get(&self, name: &str) -> Option<Value> {
        self.costs.get(name)
    }

    fn set(&mut self, name: &str, value: Value) -> bool {
        name == MACHINE.name || self.costs.set(name, value)
    }

    fn doc(&self) -> &'static str {
        self.costs.doc()
    }
}

impl Named for Processor {
    const NAME: &'static str = "Processor";
}
