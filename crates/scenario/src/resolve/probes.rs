//! Recorded data and the ports of probes.

use base::{Duration, Instant};
use network::PortId;

use super::Directory;
use super::network::Network;
use crate::classes;
use crate::diagnostic::Problems;
use crate::file::{self, Scenario};
use crate::nearest;
use crate::plan::{Bandwidth, Capture, Link, Probes, Sequence, Window};
use crate::value::{Name, Quantity, TimeUnit};

/// The minimum width of a bin of bandwidth.
const BIN_MIN: Duration = Duration::from_us(1);

pub(super) fn resolve(
    file: &Scenario,
    network: &Network<'_>,
    flows: &Directory<'_>,
    problems: &mut Problems,
) -> Probes {
    let probes = &file.probe;
    let bandwidth = probes.bandwidth.iter();
    let bandwidth = bandwidth.filter_map(|(n, t)| self::bandwidth(n, t, network, flows, problems));
    let bandwidth = bandwidth.collect();
    let sequences = probes.sequence.iter();
    let sequences = sequences.filter_map(|(n, t)| sequence(n, t, network, flows, problems));
    let sequences = sequences.collect();
    let captures = probes.capture.iter();
    let captures = captures.filter_map(|(name, t)| capture(name, t, network, problems)).collect();
    let delays = probes.automatic.unwrap_or(true);
    let unasked = |series| delays.then(|| automatic(network.duration, series));
    let series = [flows.len(), series_of_queues(network)];
    let [flows, queues] = [(&probes.flows, series[0]), (&probes.queues, series[1])].map(
        |(asked, series)| match asked {
            Some(table) => sampling(table, problems),
            None => unasked(series),
        },
    );
    let idle = probes.idle.unwrap_or(false);
    Probes { flows, queues, delays, idle, bandwidth, sequences, captures }
}

/// The interval of automatic samples of this number of flows, or queues and classes.
fn automatic(duration: Duration, series: usize) -> Duration {
    const SAMPLES: u64 = 500;
    const ROWS: u64 = 200_000;
    let samples = (ROWS / (series as u64).max(1)).clamp(20, SAMPLES);
    Duration::from_ps(duration.as_ps() / samples).max(BIN_MIN)
}

fn series_of_queues(network: &Network<'_>) -> usize {
    let links = network.links.list.iter().enumerate();
    let ports = links.flat_map(|(index, link)| [(link, 2 * index), (link, 2 * index + 1)]);
    ports.map(|(link, port)| 1 + classes::of_end(link, port, &[]).len()).sum()
}

fn sampling(table: &file::Sampling, problems: &mut Problems) -> Option<Duration> {
    let every = table.every.read(problems)?;
    if every < BIN_MIN {
        problems.push(
            &table.every.span,
            "a sampling interval below 1 us",
            "write \"1 us\" or more",
        );
        return None;
    }
    Some(every)
}

fn bandwidth(
    name: &Name,
    table: &file::Bandwidth,
    network: &Network<'_>,
    flows: &Directory<'_>,
    problems: &mut Problems,
) -> Option<Bandwidth> {
    let bin = table.bin.read(problems);
    if bin.is_some_and(|bin| bin < BIN_MIN) {
        problems.push(&table.bin.span, "a bin below 1 us", "write \"1 us\" or more");
    }
    let window = window(table.from.as_ref(), table.until.as_ref(), network.duration, problems);
    let port = port(&table.at, network, problems);
    let flows = match &table.flows {
        Some(names) => Some(members(names, flows, problems)?),
        None => None,
    };
    Some(Bandwidth { name: name.text.clone(), port: port?, bin: bin?, window: window?, flows })
}

/// The connections of all these flows, in order.
fn members(names: &[Name], flows: &Directory<'_>, problems: &mut Problems) -> Option<Vec<usize>> {
    let found: Vec<_> = names.iter().map(|name| flows.find(name, problems)).collect();
    let found: Option<Vec<_>> = found.into_iter().collect();
    let mut members: Vec<usize> = found?.into_iter().flat_map(|members| members.range).collect();
    members.sort_unstable();
    members.dedup();
    Some(members)
}

