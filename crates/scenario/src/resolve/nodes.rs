//! Hosts, routers and emulators, in the order of the file.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use network::{emulator, host};
use traffic::{Bytes, Duration};
use transport::Profile;

use super::directory::{count, member_name};
use super::{Directory, links};
use crate::command;
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::nearest;
use crate::plan::{Node, NodeKind};
use crate::value::{AddressUnit, Count, Name, PeriodUnit, Quantity, TimeUnit};

/// A leaf-spine or fat tree of 8 192 hosts has fewer; a packet tells 65 535 apart.
const NODES_MAX: usize = 16_384;
/// The profile of a host that names none.
const PROFILE: &str = "linux-6";

/// The nodes and their names.
pub(super) struct Nodes<'f> {
    pub(super) list: Vec<Node>,
    pub(super) names: Directory<'f>,
    /// By node; `None` for what is no host.
    pub(super) profiles: Vec<Option<&'static Profile>>,
}

enum Table<'f> {
    Host(&'f file::Host),
    Router(&'f file::Router),
    Emulator(&'f file::Emulator),
}

impl Table<'_> {
    fn count(&self) -> Option<&Count> {
        match self {
            Self::Host(host) => host.count.as_ref(),
            Self::Router(router) => router.count.as_ref(),
            Self::Emulator(_) => None,
        }
    }
}

impl<'f> Table<'f> {
    fn timer(&self) -> Option<&'f Quantity<PeriodUnit>> {
        match self {
            Self::Host(host) => host.timer.as_ref(),
            Self::Router(router) => router.timer.as_ref(),
            Self::Emulator(_) => None,
        }
    }
}

pub(super) fn resolve<'f>(file: &'f Scenario, problems: &mut Problems) -> Nodes<'f> {
    let hosts = file.host.iter().map(|(name, t)| (name, Table::Host(t)));
    let routers = file.router.iter().map(|(name, t)| (name, Table::Router(t)));
    let emulators = file.emulator.iter().map(|(name, t)| (name, Table::Emulator(t)));
    let mut tables: Vec<(&Name, Table<'f>)> = hosts.chain(routers).chain(emulators).collect();
    tables.sort_by_key(|(name, _)| name.span.start);
    let names = Directory::new("node", NODES_MAX);
    let mut nodes = Nodes { list: Vec::new(), names, profiles: Vec::new() };
    for (name, table) in &tables {
        nodes.names.mention(name);
        add(&mut nodes, name, table, problems);
    }
    check_host_names(file, &nodes, problems);
    check_addresses(file, &nodes, problems);
    nodes
}

/// Complains of names that a host cannot go by among programs: in the lab they look each other up by
/// these, whatever the case of the letters, and hosts bear them.
fn check_host_names(file: &Scenario, nodes: &Nodes<'_>, problems: &mut Problems) {
    /// `HOST_NAME_MAX` of Linux.
    const LETTERS_MAX: usize = 64;
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for (name, _) in file.host.iter() {
        let Some(members) = nodes.names.get(&name.text) else { continue };
        let last = nodes.list.get(members.range).and_then(|hosts| hosts.last());
        let lower = name.text.to_ascii_lowercase();
        // `1` and `0x7f` are addresses to whoever looks them up.
        let mistake = if !lower.starts_with(|c: char| c.is_ascii_lowercase()) {
            Some(("does not begin with a letter".to_owned(), "begin a host's name with a letter"))
        } else if lower == "localhost" {
            Some(("is every host's own name for itself".into(), "give it another name"))
        } else if last.is_some_and(|host| host.name.len() > LETTERS_MAX) {
            Some(("is longer with its number than 64 letters".into(), "shorten it"))
        } else {
            let other = taken.insert(lower, &name.text);
            let differs = |other| format!("differs from `{other}` by capitals only");
            other.map(|other| (differs(other), "give each host a name of its own"))
        };
        if let Some((what, help)) = mistake {
            problems.push(&name.span, format!("the host `{}` {what}", name.text), help);
        }
    }
}

/// What runs on a host of that address.
fn programs(table: &file::Host, address: IpAddr, problems: &mut Problems) -> Vec<Vec<String>> {
    let known = [("address", address.to_string())];
    let lines = table.program.iter().flat_map(|commands| &commands.0);
    lines.filter_map(|line| command::resolve(line, &known, problems)).collect()
}

fn add<'f>(nodes: &mut Nodes<'f>, name: &'f Name, table: &Table<'_>, problems: &mut Problems) {
    let (kind, profile) = match table {
        Table::Host(table) => {
            let profile = profile(table.profile.as_ref(), problems);
            (host(table, problems).map(NodeKind::Host), profile)
        }
        Table::Router(_) => (Some(NodeKind::Router), None),
        Table::Emulator(table) => (emulator(table, problems).map(NodeKind::Emulator), None),
    };
    if let Table::Host(table) = table {
        super::programs::check_user(name, table.user, table.program.is_some(), problems);
    }
    let Some(count) = count(table.count(), problems) else { return };
    let Some(members) = nodes.names.add(name, count, problems) else { return };
    let timer = match table.timer() {
        Some(quantity) => quantity.read(problems).unwrap_or(Duration::ZERO),
        None => Duration::ZERO,
    };
    // A faulty node keeps its number, so that what refers to it is still looked at.
    let kind = kind.unwrap_or(NodeKind::Router);
    let given = match table {
        Table::Host(table) => table.address.as_ref(),
        Table::Router(_) | Table::Emulator(_) => None,
    };
    let first = given.and_then(|given| first_address(given, members.range.len(), problems));
    for (index, number) in members.range.enumerate() {
        let name = member_name(&name.text, members.counted, index);
        let given = first.and_then(|first| later(first, index));
        let address = given.unwrap_or_else(|| Node::usual_address(number));
        let (programs, user) = match table {
            Table::Host(table) => (programs(table, address, problems), table.user),
            Table::Router(_) | Table::Emulator(_) => (Vec::new(), None),
        };
        let user = user.map(Into::into).unwrap_or_default();
        nodes.list.push(Node { name, kind: kind.clone(), address, timer, programs, user });
        nodes.profiles.push(profile);
    }
}

