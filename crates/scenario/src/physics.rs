//! The physics check before a run: settings that cannot have their apparent purpose, with numbers.
//!
//! None of them is an error, because an experiment may need them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use applications::datagrams;
use applications::workload::Workload;
use base::{Bytes, Duration, FlowId, Instant, Packet, Rate};
use traffic::classify::Subject;
use traffic::qdisc::{self, fifo, psp};

use crate::literal::key;
use crate::lock::{Group, Groups};
use crate::plan::{Flow, NodeKind, Plan, Tcp, Transport};
use crate::quantity;
use crate::units::Units;

mod chance;
mod lossless;
mod marking;
mod path;
mod reservations;
mod unmet;
mod warning;

pub use chance::idle_seeds;
pub use path::{Hop, Path, path};

use path::{limit, way};
pub use warning::{Kind, Warning};

/// The number of bins or samples above which a probe's file is unwieldy.
const SAMPLES_MAX: u64 = 10_000_000;

/// The warnings for a plan, flow by flow, then probe by probe, then change by change. Each kind of warning appears
/// once per counted group.
pub fn physics(plan: &Plan) -> Vec<Warning> {
    let names = Groups::of(plan);
    let (mut warnings, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, flow) in plan.flows.iter().enumerate() {
        for warning in flow_warnings(&names, flow, number) {
            if seen.insert((warning.about.clone(), warning.kind)) {
                warnings.push(warning);
            }
        }
    }
    warnings.extend(plan.file_warnings.iter().cloned());
    warnings.extend(late(&names));
    warnings.extend(excess(&names));
    warnings.extend(triggers(&names));
    warnings.extend(samples(plan));
    warnings.extend(reservations::refused(plan));
    warnings.extend(unmet::unmet(&names));
    warnings.extend(marking::unanswered(&names));
    warnings.extend(lossless::small_headrooms(plan));
    warnings.extend(lossless::masked_marks(plan));
    warnings.extend(lossless::unstopped(&names));
    warnings.extend(lossless::circles(plan));
    warnings
}

fn flow_warnings(names: &Groups<'_>, flow: &Flow, number: usize) -> Vec<Warning> {
    let plan = names.plan;
    let Some(tcp) = flow.tcp() else { return Vec::new() };
    let Some(path) = path(plan, flow, number) else { return Vec::new() };
    let Some(narrow) = path.links.iter().min_by_key(|hop| hop.rate) else { return Vec::new() };
    let product = product(narrow.rate, path.round_trip);
    let about = names.flow_path(number);
    let mut found = Vec::new();
    let class = pacing_class(plan, flow, number, &path);
    if let Some((hop, class, rate)) = &class
        && *rate > narrow.rate
    {
        found.push(paced_above(names, &about, (*hop, class, *rate), narrow));
    }
    let entered_faster = path.links.iter().any(|hop| hop.rate > narrow.rate);
    if let Some(buffer) = narrow.buffer.filter(|b| b.0 < product.0 / 2)
        && class.is_none()
        && entered_faster
    {
        found.push(shallow(names, &about, narrow, (buffer, product)));
    }
    found.extend(windows(plan.units, &about, tcp, product, path.round_trip));
    found.extend(mtu(names, &about, tcp, &path));
    found.extend(overload(plan.units, &about, tcp, narrow.rate));
    found
}

fn paced_above(
    names: &Groups<'_>,
    about: &str,
    (hop, class, rate): (&Hop, &str, Rate),
    narrow: &Hop,
) -> Warning {
    let units = names.plan.units;
    let queue = &names.plan.links[hop.link].ends[hop.end].queue;
    let psp = format!("{}.queue.psp", names.end_path(hop.link, hop.end));
    let key = match queue {
        qdisc::Parameters::Psp(psp) if psp.classes.is_empty() => "rate".to_owned(),
        _ => format!("class.{}.rate", key(class)),
    };
    let [rate, bottleneck] = [rate, narrow.rate].map(|rate| units.rate(rate));
    Warning {
        kind: Kind::PacedAbove,
        about: about.to_owned(),
        message: format!(
            "`{about}`: the class `{class}` is paced to {rate}, above the {bottleneck} at {}",
            narrow.at
        ),
        help: format!("set `{psp}.{key}` to {bottleneck} or less"),
    }
}

