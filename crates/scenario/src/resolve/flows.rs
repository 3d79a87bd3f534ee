//! Flows: ends, transport, start and size.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use applications::sink::Reader;
use base::header::{Header, Ports};
use base::packet::Protocol;
use base::setting::Value;
use base::{HostId, Instant};
use network::application::ActivePeriod;
use transport::Config;

use super::directory::{Members, count, member_name, pairs};
use super::network::{Ends, Network};
use super::nodes::Nodes;
use super::{Directory, datagrams, demand, events, ip, load, programs, ranks};
use crate::congestion::Congestion;
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::lock::same_config;
use crate::matrix::{self, Matrix};
use crate::plan::{Flow, Marks, NodeKind, Tcp, Transport};
use crate::value::{Name, PortUnit, Quantity};
use crate::{nearest, tcp, workload};

/// The maximum number of flows: short ones of a large fabric for minutes.
const FLOWS_MAX: usize = 1_000_000;

/// The flows' names and ends; queues may refer to them.
pub(super) struct Declared<'f> {
    pub(super) names: Directory<'f>,
    list: Vec<Declaration<'f>>,
}

/// One flow table's ends.
struct Declaration<'f> {
    name: &'f Name,
    table: &'f file::Flow,
    members: Members,
    pairs: Vec<(usize, usize)>,
    /// A sample of the possible pairs, if pairs are drawn for each flow.
    typical: Option<Vec<(usize, usize)>>,
    /// The links on which its packets leave and arrive, if the file names them.
    links: [Option<Name>; 2],
}

pub(super) fn declare<'f>(
    file: &'f Scenario,
    nodes: &Nodes<'_>,
    problems: &mut Problems,
) -> Declared<'f> {
    let mut declared = Declared { names: Directory::new("flow", FLOWS_MAX), list: Vec::new() };
    for (name, table) in file.flow.iter() {
        declared.names.mention(name);
        declare_one(&mut declared, (name, table), nodes, file.seed(), problems);
    }
    declared
}

fn declare_one<'f>(
    declared: &mut Declared<'f>,
    (name, table): (&'f Name, &'f file::Flow),
    nodes: &Nodes<'_>,
    seed: u64,
    problems: &mut Problems,
) -> Option<()> {
    let [(from, out), (to, into)] = [&table.from, &table.to].map(host_and_link);
    let from = host(&from, nodes, problems);
    let to = host(&to, nodes, problems);
    let each = count(table.count.as_ref(), problems);
    let (from, to, each) = (from?, to?, each?);
    let matrix = matrix_of(table, problems)?;
    let pairs = match matrix {
        None => pairs([&from, &to], [&table.from, &table.to], problems)?,
        Some(matrix) => {
            let flows = each.unwrap_or(1);
            matrix_pairs(table, (matrix, flows), [&from, &to], (seed, &name.text), problems)?
        }
    };
    let each = each.filter(|_| matrix != Some(Matrix::AnyToAny));
    if pairs.iter().any(|(from, to)| from == to) {
        let message = format!("`{}` sends to itself", table.to.text);
        problems.push(&table.to.span, message, "name two different hosts");
        return None;
    }
    let counted = table.count.is_some() || from.counted || to.counted;
    let total = pairs.len().saturating_mul(each.unwrap_or(1));
    let members = declared.names.add(name, counted.then_some(total), problems)?;
    let drawn = matrix == Some(Matrix::AnyToAny) && table.load.is_some();
    let typical = drawn.then(|| matrix::evenly(&from.range, &to.range));
    let links = [out, into];
    declared.list.push(Declaration { name, table, members, pairs, typical, links });
    Some(())
}

/// The traffic matrix; the ranks of an MPI job have a connection for every two.
fn matrix_of(table: &file::Flow, problems: &mut Problems) -> Option<Option<Matrix>> {
    let Some(mpi) = &table.workloads().mpi else { return Some(table.matrix) };
    let matrix = table.matrix.unwrap_or(Matrix::Pairs);
    let complaint = if matrix != Matrix::Pairs {
        (
            format!("an MPI job with the matrix `{}`", matrix.name()),
            "remove `matrix`: every two ranks share one connection",
        )
    } else if table.count.as_ref().is_some_and(|count| count.value != 1) {
        (
            "`count` and `mpi` are mutually exclusive".to_owned(),
            "remove `count`: every two ranks share one connection",
        )
    } else {
        return Some(Some(matrix));
    };
    problems.push(mpi.span(), complaint.0, complaint.1);
    None
}

