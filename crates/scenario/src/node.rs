//! Nodes as they stand in the file: each kind is a file of its own and a line of the registry here. Its table is a
//! field of that name in [`Scenario`], where its doc comment is.

use network::node::Kind;

use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::plan::Node;
use crate::value::{Count, Name, PeriodUnit, Quantity};

/// The table of a node.
pub(crate) trait Table {
    /// How many; without it, one that bears the bare name.
    fn count(&self) -> Option<&Count> {
        None
    }

    /// How often the timer ticks that its ports' disciplines wait by.
    fn timer(&self) -> Option<&Quantity<PeriodUnit>> {
        None
    }

    /// What it is.
    fn kind(&self, problems: &mut Problems) -> Option<Kind>;

    /// The host's table that it is, if it is one.
    fn as_host(&self) -> Option<&Host> {
        None
    }
}

/// The registry: the table's name, its type, and the kind of node.
macro_rules! registry {
    ($($table:ident::$type:ident;)*) => {
        $(mod $table;
        pub(crate) use $table::$type;)*

        /// The tables of nodes in the file, with their names.
        pub(crate) fn tables(file: &Scenario) -> Vec<(&Name, &dyn Table)> {
            let mut tables: Vec<(&Name, &dyn Table)> = Vec::new();
            $(tables.extend(file.$table.iter().map(|(name, table)| (name, table as &dyn Table)));)*
            tables
        }

        /// What is of its kind in the lock file's table of nodes that are alike.
        pub(crate) fn write(members: &[Node], text: &mut String) {
            match &members[0].kind {
                $(Kind::$type(config) => $table::write(config, members, text),)*
            }
        }
    };
}

registry! {
    host::Host;
    router::Router;
    emulator::Emulator;
    balancer::Balancer;
}
