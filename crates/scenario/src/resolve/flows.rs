//! Connections: who sends to whom, with which TCP, when and how much.

use std::net::IpAddr;

use network::application::{Reader, Train, Writer};
use traffic::header::{Header, Ports};
use traffic::{Bytes, Duration, Instant};
use transport::Config;

use super::directory::{Members, count, member_name, pairs};
use super::nodes::Nodes;
use super::{Directory, Network};
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::plan::{Flow, NodeKind};
use crate::tcp::{self, Tcp};
use crate::value::{Name, PortUnit, Quantity, TimeUnit};

/// Ten times what DESIGN.md asks of one run.
const FLOWS_MAX: usize = 100_000;
/// IANA's number.
const PROTOCOL_TCP: u8 = 6;

/// The flows' names, and who talks to whom; queues may refer to them.
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
}

pub(super) fn declare<'f>(
    file: &'f Scenario,
    nodes: &Nodes<'_>,
    problems: &mut Problems,
) -> Declared<'f> {
    let mut declared = Declared { names: Directory::new("flow", FLOWS_MAX), list: Vec::new() };
    for (name, table) in file.flow.iter() {
        declare_one(&mut declared, name, table, nodes, problems);
    }
    declared
}

fn declare_one<'f>(
    declared: &mut Declared<'f>,
    name: &'f Name,
    table: &'f file::Flow,
    nodes: &Nodes<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let from = host(&table.from, nodes, problems);
    let to = host(&table.to, nodes, problems);
    let each = count(table.count.as_ref(), problems);
    let (from, to, each) = (from?, to?, each?);
    let pairs = pairs([&from, &to], [&table.from, &table.to], problems)?;
    if pairs.iter().any(|(from, to)| from == to) {
        let message = format!("`{}` sends to itself", table.to.text);
        problems.push(&table.to.span, message, "name two different hosts");
        return None;
    }
    let counted = each.is_some() || from.counted || to.counted;
    let total = pairs.len().saturating_mul(each.unwrap_or(1));
    let members = declared.names.add(name, counted.then_some(total), problems)?;
    declared.list.push(Declaration { name, table, members, pairs });
    Some(())
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
    Declaration { name, table, members, pairs }: &Declaration<'_>,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let stagger = time_or_zero(table.stagger.as_ref(), problems);
    let writer = writer(table, network.duration, problems);
    let reader = reader(table, problems);
    check_paths(table, pairs, network, problems)?;
    let ends = pairs.iter().map(|&(from, to)| {
        let sender = tcp(from, to, table, &table.tcp, name, network, problems)?;
        let receiver = tcp(to, from, table, &table.receiver_tcp, name, network, problems)?;
        Some((sender, receiver))
    });
    let ends: Vec<_> = ends.collect::<Option<_>>()?;
    let (stagger, writer, reader) = (stagger?, writer?, reader?);
    for index in 0..members.range.len() {
        // The pairs take turns, so that `stagger` spreads the hosts' starts.
        let pair = index % pairs.len();
        let ((from, to), (sender, receiver)) = (pairs[pair], ends[pair]);
        let start = writer.start + stagger.times(index as u64);
        let header = header(table, index, flows.len(), [from, to], network, problems)?;
        flows.push(Flow {
            name: member_name(&name.text, members.counted, index),
            from,
            to,
            header,
            sender,
            receiver,
            writer: Writer { start, ..writer },
            reader,
        });
    }
    Some(())
}

