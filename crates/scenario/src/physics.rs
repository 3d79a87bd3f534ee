//! The physics check before a run: sizes that cannot do what they seem meant for, with the numbers.
//!
//! Nothing here is an error: an experiment may want it so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use network::datagram;
use traffic::classify::Subject;
use traffic::qdisc::{self, fifo, psp};
use traffic::{Bytes, Duration, FlowId, HostId, Instant, Packet, Rate};

use crate::plan::{Flow, Node, NodeKind, Plan, Tcp, Transport};

mod reservations;

/// Bins or samples beyond which a probe's file is unwieldy.
const SAMPLES_MAX: u64 = 10_000_000;

/// Something that will not work out as it seems meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A buffer far below a path's bandwidth-delay product, which standard TCP needs to keep it full.
    ShallowBuffer {
        /// The flow.
        flow: String,
        /// Where its bottleneck is.
        at: String,
        /// The buffer.
        buffer: Bytes,
        /// Bandwidth times round trip.
        product: Bytes,
    },
    /// A socket buffer below the bandwidth-delay product.
    SmallWindow {
        /// The flow.
        flow: String,
        /// `send` or `receive`.
        side: &'static str,
        /// The most that it lets be in flight.
        window: Bytes,
        /// Bandwidth times round trip.
        product: Bytes,
        /// What the window allows at best.
        rate: Option<Rate>,
    },
    /// A class paced faster than the bottleneck behind it.
    PacedAbove {
        /// The flow.
        flow: String,
        /// The class.
        class: String,
        /// Its rate.
        rate: Rate,
        /// Where the bottleneck is.
        at: String,
        /// The bottleneck's rate.
        bottleneck: Rate,
    },
    /// A sender's segments are longer than a link on the path takes.
    Mtu {
        /// The flow.
        flow: String,
        /// The sender's datagrams.
        datagram: Bytes,
        /// The link.
        link: String,
        /// What it takes.
        mtu: Bytes,
    },
    /// A slow reader or a train of messages asks for more than the path carries.
    Overload {
        /// The flow.
        flow: String,
        /// What its program offers.
        offered: Rate,
        /// What the path carries.
        bottleneck: Rate,
    },
    /// Datagrams, whose senders do not slow down, that come to more than a port carries.
    Excess {
        /// The port.
        at: String,
        /// What they come to on average with what frames cost there, at the worst time.
        offered: Rate,
        /// What the port carries.
        rate: Rate,
    },
    /// A probe records very much.
    ManySamples {
        /// The probe.
        probe: String,
        /// How many bins or samples.
        samples: u64,
    },
    /// Flows that are drawn to start when the run is over, or when they would stop.
    Late {
        /// The flow, or what is counted.
        flow: String,
        /// How many start in time.
        begun: usize,
        /// How many there are.
        flows: usize,
    },
    /// A change that no run can make.
    Refused {
        /// The change.
        change: String,
        /// Why not.
        why: String,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShallowBuffer { flow, at, buffer, product } => write!(
                f,
                "`{flow}`: the buffer at {at} holds {buffer}, {} % of the path's bandwidth-delay \
                 product ({product}): pace at the bottleneck's rate, or expect losses",
                u128::from(buffer.0) * 100 / u128::from(product.0.max(1))
            ),
            Self::SmallWindow { flow, side, window, product, rate } => {
                write!(
                    f,
                    "`{flow}`: the {side} buffer allows {window} in flight, but the path holds \
                    {product}"
                )?;
                match rate {
                    Some(rate) => write!(f, ": at most {rate} gets through"),
                    None => Ok(()),
                }
            }
            Self::PacedAbove { flow, class, rate, at, bottleneck } => write!(
                f,
                "`{flow}`: the class `{class}` is paced to {rate}, above the {bottleneck} at {at}"
            ),
            Self::Mtu { flow, datagram, link, mtu } => write!(
                f,
                "`{flow}` sends datagrams of {datagram}, but the link `{link}` takes {mtu}: every \
                 full segment is dropped there"
            ),
            Self::Overload { flow, offered, bottleneck } => write!(
                f,
                "`{flow}` offers {offered}, but the path carries {bottleneck}: messages pile up"
            ),
            Self::Excess { at, offered, rate } => write!(
                f,
                "datagrams come to {offered} at {at}, which carries {rate}: the rest is lost there"
            ),
            Self::ManySamples { probe, samples } => {
                write!(f, "the probe `{probe}` records {samples} samples: shorten its window")
            }
            Self::Late { flow, begun, flows } => write!(
                f,
                "`{flow}`: with this seed {begun} of {flows} flows start in time: set \
                 `flow.{flow}.start` or `flow.{flow}.stagger` lower, or `duration` higher"
            ),
            Self::Refused { change, why } => write!(f, "`{change}` will be refused: {why}"),
        }
    }
}

