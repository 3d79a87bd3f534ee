//! `scenario.lock.toml`: a plan as a scenario with every default written out.
//!
//! It parses to an equal plan: what ran can be run again when defaults have changed.

use std::fmt::Write;

use network::datagram;
use traffic::classify::Filter;
use traffic::condition::{self, Meter};
use traffic::setting::{Setting, Settings, Value};
use traffic::{Bytes, Duration, Instant, Rate, qdisc};

use crate::command;
use crate::condition::action_text;
use crate::header::{code_point_text, dscp_text, ports_text, prefix_text, protocol_text};
use crate::plan::{
    Action, Change, Comparison, Expectation, Flow, Link, Node, NodeKind, Plan, Tcp, Transport,
    Window, Wire, Within,
};
use crate::tcp;

/// The plan as a scenario file.
pub fn lock(plan: &Plan) -> String {
    let mut text =
        String::from("# Every default is written out; `suimon run` takes it like any other.\n");
    line(&mut text, "title", &string(&plan.title));
    line(&mut text, "duration", &time(plan.duration));
    line(&mut text, "seed", &plan.seed.to_string());
    plan.expectations.iter().for_each(|e| expectation(e, &mut text));
    comparison(&plan.comparison, &mut text);
    plan.nodes.iter().for_each(|n| node(n, &mut text));
    plan.links.iter().for_each(|l| link(plan, l, &mut text));
    plan.flows.iter().for_each(|f| flow(plan, f, &mut text));
    plan.changes.iter().for_each(|c| change(plan, c, &mut text));
    probes(plan, &mut text);
    text
}

fn line(text: &mut String, key: &str, value: &str) {
    let _ = writeln!(text, "{key} = {value}");
}

fn header(text: &mut String, path: &str) {
    let _ = writeln!(text, "\n[{path}]");
}

/// A TOML basic string.
fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// A name as a key: a member's name holds a dot.
fn key(name: &str) -> String {
    if name.contains('.') { string(name) } else { name.to_owned() }
}

/// A rate, to the bit.
pub(crate) fn rate(rate: Rate) -> String {
    format!("\"{rate}\"")
}

/// A size, to the byte.
pub(crate) fn size(bytes: Bytes) -> String {
    match bytes.0 {
        n if n > 0 && n % (1 << 20) == 0 => format!("\"{} MiB\"", n >> 20),
        n if n > 0 && n % (1 << 10) == 0 => format!("\"{} KiB\"", n >> 10),
        n => format!("\"{n} B\""),
    }
}

/// A time, to the picosecond.
pub(crate) fn time(duration: Duration) -> String {
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us"), (1_000, "ns")];
    let ps = duration.as_ps();
    let unit = units.iter().find(|(scale, _)| ps.is_multiple_of(*scale));
    let (scale, unit) = unit.copied().unwrap_or((1, "ps"));
    format!("\"{} {unit}\"", ps / scale)
}

fn instant(instant: Instant) -> String {
    time(instant - Instant::ZERO)
}

fn node(node: &Node, text: &mut String) {
    let name = key(&node.name);
    match &node.kind {
        NodeKind::Host(config) => {
            header(text, &format!("host.{name}"));
            line(text, "address", &string(&node.address.to_string()));
            timer(node, text);
            if let Some(processor) = &config.processor {
                line(text, "processor.per_segment", &time(processor.per_segment));
                line(text, "processor.per_walked", &time(processor.per_walked));
                line(text, "processor.backlog", &processor.backlog.to_string());
                line(text, "processor.throttle", &processor.throttle.to_string());
            }
            let programs = node.programs.iter().map(|words| string(&command::line(words)));
            let programs: Vec<String> = programs.collect();
            line(text, "program", &format!("[{}]", programs.join(", ")));
        }
        NodeKind::Router => {
            header(text, &format!("router.{name}"));
            timer(node, text);
        }
        NodeKind::Emulator(config) => {
            header(text, &format!("emulator.{name}"));
            line(text, "rate", &rate(config.rate));
            line(text, "delay", &time(config.delay));
            line(text, "buffer", &size(config.buffer));
        }
    }
}