fn shallow(
    names: &Groups<'_>,
    about: &str,
    narrow: &Hop,
    (buffer, product): (Bytes, Bytes),
) -> Warning {
    let units = names.plan.units;
    let share = u128::from(buffer.0) * 100 / u128::from(product.0.max(1));
    let link = &names.plan.links[narrow.link];
    let node = link.ends[narrow.end].node;
    let key = match (&names.plan.nodes[node].kind, &link.ends[narrow.end].queue) {
        (NodeKind::Emulator(_), _) => format!("{}.buffer", names.node_path(node)),
        (_, qdisc::Parameters::Fifo(fifo)) => {
            let bytes = limit(&fifo::Parameters { packets: None, ..*fifo }, link.config.mtu);
            let limit = if bytes == Some(buffer) { "bytes" } else { "packets" };
            format!("{}.queue.fifo.{limit}", names.end_path(narrow.link, narrow.end))
        }
        (_, _) => format!("{}.queue", names.end_path(narrow.link, narrow.end)),
    };
    let [buffer, product] = [buffer, product].map(|size| units.size(size));
    Warning {
        kind: Kind::ShallowBuffer,
        about: about.to_owned(),
        message: format!(
            "`{about}`: the buffer of {buffer} at {} is {share} % of the path's BDP of {product}",
            narrow.at
        ),
        help: format!("raise `{key}`, pace at {}, or expect losses", units.rate(narrow.rate)),
    }
}

/// Compares the windows that the socket buffers allow with the path's bandwidth-delay product.
fn windows(
    units: Units,
    about: &str,
    tcp: &Tcp,
    product: Bytes,
    round_trip: Duration,
) -> Option<Warning> {
    let share = tcp.receiver.window_share();
    let of_share = |bytes: u64, (over, under): (u32, u32)| {
        let bytes = u128::from(bytes) * u128::from(over) / u128::from(under.max(1));
        Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
    };
    let (send, receive) = (tcp.sender.buffers.send.max(), tcp.receiver.buffers.receive.max());
    let sides = [
        ("send", "tcp.buffers.send", send, (1, 1)),
        ("receive", "receiver_tcp.buffers.receive", receive, share),
    ];
    // Only the smaller one limits.
    let small = sides.into_iter().filter(|&(_, _, size, share)| of_share(size, share) < product);
    let (side, key, size, share) =
        small.min_by_key(|&(_, _, size, share)| of_share(size, share))?;
    let window = of_share(size, share);
    let mut message = format!(
        "`{about}`: the {side} buffer of {} is below the path's BDP of {}",
        units.size(Bytes(size)),
        units.size(product)
    );
    if window.0 != size {
        message = format!(
            "`{about}`: the {side} buffer of {} allows a window of {}, below the path's BDP of {}",
            units.size(Bytes(size)),
            units.size(window),
            units.size(product)
        );
    }
    if let Some(rate) = rate_of(window, round_trip) {
        message += &format!(", which limits the rate to {}", units.rate(rate));
    }
    let enough = units.size(of_share(product.0, (share.1, share.0)));
    let help = format!("set `{about}.{key}` to {enough} or more");
    Some(Warning { kind: Kind::SmallWindow, about: about.to_owned(), message, help })
}

fn mtu(names: &Groups<'_>, about: &str, tcp: &Tcp, path: &Path) -> Option<Warning> {
    let datagram = Bytes(tcp.sender.segment.mtu.min(tcp.receiver.segment.mtu).into());
    let links = path.links.iter().map(|hop| (hop.link, names.plan.links[hop.link].config.mtu));
    let narrow = links.filter(|&(_, mtu)| mtu < datagram).min_by_key(|&(_, mtu)| mtu)?;
    let (link, mtu) = (names.link_path(narrow.0), narrow.1);
    Some(Warning {
        kind: Kind::Mtu,
        about: about.to_owned(),
        message: format!(
            "`{about}` sends IP packets of {datagram}, but the MTU of `{link}` is {mtu}: full segments are \
             dropped there"
        ),
        help: format!("set `{link}.mtu` to {datagram}, or `{about}.tcp.segment.mtu` to {mtu}"),
    })
}