/// The narrowest place on a way, and the way's length.
struct Path {
    links: Vec<Hop>,
    round_trip: Duration,
}

/// One output port on the way.
struct Hop {
    link: usize,
    end: usize,
    /// In frame bytes.
    rate: Rate,
    /// What a frame costs beyond its bytes.
    overhead: Bytes,
    /// `None` for a queue that counts packets only.
    buffer: Option<Bytes>,
    at: String,
}

/// What is odd about a plan, flow by flow, then probe by probe, then change by change. Each kind of warning is given once for a
/// group of like flows.
pub fn physics(plan: &Plan) -> Vec<Warning> {
    let (mut warnings, mut kinds) = (Vec::new(), BTreeSet::new());
    for (number, flow) in plan.flows.iter().enumerate() {
        for warning in flow_warnings(plan, flow, number) {
            // NAME.1, NAME.2, … differ in nothing that matters here.
            let group = flow.name.split('.').next().unwrap_or_default();
            if kinds.insert(format!("{group} {:?}", std::mem::discriminant(&warning))) {
                warnings.push(warning);
            }
        }
    }
    warnings.extend(late(plan));
    warnings.extend(excess(plan));
    warnings.extend(samples(plan));
    warnings.extend(reservations::refused(plan));
    warnings
}

fn flow_warnings(plan: &Plan, flow: &Flow, number: usize) -> Vec<Warning> {
    let Some(tcp) = flow.tcp() else { return Vec::new() };
    let Some(path) = path(plan, flow) else { return Vec::new() };
    let Some(narrow) = path.links.iter().min_by_key(|hop| hop.rate) else { return Vec::new() };
    let product = product(narrow.rate, path.round_trip);
    let mut found = Vec::new();
    let flow_name = || flow.name.clone();
    let class = paced(plan, flow, number, &path);
    if let Some((class, rate)) = &class
        && *rate > narrow.rate
    {
        found.push(Warning::PacedAbove {
            flow: flow_name(),
            class: class.clone(),
            rate: *rate,
            at: narrow.at.clone(),
            bottleneck: narrow.rate,
        });
    }
    let entered_faster = path.links.iter().any(|hop| hop.rate > narrow.rate);
    if let Some(buffer) = narrow.buffer.filter(|b| b.0 < product.0 / 2)
        && class.is_none()
        && entered_faster
    {
        let at = narrow.at.clone();
        found.push(Warning::ShallowBuffer { flow: flow_name(), at, buffer, product });
    }
    found.extend(windows(flow, tcp, product, path.round_trip));
    found.extend(mtu(plan, flow, tcp, &path));
    found.extend(overload(flow, tcp, narrow.rate));
    found
}

/// The windows that the socket buffers allow, against what the path holds.
fn windows(flow: &Flow, tcp: &Tcp, product: Bytes, round_trip: Duration) -> Vec<Warning> {
    let send = tcp.sender.buffers.send.max();
    let (over, under) = tcp.receiver.buffers.window_share;
    let receive = u128::from(tcp.receiver.buffers.receive.max()) * u128::from(over);
    let receive = u64::try_from(receive / u128::from(under.max(1))).unwrap_or(u64::MAX);
    let small = [("send", send), ("receive", receive)].into_iter();
    let small = small.filter(|(_, window)| *window < product.0);
    // Only the smaller one limits.
    let least = small.min_by_key(|(_, window)| *window);
    let warning = |(side, window): (&'static str, u64)| Warning::SmallWindow {
        flow: flow.name.clone(),
        side,
        window: Bytes(window),
        product,
        rate: rate_of(Bytes(window), round_trip),
    };
    least.map(warning).into_iter().collect()
}