/// The address of a table's first host; `None` if it is faulty, or not all of `count` have one from there.
fn first_address(
    given: &Quantity<AddressUnit>,
    count: usize,
    problems: &mut Problems,
) -> Option<IpAddr> {
    let first = given.read(problems)?;
    let last = later(first, count.saturating_sub(1));
    if last.is_none() {
        let help = "begin lower: each host has the address after the one before";
        problems.push(&given.span, "there is no address after the last", help);
    }
    last.map(|_| first)
}

/// The address so many after the first.
pub(super) fn later(first: IpAddr, index: usize) -> Option<IpAddr> {
    Some(match first {
        IpAddr::V4(v4) => {
            Ipv4Addr::from(v4.to_bits().checked_add(u32::try_from(index).ok()?)?).into()
        }
        IpAddr::V6(v6) => Ipv6Addr::from(v6.to_bits().checked_add(index as u128)?).into(),
    })
}

/// Complains of a host with the address of another one, whether that was given or is the usual one.
fn check_addresses(file: &Scenario, nodes: &Nodes<'_>, problems: &mut Problems) {
    let mut owners: BTreeMap<IpAddr, &str> = BTreeMap::new();
    let (given, usual): (Vec<_>, Vec<_>) =
        file.host.iter().partition(|(_, table)| table.address.is_some());
    // What nobody gave comes first, so that the complaint is at an address that stands in the file.
    for (name, table) in usual.into_iter().chain(given) {
        let Some(members) = nodes.names.get(&name.text) else { continue };
        let hosts = nodes.list.get(members.range).unwrap_or_default();
        let clash = hosts.iter().find_map(|host| {
            let other = owners.insert(host.address, &host.name)?;
            Some(format!("`{other}` has the address {} already", host.address))
        });
        if let (Some(message), Some(address)) = (clash, &table.address) {
            problems.push(&address.span, message, "give every host an address of its own");
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
    // What is refused here is refused once: the connections go on with the default.
    found.or_else(|| Profile::by_name(PROFILE))
}

fn host(table: &file::Host, problems: &mut Problems) -> Option<host::Config> {
    let Some(processor) = &table.processor else { return Some(host::Config::default()) };
    let machine = match processor.machine {
        Some(file::Machine::Pentium4Linux24) => Some(host::Processor::PENTIUM_4_LINUX_2_4),
        Some(file::Machine::Ideal) | None => None,
    };
    let usual = machine.unwrap_or(host::Processor::FREE);
    let mut time = |given: &Option<Quantity<TimeUnit>>, usual: Duration| match given {
        Some(quantity) => quantity.read(problems),
        None => Some(usual),
    };
    let per_segment = time(&processor.per_segment, usual.per_segment);
    let per_walked = time(&processor.per_walked, usual.per_walked);
    let backlog = match &processor.backlog {
        Some(count) => backlog(count, problems),
        None => Some(usual.backlog),
    };
    let costs = host::Processor {
        per_segment: per_segment?,
        per_walked: per_walked?,
        backlog: backlog?,
        throttle: processor.throttle.unwrap_or(usual.throttle),
    };
    // Where nothing costs time nothing waits, and there is no backlog to model.
    let file::Processor { per_segment, per_walked, backlog, throttle, .. } = processor;
    let given = per_segment.is_some() || per_walked.is_some() || backlog.is_some();
    let modelled = machine.is_some() || given || throttle.is_some();
    Some(host::Config { processor: modelled.then_some(costs) })
}

fn backlog(count: &Count, problems: &mut Problems) -> Option<u32> {
    let backlog = u32::try_from(count.value).ok().filter(|&n| n > 0);
    if backlog.is_none() {
        let message = format!("a backlog of {} segments", count.value);
        problems.push(&count.span, message, "give 1 to 4294967295; Linux has 300 to 1000");
    }
    backlog
}

fn emulator(table: &file::Emulator, problems: &mut Problems) -> Option<emulator::Config> {
    let rate = links::rate(&table.rate, problems);
    let delay = match &table.delay {
        Some(quantity) => quantity.read(problems),
        None => Some(Duration::ZERO),
    };
    let buffer = table.buffer.read(problems);
    if buffer == Some(Bytes(0)) {
        let help = "give it room for at least one packet: \"512 KiB\"";
        problems.push(&table.buffer.span, "a queue of zero drops every packet", help);
        return None;
    }
    Some(emulator::Config { rate: rate?, delay: delay?, buffer: buffer? })
}