fn overload(units: Units, about: &str, tcp: &Tcp, bottleneck: Rate) -> Option<Warning> {
    let Workload::Train(train) = tcp.workload else { return None };
    let offered = rate_of(train.message, train.every).filter(|&offered| offered > bottleneck)?;
    let [offered, carried] = [offered, bottleneck].map(|rate| units.rate(rate));
    let every = quantity::nearly(bottleneck.time_for(train.message));
    Some(Warning {
        kind: Kind::Overload,
        about: about.to_owned(),
        message: format!(
            "`{about}` offers {offered}, but the path carries {carried}: messages pile up"
        ),
        help: format!("set `{about}.train.every` above {every}, or reduce `{about}.train.message`"),
    })
}

/// Warns of events that exceed the rate of the last link to their builder.
fn triggers(names: &Groups<'_>) -> Vec<Warning> {
    let plan = names.plan;
    let warning = |flows: Range<usize>| {
        let flow = &plan.flows[flows.start];
        let (fragment, every) = flow.workload()?.burst()?;
        let (last, sources) = (path(plan, flow, flows.start)?.links.pop()?, flows.len() as u64);
        let event = Bytes(fragment.0.saturating_mul(sources));
        let offered = rate_of(event, every?).filter(|&offered| offered > last.rate)?;
        let about = names.flow_path(flows.start);
        let [offered, carried] = [offered, last.rate].map(|rate| plan.units.rate(rate));
        let size = plan.units.size(event);
        let least = quantity::nearly(last.rate.time_for(event));
        let noun = if sources == 1 { "source" } else { "sources" };
        Some(Warning {
            kind: Kind::Overload,
            message: format!(
                "`{about}`: events of {size} from {sources} {noun} offer {offered}, but the path carries \
                 {carried}: they pile up"
            ),
            help: format!(
                "set `{about}.events.every` above {least}, or reduce `{about}.events.fragment`"
            ),
            about,
        })
    };
    plan.sharing().filter_map(warning).collect()
}

/// Warns of counted flows that do not all start, because their starts are random.
fn late(names: &Groups<'_>) -> Vec<Warning> {
    let end = Instant::ZERO + names.plan.duration;
    let warning = |group: &Group<'_>| {
        let members = &names.plan.flows[group.range.clone()];
        let begun = members.iter().filter(|flow| flow.span.start < end.min(flow.span.stop)).count();
        let about = names.flow_path(group.range.start);
        (begun < members.len()).then(|| Warning {
            kind: Kind::Late,
            message: format!(
                "`{about}`: with this seed only {begun} of {} flows start before the end of the run",
                members.len()
            ),
            help: format!("reduce `{about}.start` or `{about}.stagger`, or increase `duration`"),
            about,
        })
    };
    names.flows.iter().filter_map(warning).collect()
}

/// Warns of ports that datagrams alone overload, with their maximum offered rate at any time.
fn excess(names: &Groups<'_>) -> Vec<Warning> {
    let plan = names.plan;
    let mut ports = BTreeMap::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        let Transport::Udp(udp) = &flow.transport else { continue };
        let ends = [flow.source, flow.destination];
        for hop in way(plan, number, ends).into_iter().flat_map(|(hops, _)| hops) {
            let load = load(&udp.datagrams(), hop.overhead);
            let (_, flows, changes) = ports
                .entry((hop.link, hop.end))
                .or_insert_with(|| (hop, BTreeSet::new(), Vec::<(Instant, i128)>::new()));
            // What a codec sends is fixed.
            let has_rate = udp.workload.get("rate").is_some();
            let key = if has_rate { "datagrams.rate" } else { "count" };
            flows.insert(format!("{}.{key}", names.flow_path(number)));
            changes.extend([(flow.span.start, load), (flow.span.stop, -load)]);
        }
    }
    let warning = |(hop, flows, mut changes): (Hop, BTreeSet<String>, Vec<(Instant, i128)>)| {
        changes.sort_unstable();
        let sums = changes.iter().scan(0, |sum, (_, change)| {
            *sum += change;
            Some(*sum)
        });
        let offered = Rate::from_bits_per_second(u64::try_from(sums.max()?).ok()?)?;
        let flows: Vec<String> = flows.iter().map(|key| format!("`{key}`")).collect();
        let [offer, rate] = [offered, hop.rate].map(|rate| plan.units.rate(rate));
        (offered > hop.rate).then(|| Warning {
            kind: Kind::Excess,
            about: hop.at.clone(),
            message: format!(
                "datagrams offer {offer} at {}, which carries {rate}: the excess is dropped there",
                hop.at
            ),
            help: format!("lower {}", flows.join(" or ")),
        })
    };
    ports.into_values().filter_map(warning).collect()
}

