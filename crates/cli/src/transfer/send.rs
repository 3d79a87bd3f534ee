//! `suimon send`: sends files and folders to a `suimon recv`.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::transfer::{
    CHUNK_MAX, Code, Limit, Meter, Name, PORT, Path, PrivateKey, PublicKey, STREAMS_MAX,
    SenderSettings, SenderTrust, Sent, Tls, Tree, shown,
};
use clap::Args;
use serde_json::{Value, json};

use super::{Bar, code_of_environment, count, rate, size};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::{interruption, output};

/// Send files and folders to a machine that runs `suimon recv`, at the path's rate
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Files and folders; folders with everything in them
    #[arg(value_name = "PATH", required = true, num_args = 1..)]
    paths: Vec<PathBuf>,
    /// Host and port on which `suimon recv` listens
    #[arg(value_name = "HOST[:PORT]")]
    host: String,
    /// The code that `recv` printed, also in SUIMON_CODE [default: read from stdin]
    #[arg(long, value_name = "CODE", conflicts_with_all = ["key", "insecure_plain"])]
    code: Option<Code>,
    /// Use this private key (`suimon keygen`) instead of a code
    #[arg(long, value_name = "FILE", requires = "receiver")]
    key: Option<PathBuf>,
    /// Trust the receiver with this public key
    #[arg(long, value_name = "PUBLIC", requires = "key")]
    receiver: Option<PublicKey>,
    /// Neither encrypt nor authenticate; only for trusted networks and machines
    #[arg(long, conflicts_with = "key")]
    insecure_plain: bool,
    /// Number of connections; a large file is split among them
    #[arg(long, short = 'P', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=i64::from(STREAMS_MAX)))]
    streams: u16,
    /// Pace all connections together at this rate, such as 500 Mbit/s
    #[arg(long, value_name = "RATE", value_parser = scenario::quantity::rate)]
    rate: Option<base::Rate>,
    /// The kernel's congestion control to use, such as bbr
    #[arg(long, value_name = "NAME")]
    congestion: Option<String>,
    /// The data path from file to socket: copy, sendfile, splice, zerocopy or uring; always copy if the program
    /// encrypts [default: chosen by measurement]
    #[arg(long, value_name = "PATH")]
    path: Option<Path>,
    /// Encrypt in the kernel or in the program [default: kernel, if it supports TLS]
    #[arg(long, value_name = "WHO", conflicts_with = "insecure_plain")]
    tls: Option<Tls>,
    /// Size of a chunk, the unit of hashing, verification and resumption: a power of two
    #[arg(long, value_name = "SIZE", default_value = "4 MiB", value_parser = chunk)]
    chunk: u32,
    /// Send no hashes: no verification and no resumption
    #[arg(long)]
    unverified: bool,
    /// How long the receiver may be silent
    #[arg(long, value_name = "TIME", default_value = "60 s", value_parser = super::timeout)]
    timeout: base::Duration,
    /// How long to retry after the connection is lost
    #[arg(long, value_name = "TIME", default_value = "30 s", value_parser = scenario::quantity::duration)]
    retry: base::Duration,
    /// Print what would be sent, and send nothing
    #[arg(long)]
    dry_run: bool,
    /// Show no progress bar
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn chunk(text: &str) -> Result<u32, String> {
    let bytes = scenario::quantity::bytes(text).map_err(|error| error.to_string())?;
    let bytes = u32::try_from(bytes.0).ok().filter(|bytes| (4096..=CHUNK_MAX).contains(bytes));
    let bytes = bytes.filter(|bytes| bytes.is_power_of_two());
    bytes.ok_or_else(|| format!("a chunk is a power of two from 4 KiB to {} MiB", CHUNK_MAX >> 20))
}

/// A host with its port; the default port if there is none.
pub(super) fn with_port(host: &str) -> String {
    let has_port = host.rsplit_once(':').is_some_and(|(before, port)| {
        port.parse::<u16>().is_ok() && (!before.contains(':') || before.ends_with(']'))
    });
    match host {
        host if has_port => host.to_owned(),
        // An IPv6 address without brackets.
        host if host.contains(':') && !host.starts_with('[') => format!("[{host}]:{PORT}"),
        host => format!("{host}:{PORT}"),
    }
}

/// Sends, and prints the result.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let outcome = attempt(arguments);
    match outcome {
        Err(failure) if arguments.json => failure::print_json(&failure),
        outcome => outcome,
    }
}