/// What the headers of the packets say of the table's flow of that index, which is the plan's of that
/// number.
fn header(
    table: &file::Flow,
    index: usize,
    number: usize,
    ends: [usize; 2],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Header> {
    let [source, destination] = ends.map(|end| network.nodes.list[end].address);
    let usual = Flow::usual_ports(number);
    let port = |given: Option<&Quantity<PortUnit>>, usual, index, problems: &mut Problems| {
        let Some(given) = given else { return Some(usual) };
        let port = usize::from(given.read(problems)?) + index;
        let port = u16::try_from(port).ok();
        if port.is_none() {
            let help = "begin lower: each connection has the port after the one before";
            problems.push(&given.span, "there is no port after 65535", help);
        }
        port
    };
    let ports = Ports {
        source: port(table.source_port.as_ref(), usual.source, index, problems)?,
        destination: port(table.destination_port.as_ref(), usual.destination, 0, problems)?,
    };
    let flow_label = flow_label(table, problems)?;
    Some(Header { flow_label, ..Header::between(source, destination, PROTOCOL_TCP, ports) })
}

fn flow_label(table: &file::Flow, problems: &mut Problems) -> Option<u32> {
    const MOST: u64 = (1 << 20) - 1;
    let Some(label) = &table.flow_label else { return Some(0) };
    if label.value > MOST {
        let message = format!("the flow label {} is out of range", label.value);
        problems.push(&label.span, message, format!("give 0 to {MOST}"));
        return None;
    }
    Some(label.value as u32)
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

/// One end's TCP: its host's profile, segments that fit the first link, what the file changes.
fn tcp(
    local: usize,
    peer: usize,
    table: &file::Flow,
    changes: &Tcp,
    name: &Name,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Config> {
    let mut config = network.nodes.profiles[local]?.config();
    if let Some(name) = &table.congestion {
        config.algorithm = tcp::algorithm(name, problems)?;
    }
    let first = network.routes.get(local).and_then(|row| row[peer]);
    if let Some(link) = first {
        config.segment.mtu = network.links.list[link as usize].config.mtu.0 as u32;
    }
    changes.apply(&mut config, problems);
    let addresses = [local, peer].map(|end| network.nodes.list[end].address);
    config.segment.ip_header = ip_header(addresses, &table.to, problems)?;
    if let Some(dscp) = &table.dscp {
        config.segment.dscp = dscp.read(problems)?;
    }
    if let Err(error) = config.check() {
        let text = error.to_string();
        let (message, help) = text.split_once([':', ';']).unwrap_or((&text, ""));
        problems.push(&name.span, format!("its TCP: {message}"), help.trim());
        return None;
    }
    Some(config)
}

/// The length of the header between these two; a complaint if they are of different versions.
fn ip_header(addresses: [IpAddr; 2], to: &Name, problems: &mut Problems) -> Option<u32> {
    match addresses {
        [IpAddr::V4(_), IpAddr::V4(_)] => Some(20),
        [IpAddr::V6(_), IpAddr::V6(_)] => Some(40),
        [one, other] => {
            let message = format!("{one} cannot talk to {other}");
            let help = "give both hosts an `address` of one version of IP";
            problems.push(&to.span, message, help);
            None
        }
    }
}

fn check_paths(
    table: &file::Flow,
    pairs: &[(usize, usize)],
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let blocked = |&&(from, to): &&(usize, usize)| {
        network.routes.get(from).is_some_and(|row| row[to].is_none())
    };
    let Some(&(from, to)) = pairs.iter().find(blocked) else { return Some(()) };
    let nodes = &network.nodes.list;
    let message = format!("there is no path from `{}` to `{}`", nodes[from].name, nodes[to].name);
    let help = "join them with a [link.NAME], by way of routers or emulators: hosts do not forward";
    problems.push(&table.to.span, message, help);
    None
}

fn time_or_zero(time: Option<&Quantity<TimeUnit>>, problems: &mut Problems) -> Option<Duration> {
    time.map_or(Some(Duration::ZERO), |quantity| quantity.read(problems))
}

fn writer(table: &file::Flow, duration: Duration, problems: &mut Problems) -> Option<Writer> {
    let start = time_or_zero(table.start.as_ref(), problems);
    let stop = match &table.stop {
        Some(stop) => stop.read(problems).map(|stop| Instant::ZERO + stop),
        None => Some(Instant::NEVER),
    };
    let bytes = match &table.bytes {
        Some(bytes) => bytes.read(problems).map(Some),
        None => Some(None),
    };
    let train = match &table.train {
        Some(table) => train(table, problems).map(Some),
        None => Some(None),
    };
    let start = start?;
    if let Some(quantity) = table.start.as_ref().filter(|_| start >= duration) {
        let help = "start before the scenario's duration";
        problems.push(&quantity.span, "it starts when the run is over", help);
    }
    let start = Instant::ZERO + start;
    if let (Some(quantity), Some(stop)) = (&table.stop, stop)
        && stop <= start
    {
        let help = "stop after the start; both count from the start of the run";
        problems.push(&quantity.span, "it stops before it starts", help);
    }
    if let (Some(quantity), Some(Some(Bytes(0)))) = (&table.bytes, bytes) {
        let help = "leave `bytes` out to write without end";
        problems.push(&quantity.span, "it writes nothing", help);
    }
    Some(Writer { start, stop: stop?, bytes: bytes?, train: train? })
}

fn train(table: &file::Train, problems: &mut Problems) -> Option<Train> {
    let message = table.message.read(problems);
    let every = table.every.read(problems);
    if message == Some(Bytes(0)) {
        problems.push(&table.message.span, "a message of nothing", "give its size: \"1 MB\"");
    }
    if every == Some(Duration::ZERO) {
        let help = "give the time from message to message: \"100 ms\"";
        problems.push(&table.every.span, "messages without time between", help);
    }
    Some(Train { message: message?, every: every? })
}

fn reader(table: &file::Flow, problems: &mut Problems) -> Option<Reader> {
    match &table.read {
        Some(read) => Some(Reader { rate: Some(read.rate.read(problems)?) }),
        None => Some(Reader { rate: None }),
    }
}