fn timer(node: &Node, text: &mut String) {
    if node.timer != Duration::ZERO {
        // A period of whole picoseconds is told exactly enough by a frequency in millihertz.
        let millihertz = (1_000_000_000_000_000 + node.timer.as_ps() / 2) / node.timer.as_ps();
        let (whole, rest) = (millihertz / 1_000, millihertz % 1_000);
        line(text, "timer", &format!("\"{whole}.{rest:03} Hz\""));
    }
}

fn link(plan: &Plan, link: &Link, text: &mut String) {
    let name = key(&link.name);
    let [a, b] = [0, 1].map(|end| plan.nodes[link.ends[end].node].name.as_str());
    header(text, &format!("link.{name}"));
    line(text, "between", &format!("[{}, {}]", string(a), string(b)));
    line(text, "rate", &rate(link.config.rate));
    line(text, "delay", &time(link.config.delay));
    line(text, "mtu", &size(link.config.mtu));
    line(text, "overhead", &size(link.config.overhead));
    line(text, "loss", &share(link.config.loss));
    let wire = match link.wire {
        Wire::Time => "time",
        Wire::Frames => "frames",
    };
    line(text, "wire", &string(wire));
    line(text, "gso", &link.gso.to_string());
    for (end, node) in link.ends.iter().zip([a, b]) {
        let path = format!("link.{name}.at.{}", key(node));
        if end.device_buffer != Bytes(0) {
            header(text, &path);
            line(text, "device_buffer", &size(end.device_buffer));
        }
        queue(plan, &format!("{path}.queue"), &end.queue, text);
        if let Some(parameters) = &end.conditioner {
            conditioner(plan, &format!("{path}.conditioner"), parameters, text);
        }
    }
}

/// A share of 2^-32 as a percentage with enough places to come back as the same share.
fn share(share: u32) -> String {
    const PLACES: u32 = 12;
    let scaled = (u128::from(share) * 100 * 10_u128.pow(PLACES) + (1 << 31)) >> 32;
    let (whole, rest) = (scaled / 10_u128.pow(PLACES), scaled % 10_u128.pow(PLACES));
    let rest = format!("{rest:012}");
    match rest.trim_end_matches('0') {
        "" => format!("\"{whole} %\""),
        rest => format!("\"{whole}.{rest} %\""),
    }
}

fn queue(plan: &Plan, path: &str, parameters: &qdisc::Parameters, text: &mut String) {
    let path = format!("{path}.{}", parameters.name());
    let settings = parameters.settings();
    header(text, &path);
    for (name, value) in given(settings) {
        line(text, name, &value);
    }
    let Some(classes) = settings.classes() else { return };
    for index in 0..classes.count() {
        let (name, parent, settings) = classes.class(index);
        header(text, &format!("{path}.class.{}", key(name)));
        if let Some(parent) = parent {
            line(text, "parent", &string(parent));
        }
        for (name, value) in given(settings) {
            line(text, name, &value);
        }
        let rules = classes.filters().iter().filter(|rule| rule.class == name);
        let rules: Vec<String> =
            rules.map(|rule| filter(plan, &rule.filter, rule.priority)).collect();
        line(text, "match", &format!("[{}]", rules.join(", ")));
    }
}

/// Every setting that applies, and its value as TOML.
fn given(settings: &dyn Settings) -> Vec<(&'static str, String)> {
    let value = |setting: Setting| Some((setting.name, value(&settings.get(setting.name)?)));
    settings.settings().into_iter().filter_map(value).collect()
}