fn mtu(plan: &Plan, flow: &Flow, tcp: &Tcp, path: &Path) -> Option<Warning> {
    let datagram = Bytes(tcp.sender.segment.mtu.min(tcp.receiver.segment.mtu).into());
    let link = path.links.iter().map(|hop| &plan.links[hop.link]);
    let narrow = link.filter(|link| link.config.mtu < datagram).min_by_key(|l| l.config.mtu)?;
    let (link, mtu) = (narrow.name.clone(), narrow.config.mtu);
    Some(Warning::Mtu { flow: flow.name.clone(), datagram, link, mtu })
}

fn overload(flow: &Flow, tcp: &Tcp, bottleneck: Rate) -> Option<Warning> {
    let train = tcp.train?;
    let offered = rate_of(train.message, train.every)?;
    let over = offered > bottleneck;
    over.then(|| Warning::Overload { flow: flow.name.clone(), offered, bottleneck })
}

/// Counted flows of which not all start, as their starts are drawn.
fn late(plan: &Plan) -> Vec<Warning> {
    let end = Instant::ZERO + plan.duration;
    let groups = plan.flows.chunk_by(|one, next| group_of(&one.name) == group_of(&next.name));
    let warning = |members: &[Flow]| {
        let begun = members.iter().filter(|flow| flow.span.start < end.min(flow.span.stop)).count();
        let flow = group_of(&members[0].name).to_owned();
        let flows = members.len();
        (begun < flows).then_some(Warning::Late { flow, begun, flows })
    };
    groups.filter_map(warning).collect()
}

/// The name of the table that a flow is of.
fn group_of(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(table, _)| table)
}

/// The ports that datagrams alone fill, with the most that they come to at any time.
fn excess(plan: &Plan) -> Vec<Warning> {
    let mut ports = BTreeMap::new();
    for flow in &plan.flows {
        let Transport::Udp(config) = &flow.transport else { continue };
        for hop in way(plan, flow.from, flow.to).into_iter().flat_map(|(hops, _)| hops) {
            let load = load(config, hop.overhead);
            let (_, changes) = ports
                .entry((hop.link, hop.end))
                .or_insert_with(|| (hop, Vec::<(Instant, i128)>::new()));
            changes.extend([(flow.span.start, load), (flow.span.stop, -load)]);
        }
    }
    let warning = |(hop, mut changes): (Hop, Vec<(Instant, i128)>)| {
        changes.sort_unstable();
        let sums = changes.iter().scan(0, |sum, (_, change)| {
            *sum += change;
            Some(*sum)
        });
        let offered = Rate::from_bits_per_second(u64::try_from(sums.max()?).ok()?)?;
        let Hop { rate, at, .. } = hop;
        (offered > rate).then_some(Warning::Excess { at, offered, rate })
    };
    ports.into_values().filter_map(warning).collect()
}

/// What a source offers on average where a frame costs `overhead`, in bits per second.
fn load(config: &datagram::Config, overhead: Bytes) -> i128 {
    let frame = i128::from((config.frame() + overhead).0);
    let bits = i128::from(config.rate.bits_per_second()) * frame / i128::from(config.size);
    let Some(datagram::OnOff { on, off }) = config.on_off else { return bits };
    let (on, off) = (i128::from(on.as_ps()), i128::from(off.as_ps()));
    bits * on / (on + off)
}

fn samples(plan: &Plan) -> Vec<Warning> {
    let count = |span: Duration, every: Duration| span.as_ps() / every.as_ps().max(1);
    let bins = plan.probes.bandwidth.iter().map(|probe| {
        (probe.name.clone(), count(probe.window.until - probe.window.from, probe.bin))
    });
    let rows = |every: Duration, of: usize| count(plan.duration, every).saturating_mul(of as u64);
    let flows = plan.probes.flows.map(|every| ("flows".into(), rows(every, plan.flows.len())));
    let ports = 2 * plan.links.len();
    let queues = plan.probes.queues.map(|every| ("queues".into(), rows(every, ports)));
    let all = bins.chain(flows).chain(queues);
    let many = all.filter(|(_, samples)| *samples > SAMPLES_MAX);
    many.map(|(probe, samples)| Warning::ManySamples { probe, samples }).collect()
}