fn attempt(arguments: &Arguments) -> Result<Exit, Failure> {
    let tree = Tree::of(&arguments.paths)?;
    for (path, what) in &tree.skipped {
        output::note(&format!("not sent: {} is {what}", shown(path)));
    }
    for (name, why) in &tree.unread {
        output::note(&format!("not sent: {name} cannot be read: {why}"));
    }
    if arguments.dry_run {
        return list(arguments, &tree);
    }
    let settings = SenderSettings {
        address: with_port(&arguments.host),
        trust: trust(arguments)?,
        streams: arguments.streams,
        chunk: arguments.chunk,
        verified: !arguments.unverified,
        rate: arguments.rate.map(|rate| rate.bits_per_second() / 8),
        congestion: arguments.congestion.clone(),
        path: arguments.path,
        encryption: arguments.tls,
        timeout: Duration::from_micros(arguments.timeout.as_us()),
    };
    let stop = interruption::watch()?;
    let meter = Arc::new(Meter::default());
    let bar = Bar::new(&meter, "sending", arguments.quiet);
    let patience = Duration::from_micros(arguments.retry.as_us());
    let sent =
        ::transfer::send_with_retries(&settings, &tree, (&meter, &stop), patience, |error| {
            output::note(&format!("{error}; retrying"));
        });
    drop(bar);
    match sent {
        Ok(sent) => print(arguments, &tree, &sent, settings.rate),
        Err(::transfer::Error::Interrupted) => {
            output::note(
                "interrupted: verified data is kept; run the same command again to resume",
            );
            Ok(Exit::Interrupted)
        }
        Err(error) => Err(error.into()),
    }
}

