//! The counters of qdiscs in Prometheus's text format.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use host::policy::{self, Journal};
use host::queue_statistics::{QueueStatistics, queue_statistics};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Serve them at http://ADDRESS/metrics until Ctrl-C, such as 127.0.0.1:9764 [default: print them once, as for
    /// node_exporter's textfile collector]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The folder of the journal
    #[arg(long, value_name = "FOLDER", default_value = policy::FOLDER)]
    state: PathBuf,
}

/// The time that a client has for its request, and for reading the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest request that is read.
const REQUEST_MAX: usize = 8 << 10;

/// Prints or serves the counters.
pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let Some(address) = arguments.listen else {
        output::print(&text(arguments)?)?;
        return Ok(Exit::Fine);
    };
    let listener = TcpListener::bind(address).map_err(|error| {
        Failure::usage(
            format!("listen at {address}: {error}"),
            "choose another address with --listen",
        )
    })?;
    let address = listener.local_addr().unwrap_or(address);
    output::print(&format!("http://{address}/metrics\n"))?;
    for client in listener.incoming() {
        // A client that goes away does not matter to the others.
        let _ = client.and_then(|client| answer(client, arguments));
    }
    Ok(Exit::Fine)
}

fn answer(mut client: TcpStream, arguments: &Arguments) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_MAX {
        match client.read(&mut part)? {
            0 => return Ok(()),
            count => request.extend(&part[..count]),
        }
    }
    let (status, body) = match request.starts_with(b"GET /metrics ") {
        false => ("404 Not Found", "the counters are at /metrics\n".to_owned()),
        true => match text(arguments) {
            Ok(text) => ("200 OK", text),
            Err(failure) => ("500 Internal Server Error", format!("{failure}\n")),
        },
    };
    let length = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\nConnection: \
         close\r\n\r\n{body}"
    )
}

/// A metric: its name, its type, its meaning and its value.
type Metric = (&'static str, &'static str, &'static str, fn(&QueueStatistics) -> u64);

const METRICS: [Metric; 7] = [
    ("sent_bytes_total", "counter", "Bytes sent", |queue| queue.bytes),
    ("sent_packets_total", "counter", "Packets sent", |queue| queue.packets),
    ("drops_total", "counter", "Packets dropped", |queue| queue.drops.into()),
    ("overlimits_total", "counter", "Times that a packet had to wait for the rate", |queue| {
        queue.overlimits.into()
    }),
    ("requeues_total", "counter", "Packets that the device gave back", |queue| {
        queue.requeues.into()
    }),
    ("backlog_packets", "gauge", "Packets queued", |queue| queue.queued_packets.into()),
    ("backlog_bytes", "gauge", "Bytes queued", |queue| queue.queued_bytes.into()),
];

/// All metrics.
fn text(arguments: &Arguments) -> Result<String, Failure> {
    let queues = queue_statistics().map_err(|error| {
        Failure::lacking(format!("read the counters of qdiscs: {error}"), "run it as root")
    })?;
    let mut text = String::new();
    for (name, kind, help, value) in METRICS {
        let _ =
            writeln!(text, "# HELP suimon_qdisc_{name} {help}.\n# TYPE suimon_qdisc_{name} {kind}");
        for queue in &queues {
            let _ = writeln!(text, "suimon_qdisc_{name}{{{}}} {}", labels(queue), value(queue));
        }
    }
    policy_metrics(&mut text, arguments);
    Ok(text)
}

/// The policy's state; nothing for a user who may not read the journal.
fn policy_metrics(text: &mut String, arguments: &Arguments) {
    let Ok(journal) = Journal::look(&arguments.state) else { return };
    let journal = journal.filter(|journal| !journal.is_stale());
    let drift = journal.as_ref().map_or(Ok(Vec::new()), policy::drift).unwrap_or_default();
    let gauges = [
        (
            "settings",
            "Settings of the applied policy",
            journal.map_or(0, |journal| journal.settings()),
        ),
        ("drift", "Settings that something else changed since", drift.len()),
    ];
    for (name, help, value) in gauges {
        let name = format!("suimon_host_{name}");
        let _ = writeln!(text, "# HELP {name} {help}.\n# TYPE {name} gauge\n{name} {value}");
    }
}

fn labels(queue: &QueueStatistics) -> String {
    let QueueStatistics { device, class, kind, handle, parent, .. } = queue;
    let part = if *class { "class" } else { "qdisc" };
    // The kernel allows quotes and backslashes in a device's name.
    let device = device.replace('\\', "\\\\").replace('"', "\\\"");
    format!(
        "device=\"{device}\",part=\"{part}\",kind=\"{kind}\",handle=\"{handle}\",parent=\"{parent}\""
    )
}