/// A value as TOML.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Flag(flag) => flag.to_string(),
        Value::Count(count) => count.to_string(),
        Value::Bytes(bytes) => size(*bytes),
        Value::Rate(bits) => rate(*bits),
        Value::Time(duration) => time(*duration),
        Value::Share(part) => share(part.0),
        Value::Choice(word) => string(word),
        Value::Text(text) => string(text),
        Value::Queue(queue) => {
            let pair = |(name, value)| format!("{name} = {value}");
            let pairs: Vec<String> = given(queue.settings()).into_iter().map(pair).collect();
            format!("{{ {} = {{ {} }} }}", queue.name(), pairs.join(", "))
        }
    }
}

fn filter(plan: &Plan, filter: &Filter, priority: u16) -> String {
    let node = |host: traffic::HostId| string(&plan.nodes[usize::from(host.0)].name);
    let flow = |flow: traffic::FlowId| string(&plan.flows[flow.0 as usize].name);
    let keys = [
        ("from", filter.source_host.map(node)),
        ("to", filter.destination_host.map(node)),
        ("flow", filter.flow.map(flow)),
        ("source", filter.source.map(|prefix| string(&prefix_text(prefix)))),
        ("destination", filter.destination.map(|prefix| string(&prefix_text(prefix)))),
        ("protocol", filter.protocol.map(|protocol| string(&protocol_text(protocol)))),
        ("source_port", filter.source_ports.map(|ports| string(&ports_text(ports)))),
        ("destination_port", filter.destination_ports.map(|ports| string(&ports_text(ports)))),
        ("dscp", filter.dscp.map(|dscp| string(&dscp_text(dscp)))),
        ("flow_label", filter.flow_label.map(|label| label.to_string())),
        ("vlan_priority", filter.vlan_priority.map(|priority| priority.to_string())),
        ("priority", Some(priority).filter(|&priority| priority > 0).map(|p| p.to_string())),
    ];
    let pair = |(key, value): (&str, Option<String>)| Some(format!("{key} = {}", value?));
    let keys: Vec<String> = keys.into_iter().filter_map(pair).collect();
    format!("{{ {} }}", keys.join(", "))
}

fn conditioner(plan: &Plan, path: &str, parameters: &condition::Parameters, text: &mut String) {
    header(text, path);
    line(text, "default", &string(&action_text(&parameters.default)));
    for element in &parameters.elements {
        header(text, &format!("{path}.element.{}", key(&element.name)));
        let rules = parameters.rules.iter().filter(|rule| rule.element == element.name);
        let rules: Vec<String> =
            rules.map(|rule| filter(plan, &rule.filter, rule.priority)).collect();
        line(text, "match", &format!("[{}]", rules.join(", ")));
        meter(&element.meter, text);
        line(text, "green", &string(&action_text(&element.green)));
        line(text, "yellow", &string(&action_text(&element.yellow)));
        line(text, "red", &string(&action_text(&element.red)));
    }
}

fn meter(meter: &Meter, text: &mut String) {
    let mut write = |key: &str, value: String| line(text, key, &value);
    match meter {
        Meter::None => {}
        Meter::TokenBucket(p) => {
            write("token_bucket.rate", rate(p.rate));
            write("token_bucket.burst", size(p.burst));
        }
        Meter::SingleRate(p) => {
            write("single_rate.committed_rate", rate(p.committed_rate));
            write("single_rate.committed_burst", size(p.committed_burst));
            write("single_rate.excess_burst", size(p.excess_burst));
            write("single_rate.colour_aware", p.colour_aware.to_string());
        }
        Meter::TwoRate(p) => {
            write("two_rate.peak_rate", rate(p.peak_rate));
            write("two_rate.peak_burst", size(p.peak_burst));
            write("two_rate.committed_rate", rate(p.committed_rate));
            write("two_rate.committed_burst", size(p.committed_burst));
            write("two_rate.colour_aware", p.colour_aware.to_string());
        }
        Meter::Window(p) => {
            write("window.committed_rate", rate(p.committed_rate));
            write("window.peak_rate", rate(p.peak_rate));
            write("window.window", time(p.window));
        }
    }
}