fn trust(arguments: &Arguments) -> Result<SenderTrust, Failure> {
    if arguments.insecure_plain {
        return Ok(SenderTrust::Anybody);
    }
    if let (Some(path), Some(receiver)) = (&arguments.key, arguments.receiver) {
        return Ok(SenderTrust::Key { own: PrivateKey::load(path)?, receiver });
    }
    if let Some(code) = &arguments.code {
        return Ok(SenderTrust::Code(code.clone()));
    }
    if let Some(code) = code_of_environment()? {
        return Ok(SenderTrust::Code(code));
    }
    if std::io::stdin().is_terminal() {
        output::note("enter the code that `suimon recv` printed:");
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .read_line(&mut text)
        .map_err(failure::file(std::path::Path::new("stdin")))?;
    Ok(SenderTrust::Code(text.trim().parse()?))
}

/// Prints what would be sent.
fn list(arguments: &Arguments, tree: &Tree) -> Result<Exit, Failure> {
    let (files, bytes) = (tree.files() as u64, tree.bytes());
    if arguments.json {
        let entries = tree
            .entries
            .iter()
            .map(|entry| json!({ "name": text_of(&entry.name), "bytes": entry.size() }));
        output::print_json(&json!({
            "ok": true,
            "files": files,
            "bytes": bytes,
            "entries": entries.collect::<Vec<_>>(),
            "skipped": skipped(tree),
            "unread": with_reasons(&tree.unread),
        }))?;
        return Ok(Exit::Fine);
    }
    let mut text = String::new();
    for entry in &tree.entries {
        text += &format!("{}\n", entry.name);
    }
    text += &format!("{}, {}: nothing was sent\n", count(files, "file"), size(bytes));
    output::print(&text)?;
    Ok(Exit::Fine)
}

fn print(
    arguments: &Arguments,
    tree: &Tree,
    sent: &Sent,
    asked: Option<u64>,
) -> Result<Exit, Failure> {
    let is_whole = sent.refused.is_empty()
        && sent.changed.is_empty()
        && sent.unread.is_empty()
        && sent.files == tree.files() as u64;
    let limit = Limit::of(sent, asked);
    if arguments.json {
        output::print_json(&document(arguments, tree, sent, limit, is_whole))?;
    } else {
        output::print(&text(tree, sent, limit))?;
    }
    Ok(Exit::met(is_whole))
}

fn text(tree: &Tree, sent: &Sent, limit: Limit) -> String {
    let mut text = format!(
        "{} at the receiver, {} already there: {} sent in {:.1} s, {}\n",
        count(sent.files, "file"),
        sent.already,
        size(sent.bytes),
        sent.elapsed.as_secs_f64(),
        rate(sent.bytes, sent.elapsed),
    );
    let retransmits = sent.connections.iter().map(|counts| counts.retransmits).sum::<u64>();
    text += &format!(
        "{}, path {}{}, {:.2} s of CPU time, {}\n",
        count(sent.connections.len() as u64, "connection"),
        sent.path.name(),
        match sent.encryption {
            None => ", not encrypted",
            Some(Tls::Program) => ", encrypted",
            Some(Tls::Kernel) => ", encrypted by the kernel",
        },
        sent.processor.as_secs_f64(),
        count(retransmits, "retransmission"),
    );
    if limit != Limit::Unknown {
        text += &format!("limited by {}\n", limit.advice());
    }
    for (side, has, setting) in [
        ("of the sender", sent.buffers.send, "net.ipv4.tcp_wmem"),
        ("of the receiver", sent.buffers.receive, "net.ipv4.tcp_rmem"),
    ] {
        let wanted = sent.buffers.wanted;
        if has < wanted {
            text += &format!(
                "socket buffers {side} hold {}, but rate and round-trip time require {}: sysctl -w {setting}='4096 131072 {}'\n",
                size(has),
                size(wanted),
                2 * wanted,
            );
        }
    }
    if sent.again > 0 {
        text += &format!("{} corrupted and retransmitted\n", count(sent.again, "chunk"));
    }
    for (name, why) in &sent.refused {
        text += &format!("rejected: {name}: {why}\n");
    }
    for name in &sent.changed {
        text += &format!("missing: {name} changed during the transfer; send it again\n");
    }
    // Files that could not be read at first were already listed.
    for (name, why) in sent.unread.iter().skip(tree.unread.len()) {
        text += &format!("not sent: {name} cannot be read: {why}\n");
    }
    let missing = (tree.files() as u64).saturating_sub(sent.files);
    if missing > 0 {
        text += &format!("{} missing\n", count(missing, "file"));
    }
    text
}

/// A name as text, including control characters, which JSON escapes.
fn text_of(name: &Name) -> String {
    name.as_path().to_string_lossy().into_owned()
}

fn with_reasons(files: &[(Name, String)]) -> Value {
    files.iter().map(|(name, why)| json!({ "name": text_of(name), "why": why })).collect()
}

/// Links, pipes, sockets and devices, which are not sent.
fn skipped(tree: &Tree) -> Value {
    let skipped = tree.skipped.iter();
    skipped.map(|(path, what)| json!({ "path": path.to_string_lossy(), "what": what })).collect()
}

fn document(
    arguments: &Arguments,
    tree: &Tree,
    sent: &Sent,
    limit: Limit,
    is_whole: bool,
) -> Value {
    let connections = sent.connections.iter().map(|counts| {
        json!({
            "rtt_seconds": counts.rtt.as_secs_f64(),
            "retransmits": counts.retransmits,
            "busy_seconds": counts.busy.as_secs_f64(),
            "receiver_limited_seconds": counts.receiver_limited.as_secs_f64(),
            "buffer_limited_seconds": counts.buffer_limited.as_secs_f64(),
        })
    });
    let costs = sent.costs.iter().map(|(path, cost)| (path.name().to_owned(), json!(cost)));
    json!({
        "ok": is_whole,
        "files": sent.files,
        "files_already_there": sent.already,
        "bytes": sent.bytes,
        "seconds": sent.elapsed.as_secs_f64(),
        "processor_seconds": sent.processor.as_secs_f64(),
        "path": sent.path.name(),
        "nanoseconds_per_mebibyte": costs.collect::<serde_json::Map<_, _>>(),
        "encrypted": sent.encryption.is_some(),
        "tls": sent.encryption.map(Tls::name),
        "verified": !arguments.unverified,
        "chunks_sent_again": sent.again,
        "limited_by": limit.name(),
        "advice": limit.advice(),
        "buffers": {
            "wanted": sent.buffers.wanted,
            "send": sent.buffers.send,
            "receive": sent.buffers.receive,
        },
        "connections": connections.collect::<Vec<_>>(),
        "refused": with_reasons(&sent.refused),
        "changed": sent.changed.iter().map(text_of).collect::<Vec<_>>(),
        "unread": with_reasons(&sent.unread),
        "skipped": skipped(tree),
    })
}