/// The ports from sender to receiver, and the delay there and back; `None` if there is no way.
fn path(plan: &Plan, flow: &Flow) -> Option<Path> {
    let (links, there) = way(plan, flow.from, flow.to)?;
    let (_, back) = way(plan, flow.to, flow.from)?;
    Some(Path { links, round_trip: there + back })
}

fn way(plan: &Plan, from: usize, to: usize) -> Option<(Vec<Hop>, Duration)> {
    let (mut hops, mut delay, mut node) = (Vec::new(), Duration::ZERO, from);
    while node != to && hops.len() <= plan.nodes.len() {
        let link = plan.routes.next(node, to)? as usize;
        let end = usize::from(plan.links[link].ends[0].node != node);
        delay += plan.links[link].config.delay;
        if let NodeKind::Emulator(emulator) = &plan.nodes[node].kind {
            delay += emulator.delay;
        }
        hops.push(hop(plan, &plan.nodes[node], link, end));
        node = plan.links[link].ends[1 - end].node;
    }
    Some((hops, delay))
}

fn hop(plan: &Plan, node: &Node, link: usize, end: usize) -> Hop {
    let config = &plan.links[link].config;
    let (rate, buffer, overhead) = match (&node.kind, &plan.links[link].ends[end].queue) {
        (NodeKind::Emulator(emulator), _) => {
            (emulator.rate.min(config.rate), Some(emulator.buffer), Bytes(0))
        }
        (_, qdisc::Parameters::Fifo(fifo)) => {
            (config.rate, limit(fifo, config.mtu), config.overhead)
        }
        _ => (config.rate, None, config.overhead),
    };
    Hop {
        link,
        end,
        rate,
        overhead,
        buffer,
        at: format!("{}:{}", node.name, plan.links[link].name),
    }
}

/// The bytes that a fifo of full frames holds.
fn limit(fifo: &fifo::Parameters, mtu: Bytes) -> Option<Bytes> {
    let frame = mtu.0.saturating_add(traffic::packet::ETHERNET_HEADER_AND_FCS.into());
    let by_packets = fifo.packets.map(|packets| Bytes(packets.saturating_mul(frame)));
    by_packets.into_iter().chain(fifo.bytes).min()
}

/// The first class on the way that paces the flow, and its rate.
fn paced(plan: &Plan, flow: &Flow, number: usize, path: &Path) -> Option<(String, Rate)> {
    path.links.iter().find_map(|hop| match &plan.links[hop.link].ends[hop.end].queue {
        qdisc::Parameters::Psp(psp) => class_of(&*psp.in_classes().ok()?, flow, number),
        _ => None,
    })
}

fn class_of(psp: &psp::Parameters, flow: &Flow, number: usize) -> Option<(String, Rate)> {
    let packet = Packet {
        source: HostId(flow.from as u16),
        destination: HostId(flow.to as u16),
        flow: FlowId(number as u32),
        tos: flow.header.tos,
        ..Packet::default()
    };
    let subject = Subject { header: Some(&flow.header), packet: Some(&packet) };
    // `max_by_key` takes the last of equals.
    let matching = psp.filters.iter().filter(|rule| rule.filter.matches(subject));
    let rule = matching.rev().max_by_key(|rule| rule.priority)?;
    let class = psp.classes.iter().find(|class| class.name == rule.class)?;
    Some((class.name.clone(), class.rate))
}

/// Bandwidth times delay.
fn product(rate: Rate, round_trip: Duration) -> Bytes {
    let bits = u128::from(rate.bits_per_second()) * u128::from(round_trip.as_ps());
    let bytes = bits / 8 / u128::from(traffic::units::PS_PER_SECOND);
    Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// The rate of `bytes` in each `time`.
fn rate_of(bytes: Bytes, time: Duration) -> Option<Rate> {
    let bits = u128::from(bytes.0) * 8 * u128::from(traffic::units::PS_PER_SECOND);
    let rate = bits / u128::from(time.as_ps().max(1));
    Rate::from_bits_per_second(u64::try_from(rate).ok()?)
}