/// The mean rate that a source offers with `overhead` per frame, in bits per second.
fn load(config: &datagrams::Config, overhead: Bytes) -> i128 {
    let frame = i128::from((config.frame() + overhead).0);
    let bits = i128::from(config.rate.bits_per_second()) * frame / i128::from(config.size);
    let Some((on, off)) = config.on.zip(config.off) else { return bits };
    let (on, off) = (i128::from(on.as_ps()), i128::from(off.as_ps()));
    bits * on / (on + off)
}

fn samples(plan: &Plan) -> Vec<Warning> {
    let count = |span: Duration, every: Duration| span.as_ps() / every.as_ps().max(1);
    let bins = plan.probes.bandwidth.iter().map(|probe| {
        let about = format!("probe.bandwidth.{}", key(&probe.name));
        (about, "bin", count(probe.window.until - probe.window.from, probe.bin))
    });
    let rows = |every: Duration, of: usize| count(plan.duration, every).saturating_mul(of as u64);
    let flows = plan.probes.flows.map(|every| ("flows", rows(every, plan.flows.len())));
    let ports = 2 * plan.links.len();
    let queues = plan.probes.queues.map(|every| ("queues", rows(every, ports)));
    let sampled = flows.into_iter().chain(queues);
    let sampled = sampled.map(|(probe, rows)| (format!("probe.{probe}"), "every", rows));
    let many = bins.chain(sampled).filter(|(_, _, samples)| *samples > SAMPLES_MAX);
    let warning = |(about, key, samples): (String, &str, u64)| Warning {
        kind: Kind::ManySamples,
        message: format!("`{about}` records {samples} samples"),
        help: match key {
            "bin" => {
                format!(
                    "increase `{about}.bin`, or shorten the time from `{about}.from` to `{about}.until`"
                )
            }
            key => format!("increase `{about}.{key}`"),
        },
        about,
    };
    many.map(warning).collect()
}

/// The rate of the first class on the path that paces the flow with that number.
pub fn paced(plan: &Plan, flow: &Flow, number: usize, path: &Path) -> Option<Rate> {
    pacing_class(plan, flow, number, path).map(|(_, _, rate)| rate)
}

/// The first class on the path that paces the flow, with its hop and its rate.
fn pacing_class<'p>(
    plan: &Plan,
    flow: &Flow,
    number: usize,
    path: &'p Path,
) -> Option<(&'p Hop, String, Rate)> {
    path.links.iter().find_map(|hop| match &plan.links[hop.link].ends[hop.end].queue {
        qdisc::Parameters::Psp(psp) => {
            let (class, rate) = class_of(&*psp.in_classes().ok()?, flow, number)?;
            Some((hop, class, rate))
        }
        _ => None,
    })
}

fn class_of(psp: &psp::Parameters, flow: &Flow, number: usize) -> Option<(String, Rate)> {
    let packet = Packet {
        source: flow.source,
        destination: flow.destination,
        flow: FlowId(number as u32),
        tos: flow.header.tos,
        ..Packet::default()
    };
    let subject = Subject { header: Some(&flow.header), packet: Some(&packet) };
    // `max_by_key` takes the last of equal ones.
    let matching = psp.filters.iter().filter(|rule| rule.filter.matches(subject));
    let rule = matching.rev().max_by_key(|rule| rule.priority)?;
    let class = psp.classes.iter().find(|class| class.name == rule.class)?;
    Some((class.name.clone(), class.rate.given()?))
}

/// The bandwidth-delay product.
fn product(rate: Rate, round_trip: Duration) -> Bytes {
    let bits = u128::from(rate.bits_per_second()) * u128::from(round_trip.as_ps());
    let bytes = bits / 8 / u128::from(base::units::PS_PER_SECOND);
    Bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

/// The rate of `bytes` in each `time`.
fn rate_of(bytes: Bytes, time: Duration) -> Option<Rate> {
    let bits = u128::from(bytes.0) * 8 * u128::from(base::units::PS_PER_SECOND);
    let rate = bits / u128::from(time.as_ps().max(1));
    Rate::from_bits_per_second(u64::try_from(rate).ok()?)
}