fn sequence(
    name: &Name,
    table: &file::Sequence,
    network: &Network<'_>,
    flows: &Directory<'_>,
    problems: &mut Problems,
) -> Option<Sequence> {
    let window = window(table.from.as_ref(), table.until.as_ref(), network.duration, problems);
    let port = port(&table.at, network, problems);
    let members = flows.find(&table.flow, problems)?;
    if members.range.len() > 1 {
        let message = format!("`{}` has {} connections", table.flow.text, members.range.len());
        let help = format!("name one of them, such as `{}.1`", table.flow.text);
        problems.push(&table.flow.span, message, help);
        return None;
    }
    let flow = members.range.start;
    Some(Sequence { name: name.text.clone(), flow, port: port?, window: window? })
}

fn capture(
    name: &Name,
    table: &file::Capture,
    network: &Network<'_>,
    problems: &mut Problems,
) -> Option<Capture> {
    let window = window(table.from.as_ref(), table.until.as_ref(), network.duration, problems);
    let port = port(&table.at, network, problems);
    Some(Capture { name: name.text.clone(), port: port?, window: window? })
}

/// The interval from `from` to `until`, within the run.
pub(super) fn window(
    from: Option<&Quantity<TimeUnit>>,
    until: Option<&Quantity<TimeUnit>>,
    duration: Duration,
    problems: &mut Problems,
) -> Option<Window> {
    let begin = from.map_or(Some(Duration::ZERO), |quantity| quantity.read(problems))?;
    let end = until.map_or(Some(duration), |quantity| quantity.read(problems))?.min(duration);
    if begin >= end {
        if let Some(quantity) = until.filter(|_| begin < duration).or(from).or(until) {
            let help = "set `from` before `until` and before the end of the run";
            problems.push(&quantity.span, "the interval is empty", help);
        }
        return None;
    }
    Some(Window { from: Instant::ZERO + begin, until: Instant::ZERO + end })
}

/// `node:link`: that node's output into that link.
pub(super) fn port(at: &Name, network: &Network<'_>, problems: &mut Problems) -> Option<PortId> {
    let Some((node, link)) = at.text.split_once(':') else {
        let message = format!("invalid port `{}`", at.text);
        problems.push(&at.span, message, "write node:link, such as \"sender:access\"");
        return None;
    };
    let part = |text: &str| Name { text: text.trim().to_owned(), span: at.span.clone() };
    let nodes = network.nodes.names.find(&part(node), problems);
    let links = network.links.names.find(&part(link), problems);
    let (nodes, links) = (nodes?.range, links?.range);
    let ends = |number: usize| (0..2).map(move |end| (number, end));
    let list = &network.links.list;
    let at_node = |&(number, end): &(usize, usize)| {
        list.get(number).is_some_and(|link: &Link| nodes.contains(&link.ends[end].node))
    };
    let mut ports = links.flat_map(ends).filter(at_node);
    match (ports.next(), ports.next()) {
        (Some((number, end)), None) => Some(PortId((2 * number + end) as u32)),
        (None, _) => {
            let at_node = list.iter().filter(|l| l.ends.iter().any(|e| nodes.contains(&e.node)));
            let names: Vec<&str> = at_node.map(|link| link.name.as_str()).collect();
            let message = format!("`{node}` is not an end of `{link}`");
            let help = format!("its links are {}", nearest::list(&names));
            problems.push(&at.span, message, help);
            None
        }
        (Some((number, end)), Some(_)) => {
            let link = &list[number];
            let node = &network.nodes.list[link.ends[end].node].name;
            let message = format!("`{}` names several ports", at.text);
            let help = format!("name one of them, such as `{node}:{}`", link.name);
            problems.push(&at.span, message, help);
            None
        }
    }
}
