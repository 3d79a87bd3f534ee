//! Nodes as written in the file: a table of tables for each kind in the registry of [`network::node`].

mod end_system;
mod machine;
mod processor;

use network::node::NodeKind;
use schemars::SchemaGenerator;
use serde::de::{Deserialize, Deserializer, MapAccess};
use serde_json::{Map, Value as Json, json};
use serde_spanned::Spanned;

pub(crate) use end_system::{Host, HostKeys, write as write_host};

use crate::diagnostic::Problems;
use crate::queue::{Entries, entries};
use crate::setting::{Keys, Values, table};
use crate::value::{Count, Name, Table};

/// The name of the kind that has further keys: see [`end_system`].
const HOST: &str = "host";

/// The tables of all nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nodes {
    /// The hosts.
    pub(crate) hosts: Table<Host>,
    /// The other kinds, with their default settings.
    others: Vec<(NodeKind, Table<Plain>)>,
}

impl Nodes {
    /// The nodes of a kind that has only settings and a count.
    pub(crate) fn of(&self, kind: &str) -> impl Iterator<Item = &(Name, Plain)> {
        let of_kind = self.others.iter().filter(move |(blank, _)| blank.name() == kind);
        of_kind.flat_map(|(_, table)| table.iter())
    }

    /// Adds nodes of a kind that has only settings and a count.
    pub(crate) fn add(&mut self, kind: NodeKind, tables: Vec<(Name, Plain)>) {
        self.others.push((kind, Table(tables)));
    }

    /// Every table with its name.
    pub(crate) fn tables(&self) -> Vec<(&Name, NodeTable<'_>)> {
        let hosts = self.hosts.iter().map(|(name, host)| (name, NodeTable::Host(host)));
        let others = self.others.iter().flat_map(|(blank, table)| {
            table.iter().map(move |(name, plain)| (name, NodeTable::Plain(blank, plain)))
        });
        hosts.chain(others).collect()
    }
}

impl Keys for Nodes {
    fn takes(name: &str) -> bool {
        NodeKind::REGISTRY.iter().any(|entry| entry.name == name)
    }

    fn take<'de, A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        match NodeKind::blank(&key.text) {
            Some(NodeKind::Host(_)) => self.hosts = map.next_value()?,
            Some(blank) => self.others.push((blank, map.next_value()?)),
            None => {}
        }
        Ok(())
    }

    fn about() -> (&'static str, String) {
        ("Scenario", String::new())
    }

    fn properties(generator: &mut SchemaGenerator, _: &str) -> Map<String, Json> {
        let tables = NodeKind::REGISTRY.iter().map(|entry| {
            let reference = match entry.name {
                HOST => generator.subschema_for::<Host>().to_value(),
                name => {
                    let blank = NodeKind::blank(name).expect("the registry names kinds");
                    let schema = Plain::schema(&blank, generator);
                    generator.definitions_mut().insert(entry.schema.to_owned(), schema);
                    json!({ "$ref": format!("#/$defs/{}", entry.schema) })
                }
            };
            let table = json!({
                "type": "object",
                "additionalProperties": reference,
                "description": entry.summary,
            });
            (entry.name.to_owned(), table)
        });
        tables.collect()
    }
}

/// The table of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NodeTable<'f> {
    /// An end system.
    Host(&'f Host),
    /// A node of another kind, with the kind's default settings.
    Plain(&'f NodeKind, &'f Plain),
}

impl<'f> NodeTable<'f> {
    /// The count of nodes, named NAME.1, NAME.2, …; `None` for a single node with the plain name.
    pub(crate) fn count(self) -> Option<&'f Count> {
        match self {
            Self::Host(host) => host.count.as_ref(),
            Self::Plain(_, plain) => plain.count.as_ref(),
        }
    }

    /// The kind of the node with its settings, and dependent ones derived.
    pub(crate) fn kind(self, problems: &mut Problems) -> Option<NodeKind> {
        match self {
            Self::Host(host) => host.kind(problems),
            Self::Plain(blank, Plain { settings, .. }) => {
                let mut kind = blank.clone();
                settings.apply(kind.as_settings_mut(), problems)?;
                settings.accept(kind.fill_defaults(), problems)?;
                Some(kind)
            }
        }
    }

    /// The table as a host's, if it is one.
    pub(crate) fn as_host(self) -> Option<&'f Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Plain(..) => None,
        }
    }
}

/// The table of a node with only settings and a count.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plain {
    pub(crate) count: Option<Count>,
    pub(crate) settings: Values,
}

impl Plain {
    /// The schema of such a table of that kind.
    fn schema(kind: &NodeKind, generator: &mut SchemaGenerator) -> Json {
        let mut schema = table(kind.as_settings(), generator).to_value();
        schema["properties"]["count"] = json!({
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "Number of nodes, named NAME.1, NAME.2, …; without it, a single node with the plain name.",
        });
        if schema["required"] == json!([]) {
            schema.as_object_mut().and_then(|schema| schema.remove("required"));
        }
        schema
    }
}

impl<'de> Entries<'de> for Plain {
    fn empty() -> Self {
        Self::default()
    }

    fn entry<A: MapAccess<'de>>(&mut self, key: Name, map: &mut A) -> Result<(), A::Error> {
        match key.text.as_str() {
            "count" => self.count = map.next_value()?,
            _ => self.settings.take(key, map)?,
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Unplaced(Plain);
        impl<'de> Deserialize<'de> for Unplaced {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                entries(deserializer).map(Self)
            }
        }
        let spanned = Spanned::<Unplaced>::deserialize(deserializer)?;
        let span = spanned.span();
        let Unplaced(mut plain) = spanned.into_inner();
        plain.settings.span = span;
        Ok(plain)
    }
}
