//! Nodes as written in the file: each kind is a line of the registry here. Its table is a field of that name in
//! [`Scenario`], with its doc comment.

mod end_system;
mod machine;

use network::node::{Config, Kind};
use network::{balancer, emulator, host, router, switch};
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use end_system::{Host, HostKeys, write as write_host};

use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::setting::{Declared, Named, With};
use crate::value::{Count, Name};

/// The table of a node.
pub(crate) trait Table {
    /// The count of nodes, named NAME.1, NAME.2, …; `None` for a single node with the plain name.
    fn count(&self) -> Option<&Count>;

    /// The kind of the node with its settings.
    fn kind(&self, problems: &mut Problems) -> Option<Kind>;

    /// The table as a host's, if it is one.
    fn as_host(&self) -> Option<&Host> {
        None
    }
}

/// The table of a node with only settings and a count.
pub(crate) type Plain<C> = With<Declared<C>, Counted>;

// The settings describe the node.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counted {
    /// Number of nodes, named NAME.1, NAME.2, …; without it, a single node with the plain name.
    pub(crate) count: Option<Count>,
}

impl<C: Config + Named + Into<Kind>> Table for Plain<C> {
    fn count(&self) -> Option<&Count> {
        self.count.as_ref()
    }

    fn kind(&self, problems: &mut Problems) -> Option<Kind> {
        config(&self.settings, problems).map(Into::into)
    }
}

/// The settings of a kind of node, with dependent ones derived.
fn config<C: Config + Named>(given: &Declared<C>, problems: &mut Problems) -> Option<C> {
    let mut config = given.read(problems)?;
    let settled = config.fill_defaults();
    given.accept(settled, problems)?;
    Some(config)
}

/// The registry: the table's name, its type, and its name in the schema.
macro_rules! registry {
    ($($table:ident: $type:ty = $config:ty as $name:literal;)*) => {
        $(impl Named for $config {
            const NAME: &'static str = $name;
        })*

        /// The tables of nodes in the file, with their names.
        pub(crate) fn tables(file: &Scenario) -> Vec<(&Name, &dyn Table)> {
            let mut tables: Vec<(&Name, &dyn Table)> = Vec::new();
            $(tables.extend(file.$table.iter().map(|(name, table)| (name, table as &dyn Table)));)*
            tables
        }
    };
}

registry! {
    host: Host = host::Config as "Host";
    router: Plain<router::Config> = router::Config as "Router";
    emulator: Plain<emulator::Config> = emulator::Config as "Emulator";
    balancer: Plain<balancer::Config> = balancer::Config as "Balancer";
    switch: Plain<switch::Config> = switch::Config as "Switch";
}
