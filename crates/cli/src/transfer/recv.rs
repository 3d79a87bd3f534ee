//! `suimon recv`: receives one transfer into a directory.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::transfer::{
    Code, Event, Meter, PORT, PrivateKey, PublicKey, Received, Receiver, ReceiverSettings,
    ReceiverTrust, Sink,
};
use clap::Args;
use serde_json::json;

use super::{Bar, code_of_environment, count, rate, size};
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::{interruption, output};

/// Receive files from `suimon send`, encrypted and verified
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Directory for the files; created if it is missing
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Listen on this address, or port, or both
    #[arg(long, value_name = "ADDRESS[:PORT]", default_value_t = format!("[::]:{PORT}"))]
    listen: String,
    /// Use the code of an earlier `recv` that was interrupted, also in SUIMON_CODE [default: a new code]
    #[arg(long, value_name = "CODE", conflicts_with_all = ["key", "insecure_plain"])]
    code: Option<Code>,
    /// Use this private key (`suimon keygen`) instead of a code
    #[arg(long, value_name = "FILE", requires = "sender")]
    key: Option<PathBuf>,
    /// Trust the sender with this public key; can be given several times
    #[arg(long, value_name = "PUBLIC", requires = "key")]
    sender: Vec<PublicKey>,
    /// Neither encrypt nor authenticate; only for trusted networks and machines
    #[arg(long, conflicts_with = "key")]
    insecure_plain: bool,
    /// Replace existing files that differ
    #[arg(long)]
    overwrite: bool,
    /// The data path from socket to file: plain, splice (only unverified and unencrypted) or direct (bypasses
    /// the page cache) [default: plain, or splice where it costs less]
    #[arg(long, value_name = "PATH")]
    into: Option<Sink>,
    /// How long a sender may be silent
    #[arg(long, value_name = "TIME", default_value = "60 s", value_parser = super::timeout)]
    timeout: base::Duration,
    /// Show no progress bar, and print only the code and errors on stderr
    #[arg(long, short)]
    quiet: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Listens, prints the code, and receives one transfer.
#[expect(clippy::disallowed_methods, reason = "the elapsed time is printed")]
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let (trust, code) = trust(arguments)?;
    let receiver = Receiver::new(ReceiverSettings {
        directory: arguments.directory.clone(),
        listen: listen(&arguments.listen),
        trust,
        overwrite: arguments.overwrite,
        into: arguments.into,
        timeout: Duration::from_micros(arguments.timeout.as_us()),
    })?;
    let port = receiver.address()?.port();
    let port = if port == PORT { String::new() } else { format!(":{port}") };
    if let Some(code) = code {
        // The command is shown without the code, because other users may see the sender's command line.
        output::note(&format!(
            "code: {code}\n  on the sender: suimon send PATH... HOST{port}, then enter the code"
        ));
    } else if !arguments.quiet {
        output::note(&format!("on the sender: suimon send PATH... HOST{port}"));
    }
    let stop = interruption::watch()?;
    let meter = Arc::new(Meter::default());
    let bar = Bar::new(&meter, "receiving", arguments.quiet);
    let (mut began, mut strangers) = (Instant::now(), Strangers::default());
    let received = receiver.run(&meter, &stop, |event| {
        if matches!(event, Event::Began(_)) {
            began = Instant::now();
        }
        if arguments.quiet {
            return;
        }
        let is_stranger = matches!(event, Event::Rejected(..));
        if let Some(others) = strangers.admit(is_stranger, Instant::now()) {
            if others > 0 {
                output::note(&format!("rejected {} more", count(others, "peer")));
            }
            output::note(&said(&event));
        }
    });
    let elapsed = began.elapsed();
    drop(bar);
    match received {
        Ok(received) => print(arguments, &received, elapsed),
        Err(::transfer::Error::Interrupted) => {
            output::note(
                "interrupted: verified data is kept; run the same command again to resume",
            );
            Ok(Exit::Interrupted)
        }
        Err(error) if arguments.json => failure::print_json(&error.into()),
        Err(error) => Err(error.into()),
    }
}