/// The pairs of a traffic matrix; reports unsuitable ends.
fn matrix_pairs(
    table: &file::Flow,
    (matrix, flows): (Matrix, usize),
    [from, to]: [&Members; 2],
    (seed, name): (u64, &str),
    problems: &mut Problems,
) -> Option<Vec<(usize, usize)>> {
    let complaint = match matrix.count(&from.range, &to.range, flows) {
        Ok(count @ 1..=FLOWS_MAX) => {
            let pairs = matrix.pairs(from.range.clone(), to.range.clone(), flows, (seed, name));
            debug_assert_eq!(pairs.len(), count);
            return Some(pairs);
        }
        Ok(0) => ("the receiver is the only sender".into(), "name another sender".to_owned()),
        Ok(count) => {
            (format!("this makes {count} flows"), format!("reduce them to at most {FLOWS_MAX}"))
        }
        Err(needs) => {
            (format!("`{}` needs {needs}", matrix.name()), "change `from` or `to`".into())
        }
    };
    problems.push(&table.to.span, complaint.0, complaint.1);
    None
}

pub(super) fn resolve(
    declared: &Declared<'_>,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Vec<Flow> {
    let mut flows = Vec::new();
    for declaration in &declared.list {
        add(&mut flows, declaration, network, problems);
    }
    flows
}

fn add(
    flows: &mut Vec<Flow>,
    Declaration { name, table, members, pairs, typical, links }: &Declaration<'_>,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let pairs = ends(pairs, links, network, problems)?;
    let typical = match typical {
        Some(typical) => Some(ends(typical, links, network, problems)?),
        None => None,
    };
    let typical = typical.as_ref().unwrap_or(&pairs);
    let demand = demand::read(table, members.range.len(), typical, network, problems);
    let every = load::triggers(table, members.range.len(), typical, network, problems);
    events::check(name, table, &pairs, network, problems)?;
    ranks::check(table, &pairs, network, problems)?;
    programs::check(table, problems);
    programs::check_user(name, table.user, table.program.is_some(), problems);
    check_paths(table, &pairs, network, problems)?;
    let mut configs = Configs::default();
    let mut transport = |&ends: &Ends| match (&table.program, table.workloads().datagrams()) {
        // The program's words contain each flow's own port.
        (Some(_), _) => ip::header_length(ends, table, network, problems).map(|_| None),
        (None, Some(datagrams)) => {
            let udp = datagrams::resolve(datagrams, table, ends, network, problems)?;
            Some(Some(Transport::Udp(udp)))
        }
        (None, None) => {
            let mut connection = connection(ends, table, name, &mut configs, network, problems)?;
            if let (Some(settings), Some(every)) = (connection.workload.settings_mut(), &every) {
                settings.set("every", Value::RandomTime(every.clone()));
            }
            Some(Some(Transport::Tcp(configs.shared_ends(connection))))
        }
    };
    let transports: Vec<_> = pairs.iter().map(&mut transport).collect::<Option<_>>()?;
    let (demand, marks) = (demand?, table.marks().read(problems)?);
    let names =
        (0..members.range.len()).map(|index| member_name(&name.text, members.counted, index));
    let names: Vec<String> = names.collect();
    let starts = demand.starts(network.seed, names.iter().map(String::as_str));
    let starts: Vec<Instant> = starts.collect();
    demand::check(name, table, pairs.len(), (&demand, &starts), network, problems);
    flows.reserve_exact(names.len());
    let demand = Arc::new(demand);
    for (index, (name, start)) in names.into_iter().zip(starts).enumerate() {
        // The pairs take turns, so that `stagger` spreads the hosts' starts.
        let pair = index % pairs.len();
        let ends = pairs[pair];
        let [from, to] = ends.map(|end| network.node(end));
        let header = header(table, marks, (index, flows.len()), ends, network, problems)?;
        let program = table.program.as_ref().map(|program| {
            let addresses = ends.map(|end| network.address(end));
            programs::resolve(program, table, addresses, &header, problems).map(Transport::Program)
        });
        let transport = transports[pair].clone().or_else(|| program?)?;
        let bytes = demand.bytes(network.seed, &name);
        let span = ActivePeriod { start, stop: demand.stops(), bytes };
        flows.push(Flow {
            name,
            from,
            to,
            source: ends[0],
            destination: ends[1],
            header,
            span,
            demand: demand.clone(),
            transport,
        });
    }
    Some(())
}

