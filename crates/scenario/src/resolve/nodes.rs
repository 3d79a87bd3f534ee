//! Nodes, in file order.

use std::collections::BTreeMap;
use std::net::IpAddr;

use network::router;
use transport::Profile;

use super::Directory;
use super::directory::{count, member_name};
use crate::address::later;
use crate::command;
use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::nearest;
use crate::node::{Host, NodeTable};
use crate::plan::{Node, NodeKind};
use crate::value::{AddressUnit, Name, Quantity};

/// The maximum number of nodes, above that of a fat tree of switches with 96 ports, which has 221 184 hosts.
const NODES_MAX: usize = 262_144;
/// The default profile of a host.
const PROFILE: &str = "linux-6";

/// The nodes and their names.
pub(super) struct Nodes<'f> {
    pub(super) list: Vec<Node>,
    pub(super) names: Directory<'f>,
    /// The profile of each node; `None` for other nodes than hosts.
    pub(super) profiles: Vec<Option<&'static Profile>>,
}

pub(super) fn resolve<'f>(file: &'f Scenario, problems: &mut Problems) -> Nodes<'f> {
    let mut tables = file.nodes().tables();
    tables.sort_by_key(|(name, _)| name.span.start);
    let names = Directory::new("node", NODES_MAX);
    let mut nodes = Nodes { list: Vec::new(), names, profiles: Vec::new() };
    for (name, table) in &tables {
        nodes.names.mention(name);
        add(&mut nodes, name, *table, problems);
    }
    check_host_names(file, &nodes, problems);
    check_addresses(file, &nodes, problems);
    nodes
}

/// Reports invalid host names: in the lab they are the hosts' names, and programs resolve them case-insensitively.
fn check_host_names(file: &Scenario, nodes: &Nodes<'_>, problems: &mut Problems) {
    /// `HOST_NAME_MAX` of Linux.
    const LETTERS_MAX: usize = 64;
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for (name, _) in file.nodes().hosts.iter() {
        let Some(members) = nodes.names.get(&name.text) else { continue };
        let last = nodes.list.get(members.range).and_then(|hosts| hosts.last());
        let lower = name.text.to_ascii_lowercase();
        // `1` and `0x7f` resolve as addresses.
        let mistake = if !lower.starts_with(|c: char| c.is_ascii_lowercase()) {
            Some(("does not start with a letter".to_owned(), "start the host's name with a letter"))
        } else if lower == "localhost" {
            Some(("has a reserved name".into(), "give it another name"))
        } else if last.is_some_and(|host| host.name.len() > LETTERS_MAX) {
            Some(("has more than 64 characters with its number".into(), "shorten it"))
        } else {
            let other = taken.insert(lower, &name.text);
            let differs = |other| format!("differs from `{other}` only in case");
            other.map(|other| (differs(other), "give each host a different name"))
        };
        if let Some((what, help)) = mistake {
            problems.push(&name.span, format!("the host `{}` {what}", name.text), help);
        }
    }
}

/// The programs of a host with that address.
fn programs(table: &Host, address: IpAddr, problems: &mut Problems) -> Vec<Vec<String>> {
    let known = [("address", address.to_string())];
    let lines = table.program.iter().flat_map(|commands| &commands.0);
    lines.filter_map(|line| command::resolve(line, &known, problems)).collect()
}

fn add<'f>(nodes: &mut Nodes<'f>, name: &'f Name, table: NodeTable<'_>, problems: &mut Problems) {
    let kind = table.kind(problems);
    let host = table.as_host();
    let profile = host.and_then(|host| profile(host.profile.as_ref(), problems));
    if let Some(host) = host {
        super::programs::check_user(name, host.user, host.program.is_some(), problems);
    }
    let Some(count) = count(table.count(), problems) else { return };
    let Some(members) = nodes.names.add(name, count, problems) else { return };
    // A faulty node keeps its number, so that references to it are still checked.
    let kind = kind.unwrap_or(NodeKind::Router(router::Config::default()));
    let given = host.and_then(|host| host.address.as_ref());
    let first = given.and_then(|given| first_address(given, members.range.len(), problems));
    let user = host.and_then(|host| host.user).map(Into::into).unwrap_or_default();
    for (index, number) in members.range.enumerate() {
        let name = member_name(&name.text, members.counted, index);
        let given = first.and_then(|first| later(first, index));
        let address = given.unwrap_or_else(|| Node::usual_address(number));
        let programs = host.map(|host| programs(host, address, problems)).unwrap_or_default();
        nodes.list.push(Node { name, kind: kind.clone(), address, programs, user });
        nodes.profiles.push(profile);
    }
}

/// The address of a table's first host; `None` if it is faulty, or if there are not enough addresses for `count`
/// hosts.
fn first_address(
    given: &Quantity<AddressUnit>,
    count: usize,
    problems: &mut Problems,
) -> Option<IpAddr> {
    let first = given.read(problems)?;
    let last = later(first, count.saturating_sub(1));
    if last.is_none() {
        let help = "use a lower first address: each host has the address after the previous one";
        problems.push(&given.span, "there are not enough addresses", help);
    }
    last.map(|_| first)
}

/// Reports two hosts with the same address, given or by default.
fn check_addresses(file: &Scenario, nodes: &Nodes<'_>, problems: &mut Problems) {
    let mut owners: BTreeMap<IpAddr, &str> = BTreeMap::new();
    let (given, usual): (Vec<_>, Vec<_>) =
        file.nodes().hosts.iter().partition(|(_, table)| table.address.is_some());
    // Default addresses come first, so that the error is at an address in the file.
    for (name, table) in usual.into_iter().chain(given) {
        let Some(members) = nodes.names.get(&name.text) else { continue };
        let hosts = nodes.list.get(members.range).unwrap_or_default();
        let clash = hosts.iter().find_map(|host| {
            let other = owners.insert(host.address, &host.name)?;
            Some(format!("`{other}` already has the address {}", host.address))
        });
        if let (Some(message), Some(address)) = (clash, &table.address) {
            problems.push(&address.span, message, "give every host a different address");
        }
    }
}

fn profile(name: Option<&Name>, problems: &mut Problems) -> Option<&'static Profile> {
    let Some(name) = name else { return Profile::by_name(PROFILE) };
    let found = Profile::by_name(&name.text);
    if found.is_none() {
        let names = Profile::all().iter().map(Profile::name);
        let message = format!("there is no profile `{}`", name.text);
        problems.push(&name.span, message, nearest::suggest(&name.text, names));
    }
    // Reported once; the connections continue with the default.
    found.or_else(|| Profile::by_name(PROFILE))
}