fn flow(plan: &Plan, flow: &Flow, text: &mut String) {
    let name = key(&flow.name);
    header(text, &format!("flow.{name}"));
    line(text, "from", &string(&plan.nodes[flow.from].name));
    line(text, "to", &string(&plan.nodes[flow.to].name));
    let ports = flow.header.ports.unwrap_or_default();
    line(text, "destination_port", &ports.destination.to_string());
    if !matches!(flow.transport, Transport::Program(_)) {
        line(text, "source_port", &ports.source.to_string());
        line(text, "dscp", &string(&code_point_text(flow.header.tos >> 2)));
        line(text, "flow_label", &flow.header.flow_label.to_string());
    }
    line(text, "start", &instant(flow.span.start));
    if flow.span.stop != Instant::NEVER {
        line(text, "stop", &instant(flow.span.stop));
    }
    if let Some(bytes) = flow.span.bytes {
        line(text, "bytes", &size(bytes));
    }
    match &flow.transport {
        Transport::Tcp(tcp) => connection(&name, tcp, text),
        Transport::Udp(config) => datagrams(&name, config, text),
        Transport::Program(program) => {
            line(text, "program", &string(&command::line(&program.client)));
            if let Some(server) = &program.server {
                line(text, "server", &string(&command::line(server)));
            }
        }
    }
}

fn connection(name: &str, flow: &Tcp, text: &mut String) {
    if let Some(name) = &flow.kernel_congestion {
        line(text, "congestion", &string(&format!("kernel:{name}")));
    }
    if let Some(exchange) = flow.exchange {
        line(text, "exchange.request", &size(exchange.request));
        line(text, "exchange.response", &size(exchange.response));
        if let Some(every) = exchange.every {
            line(text, "exchange.every", &time(every));
        }
    }
    if let Some(train) = flow.train {
        line(text, "train.message", &size(train.message));
        line(text, "train.every", &time(train.every));
    }
    if let Some(read) = flow.reader.rate {
        line(text, "read.rate", &rate(read));
    }
    header(text, &format!("flow.{name}.tcp"));
    tcp::write(&flow.sender, text);
    header(text, &format!("flow.{name}.receiver_tcp"));
    tcp::write(&flow.receiver, text);
}

fn datagrams(name: &str, config: &datagram::Config, text: &mut String) {
    header(text, &format!("flow.{name}.datagrams"));
    line(text, "rate", &rate(config.rate));
    line(text, "size", &size(Bytes(config.size.into())));
    let spacing = match config.spacing {
        datagram::Spacing::Even => "even",
        datagram::Spacing::Poisson => "poisson",
    };
    line(text, "spacing", &string(spacing));
    if let Some(datagram::OnOff { on, off }) = config.on_off {
        line(text, "on", &time(on));
        line(text, "off", &time(off));
    }
    line(text, "ecn", &config.ecn.to_string());
}

fn change(plan: &Plan, change: &Change, text: &mut String) {
    let path = format!("change.{}", key(&change.name));
    header(text, &path);
    line(text, "when", &instant(change.when));
    line(text, "at", &port(plan, change.port));
    match &change.action {
        Action::Switch(parameters) => queue(plan, &format!("{path}.queue"), parameters, text),
        Action::Disable => line(text, "enabled", "false"),
        Action::Enable => line(text, "enabled", "true"),
        Action::Release(class) => line(text, "release", &string(class)),
        Action::Reserve(request) => {
            line(text, "reserve.class", &string(&request.name));
            if let Some(parent) = &request.parent {
                line(text, "reserve.parent", &string(parent));
            }
            line(text, "reserve.rate", &rate(request.rate));
            line(text, "reserve.burst", &size(request.burst));
            line(text, "reserve.delay", &time(request.delay));
            let filters: Vec<String> = request.filters.iter().map(|f| filter(plan, f, 0)).collect();
            line(text, "reserve.match", &format!("[{}]", filters.join(", ")));
        }
    }
}