fn trust(arguments: &Arguments) -> Result<(ReceiverTrust, Option<Code>), Failure> {
    if arguments.insecure_plain {
        return Ok((ReceiverTrust::Anybody, None));
    }
    if let Some(path) = &arguments.key {
        let (own, senders) = (PrivateKey::load(path)?, arguments.sender.clone());
        return Ok((ReceiverTrust::Keys { own, senders }, None));
    }
    let given = match &arguments.code {
        Some(code) => Some(code.clone()),
        None => code_of_environment()?,
    };
    let code = given.map_or_else(Code::generate, Ok)?;
    Ok((ReceiverTrust::Code(code.clone()), Some(code)))
}

/// An address with its port. Either may be missing in `text`.
fn listen(text: &str) -> String {
    if text.parse::<u16>().is_ok() {
        return format!("[::]:{text}");
    }
    super::send::with_port(text)
}

/// Minimum interval between reports of rejected peers, so that they do not fill a log.
const STRANGER_EACH: Duration = Duration::from_secs(10);

/// Rejected peers that have not been reported.
#[derive(Debug, Default)]
struct Strangers {
    reported: Option<Instant>,
    unreported: u64,
}

impl Strangers {
    /// Whether to report an event, and how many unreported peers precede it.
    fn admit(&mut self, is_stranger: bool, now: Instant) -> Option<u64> {
        if is_stranger {
            if self.reported.is_some_and(|last| now.duration_since(last) < STRANGER_EACH) {
                self.unreported += 1;
                return None;
            }
            self.reported = Some(now);
        }
        Some(std::mem::take(&mut self.unreported))
    }
}

fn said(event: &Event) -> String {
    match event {
        Event::Began(address) => format!("transfer from {address}"),
        Event::Rejected(address, why) => format!("rejected {address}: {why}"),
        Event::Disconnected(why) => {
            format!("interrupted: {why}; waiting for the sender to reconnect")
        }
    }
}

fn print(arguments: &Arguments, received: &Received, elapsed: Duration) -> Result<Exit, Failure> {
    let Received { files, missing, bytes, again, verified, into, .. } = *received;
    if arguments.json {
        let costs = received.costs.iter().map(|(sink, cost)| (sink.name().to_owned(), json!(cost)));
        output::print_json(&json!({
            "ok": missing == 0,
            "files": files,
            "missing": missing,
            "bytes": bytes,
            "seconds": elapsed.as_secs_f64(),
            "chunks_sent_again": again,
            "verified": verified,
            "into": into.name(),
            "nanoseconds_per_mebibyte": costs.collect::<serde_json::Map<_, _>>(),
        }))?;
        return Ok(Exit::met(missing == 0));
    }
    let checked = if verified { "all chunks verified" } else { "not verified" };
    let mut text = format!(
        "{} in {}, {checked}: {} received in {:.1} s, {}, path {}\n",
        count(files, "file"),
        arguments.directory.display(),
        size(bytes),
        elapsed.as_secs_f64(),
        rate(bytes, elapsed),
        into.name(),
    );
    if again > 0 {
        text += &format!("{} corrupted and retransmitted\n", count(again, "chunk"));
    }
    if missing > 0 {
        text += &format!("{} missing: see the sender's output\n", count(missing, "file"));
    }
    output::print(&text)?;
    Ok(Exit::met(missing == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a moment to count from")]
    fn strangers_do_not_fill_a_log() {
        let (mut strangers, began) = (Strangers::default(), Instant::now());
        let reported = (0..30_000_u64).filter_map(|millisecond| {
            strangers.admit(true, began + Duration::from_millis(millisecond))
        });
        assert_eq!(reported.collect::<Vec<_>>(), [0, 9_999, 9_999]);
        // Other events are reported at once, with the number of rejected peers.
        assert_eq!(strangers.admit(false, began + Duration::from_secs(30)), Some(9_999));
        assert_eq!(strangers.admit(false, began + Duration::from_secs(30)), Some(0));
    }
}