/// The packet header of the table's flow with that index, which has that number in the plan.
fn header(
    table: &file::Flow,
    marks: Marks,
    (index, number): (usize, usize),
    ends: Ends,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Header> {
    let [source, destination] = ends.map(|end| network.address(end));
    let usual = Flow::usual_ports(number);
    let port = |given: Option<&Quantity<PortUnit>>, usual, index, problems: &mut Problems| {
        let Some(given) = given else { return Some(usual) };
        let port = usize::from(given.read(problems)?) + index;
        let port = u16::try_from(port).ok();
        if port.is_none() {
            let help =
                "use a lower first port: each connection has the port after the previous one";
            problems.push(&given.span, "there is no port after 65535", help);
        }
        port
    };
    // An external program has its own server.
    let (listening, servers) = match table.program {
        Some(_) => (Flow::usual_server_port(number), index),
        None => (usual.destination, 0),
    };
    let ports = Ports {
        source: port(table.source_port.as_ref(), usual.source, index, problems)?,
        destination: port(table.destination_port.as_ref(), listening, servers, problems)?,
    };
    let udp = table.workloads().datagrams().is_some();
    let protocol = if udp { Protocol::Udp } else { Protocol::Tcp };
    let header = Header::between(source, destination, protocol as u8, ports);
    Some(Header { tos: marks.dscp << 2, flow_label: marks.flow_label, ..header })
}

fn connection(
    [from, to]: Ends,
    table: &file::Flow,
    name: &Name,
    configs: &mut Configs,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Tcp> {
    let workload = workload::read(table, network.files, problems);
    let kernel_congestion = table.congestion.as_ref().and_then(Congestion::of_kernel);
    let kernel_congestion = kernel_congestion.map(str::to_owned);
    let reader = reader(table, problems);
    let sender = tcp(from, to, table, table.tcp.as_ref(), name, network, problems)?;
    // Both ends of a rank's connection send.
    let own = table.receiver_tcp.as_ref();
    let changes = own.or(table.tcp.as_ref().filter(|_| table.workloads().mpi.is_some()));
    let receiver = tcp(to, from, table, changes, name, network, problems)?;
    let (workload, reader) = (workload?, reader?);
    let (sender, receiver) = (configs.shared(sender), configs.shared(receiver));
    Some(Tcp { sender, receiver, kernel_congestion, workload, reader })
}

/// The host and the link of `host:link`.
fn host_and_link(name: &Name) -> (Name, Option<Name>) {
    let part = |text: &str| Name { text: text.trim().to_owned(), span: name.span.clone() };
    match name.text.split_once(':') {
        Some((host, link)) => (part(host), Some(part(link))),
        None => (name.clone(), None),
    }
}

/// The source and destination of the packets between these pairs of hosts, if the file names their `links`.
fn ends(
    pairs: &[(usize, usize)],
    links: &[Option<Name>; 2],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Vec<Ends>> {
    let [out, into] = links.each_ref().map(|link| match link {
        // With faulty links there are no routes.
        Some(link) if !network.routes.is_empty() => {
            let range = network.links.names.find(link, problems)?.range;
            let ends = network.links.list[range.clone()].iter().flat_map(|link| &link.ends);
            Some(Some(By { link, hosts: ends.map(|end| end.node).collect(), range }))
        }
        _ => Some(None),
    });
    let (out, into) = (out?, into?);
    let nodes = network.nodes.list.len();
    let mut end = |node: usize, by: &Option<By<'_>>| {
        let Some(By { link, hosts, range }) = by else { return Some(HostId(node as u32)) };
        let found = match hosts.contains(&node) {
            true => network.interfaces.at(nodes, node, range),
            false => Err(0),
        };
        found.map_err(|several| no_such_link(node, link, several, network, problems)).ok()
    };
    pairs.iter().map(|&(from, to)| Some([end(from, &out)?, end(to, &into)?])).collect()
}

/// A link named in the file, with its hosts.
struct By<'f> {
    link: &'f Name,
    range: Range<usize>,
    hosts: BTreeSet<usize>,
}

/// Reports a link that a host does not have, or an ambiguous name.
fn no_such_link(
    node: usize,
    link: &Name,
    several: usize,
    network: &Network<'_>,
    problems: &mut Problems,
) {
    let host = &network.nodes.list[node].name;
    let own = network.links.list.iter().filter(|l| l.ends.iter().any(|end| end.node == node));
    let names: Vec<&str> = own.map(|link| link.name.as_str()).collect();
    let message = match several {
        0 => format!("host `{host}` has no link `{}`", link.text),
        _ => format!("host `{host}` has {several} links `{}`", link.text),
    };
    let help = match names[..] {
        [] => "connect it with a [link.NAME]".to_owned(),
        [only] => format!("its link is `{only}`"),
        _ => format!("its links are {}", nearest::list(&names)),
    };
    problems.push(&link.span, message, help);
}

/// A host's name, or `host:link`.
fn name_of(end: HostId, network: &Network<'_>) -> String {
    let host = &network.nodes.list[network.node(end)].name;
    match (end.0 as usize).checked_sub(network.nodes.list.len()) {
        Some(interface) => {
            let link = network.interfaces.list[interface].link;
            format!("{host}:{}", network.links.list[link].name)
        }
        None => host.clone(),
    }
}

fn host(name: &Name, nodes: &Nodes<'_>, problems: &mut Problems) -> Option<Members> {
    let members = nodes.names.find(name, problems)?;
    match nodes.list[members.range.start].kind {
        NodeKind::Host(_) => Some(members),
        // A host with a faulty setting.
        _ if nodes.profiles[members.range.start].is_some() => None,
        _ => {
            let message = format!("`{}` is not a host", name.text);
            problems.push(&name.span, message, "connections begin and end at a [host.NAME]");
            None
        }
    }
}

/// The TCP settings of one end: its host's profile, segments that fit the first link, and the changes of the file.
fn tcp(
    local: HostId,
    peer: HostId,
    table: &file::Flow,
    changes: Option<&tcp::Tcp>,
    name: &Name,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Config> {
    let mut config = network.nodes.profiles[network.node(local)]?.config();
    if let Some(given) = &table.congestion {
        config.congestion = given.of_flow(config.congestion, problems)?;
    }
    let first = network.routes.next(local.0 as usize, peer.0 as usize);
    if let Some(link) = first {
        config.segment.mtu = network.links.list[link as usize].config.mtu.0 as u32;
    }
    config.emission.nagle &= table.workloads().nagle();
    if let Some(changes) = changes {
        changes.apply(&mut config, problems);
    }
    config.segment.ip_header = ip::header_length([local, peer], table, network, problems)?;
    config.segment.dscp = ip::dscp(table, problems)?;
    if let Err(error) = config.check() {
        let text = error.to_string();
        let (message, help) = text.split_once([':', ';']).unwrap_or((&text, ""));
        let (section, settings) = error.subject();
        let given = changes.and_then(|changes| changes.span_of(section, settings));
        problems.push(given.unwrap_or(&name.span), format!("its TCP: {message}"), help.trim());
        return None;
    }
    Some(config)
}

/// The TCP settings of the ends of one table's flows, mostly equal and stored once.
#[derive(Default)]
struct Configs {
    ends: VecDeque<Arc<Config>>,
    connections: VecDeque<Arc<Tcp>>,
}

impl Configs {
    /// The maximum number of compared ones: a table's paths differ at most by the MTUs of their first links.
    const KEPT: usize = 8;

    fn shared(&mut self, config: Config) -> Arc<Config> {
        let like = |known: &&Arc<Config>| {
            known.segment.mtu == config.segment.mtu && same_config(known, &config)
        };
        if let Some(known) = self.ends.iter().find(like) {
            return known.clone();
        }
        self.ends.truncate(Self::KEPT - 1);
        self.ends.push_front(config.into());
        self.ends[0].clone()
    }

    /// Both ends of a connection of the table, with shared configurations.
    fn shared_ends(&mut self, connection: Tcp) -> Arc<Tcp> {
        let like = |known: &&Arc<Tcp>| {
            Arc::ptr_eq(&known.sender, &connection.sender)
                && Arc::ptr_eq(&known.receiver, &connection.receiver)
                && known.workload == connection.workload
        };
        if let Some(known) = self.connections.iter().find(like) {
            return known.clone();
        }
        self.connections.truncate(Self::KEPT - 1);
        self.connections.push_front(connection.into());
        self.connections[0].clone()
    }
}

fn check_paths(
    table: &file::Flow,
    pairs: &[Ends],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<()> {
    if network.routes.is_empty() {
        return Some(());
    }
    let blocked =
        |&&[from, to]: &&Ends| network.routes.next(from.0 as usize, to.0 as usize).is_none();
    let Some(&ends) = pairs.iter().find(blocked) else { return Some(()) };
    let [from, to] = ends.map(|end| name_of(end, network));
    let message = format!("there is no path from `{from}` to `{to}`");
    let help = "connect them by [link.NAME] tables, through routers, switches or emulators: hosts do not forward";
    problems.push(&table.to.span, message, help);
    None
}

fn reader(table: &file::Flow, problems: &mut Problems) -> Option<Reader> {
    match &table.read {
        Some(read) => read.read(problems),
        None => Some(Reader::default()),
    }
}