fn probes(plan: &Plan, text: &mut String) {
    let probes = &plan.probes;
    if !probes.delays {
        header(text, "probe");
        line(text, "automatic", "false");
    }
    for (name, every) in [("flows", probes.flows), ("queues", probes.queues)] {
        if let Some(every) = every {
            header(text, &format!("probe.{name}"));
            line(text, "every", &time(every));
        }
    }
    for probe in &probes.bandwidth {
        header(text, &format!("probe.bandwidth.{}", string(&probe.name)));
        line(text, "bin", &time(probe.bin));
        if let Some(flows) = &probe.flows {
            let names: Vec<String> = flows.iter().map(|&f| string(&plan.flows[f].name)).collect();
            line(text, "flows", &format!("[{}]", names.join(", ")));
        }
        at(plan, probe.port, probe.window, text);
    }
    for probe in &probes.sequences {
        header(text, &format!("probe.sequence.{}", string(&probe.name)));
        line(text, "flow", &string(&plan.flows[probe.flow].name));
        at(plan, probe.port, probe.window, text);
    }
    for probe in &probes.captures {
        header(text, &format!("probe.capture.{}", string(&probe.name)));
        at(plan, probe.port, probe.window, text);
    }
}

fn at(plan: &Plan, port: network::PortId, window: Window, text: &mut String) {
    line(text, "at", &self::port(plan, port));
    line(text, "from", &instant(window.from));
    line(text, "until", &instant(window.until));
}

/// A port as `node:link`.
fn port(plan: &Plan, port: network::PortId) -> String {
    let link = &plan.links[(port.0 / 2) as usize];
    let node = &plan.nodes[link.ends[(port.0 % 2) as usize].node];
    string(&format!("{}:{}", node.name, link.name))
}

/// `flow.bulk.goodput` under `[expect]`, each quantity with its own unit.
fn expectation(expectation: &Expectation, text: &mut String) {
    let path = dotted(&expectation.path);
    let unit = unit(&expectation.path);
    for (bound, value) in [("min", expectation.low), ("max", expectation.high)] {
        if let Some(value) = value {
            let _ = writeln!(text, "expect.{path}.{bound} = \"{value}{unit}\"");
        }
    }
}

/// `[compare]`.
fn comparison(comparison: &Comparison, text: &mut String) {
    line(text, "compare.tolerance", &format!("\"{} %\"", comparison.percent));
    for tolerance in &comparison.tolerances {
        let within = match tolerance.within {
            Within::Percent(percent) => format!("\"{percent} %\""),
            Within::Amount(amount) => format!("\"{amount}{}\"", unit(&tolerance.path)),
        };
        line(text, &format!("compare.{}", dotted(&tolerance.path)), &within);
    }
}

/// The path of a quantity as keys: a member's name holds a dot.
fn dotted(path: &str) -> String {
    let (entity, quantity) = path.rsplit_once('.').unwrap_or(("run", path));
    let (entity, class) = match entity.split_once(".class.") {
        Some((entity, class)) => (entity, format!(".class.{}", key(class))),
        None => (entity, String::new()),
    };
    match entity.split_once('.') {
        Some((table, name)) => format!("{table}.{}{class}.{quantity}", key(name)),
        None => format!("{entity}.{quantity}"),
    }
}

/// The base unit of a quantity.
fn unit(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or(path) {
        "goodput" | "rate" => " B/s",
        "bytes" | "queue_max" => " B",
        "delay_mean" | "delay_max" | "min_rtt" | "response_mean" | "response_max" => " s",
        "sojourn_p50" | "sojourn_p99" | "sojourn_max" => " s",
        _ => "",
    }
}
