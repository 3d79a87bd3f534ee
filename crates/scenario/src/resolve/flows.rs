//! Connections: who sends to whom, with which TCP, when and how much.

use congestion::Algorithm;
use network::application::{Reader, Train, Writer};
use traffic::{Bytes, Duration, Instant};
use transport::Config;

use super::directory::{Members, count, member_name, pairs};
use super::{Directory, Network};
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::nearest;
use crate::plan::{Flow, NodeKind};
use crate::value::{Name, Quantity, TimeUnit};

/// Ten times what DESIGN.md asks of one run.
const FLOWS_MAX: usize = 100_000;

/// The connections and their names.
pub(super) struct Flows<'f> {
    pub(super) list: Vec<Flow>,
    pub(super) names: Directory<'f>,
}

pub(super) fn resolve<'f>(
    file: &'f Scenario,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Flows<'f> {
    let mut flows = Flows { list: Vec::new(), names: Directory::new("flow", FLOWS_MAX) };
    for (name, table) in file.flow.iter() {
        add(&mut flows, name, table, network, problems);
    }
    flows
}

fn add<'f>(
    flows: &mut Flows<'f>,
    name: &'f Name,
    table: &file::Flow,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<()> {
    let from = host(&table.from, network, problems);
    let to = host(&table.to, network, problems);
    let algorithm = table.congestion.as_ref().map(|name| algorithm(name, problems));
    let stagger = time_or_zero(table.stagger.as_ref(), problems);
    let writer = writer(table, network.duration, problems);
    let reader = reader(table, problems);
    let each = count(table.count.as_ref(), problems);
    let (from, to, each) = (from?, to?, each?);
    if from.range == to.range {
        let help = "name two different hosts";
        problems.push(&table.to.span, format!("`{}` sends to itself", table.to.text), help);
        return None;
    }
    let pairs = pairs([&from, &to], [&table.from, &table.to], problems)?;
    let counted = each.is_some() || from.counted || to.counted;
    let total = pairs.len().saturating_mul(each.unwrap_or(1));
    let members = flows.names.add(name, counted.then_some(total), problems)?;
    let (stagger, writer, reader) = (stagger?, writer?, reader?);
    let algorithm = match algorithm {
        Some(found) => Some(found?),
        None => None,
    };
    check_paths(table, &pairs, network, problems)?;
    for index in 0..total {
        // The pairs take turns, so that `stagger` spreads the hosts' starts.
        let (from, to) = pairs[index % pairs.len()];
        let delay = stagger.times(index as u64);
        flows.list.push(Flow {
            name: member_name(&name.text, members.counted, index),
            from,
            to,
            sender: tcp(from, to, algorithm, network),
            receiver: tcp(to, from, algorithm, network),
            writer: Writer { start: writer.start + delay, ..writer },
            reader,
        });
    }
    Some(())
}

fn host(name: &Name, network: &Network<'_>, problems: &mut Problems) -> Option<Members> {
    let members = network.nodes.names.find(name, problems)?;
    match network.nodes.list[members.range.start].kind {
        NodeKind::Host(_) => Some(members),
        _ if network.nodes.profiles[members.range.start].is_some() => None,
        _ => {
            let message = format!("`{}` is not a host", name.text);
            problems.push(&name.span, message, "connections begin and end at a [host.NAME]");
            None
        }
    }
}

fn algorithm(name: &Name, problems: &mut Problems) -> Option<&'static Algorithm> {
    let found = Algorithm::by_name(&name.text);
    if found.is_none() {
        let names = Algorithm::all().iter().map(Algorithm::name);
        let message = format!("there is no congestion control algorithm `{}`", name.text);
        problems.push(&name.span, message, nearest::suggest(&name.text, names));
    }
    found
}

/// One end's TCP: its host's profile, segments that fit the first link.
fn tcp(
    local: usize,
    peer: usize,
    algorithm: Option<&'static Algorithm>,
    network: &Network<'_>,
) -> Config {
    let profile = network.nodes.profiles[local].expect("a host has a profile");
    let mut config = profile.config();
    if let Some(algorithm) = algorithm {
        config.algorithm = algorithm;
    }
    let first = network.routes.get(local).and_then(|row| row[peer]);
    if let Some(link) = first {
        config.segment.mtu = network.links.list[link as usize].config.mtu.0 as u32;
    }
    config
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
