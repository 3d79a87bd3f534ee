//! `suimon send` and `recv` in hosts with kernels: TLS by a kernel that has it, which few machines of tests do, and a path
//! that changes what packets carry.

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::ground;
use crate::typed::{SUIMON, code, json, stderr};

/// Bytes that are sent.
const BYTES: u64 = 5_000_000;

/// The link's settings besides its rate.
const SHORT: &str = "delay = \"5 ms\"";
const FLIPS: &str = "delay = \"5 ms\"\nat.a.corrupt_undetected = \"0.1 %\"";
const LONG: &str = "delay = \"50 ms\"";

/// Host `b`, where `recv` takes one transfer after another, and `a`.
struct Ends(TempDir);

impl Ends {
    /// Sets up a transfer with the arguments `recv` for the receiver, over a link with the settings `link`.
    fn take(test: &str, recv: &str, link: &str) -> Option<Self> {
        let ground = ground(test)?;
        let scenario = format!(
            r#"
duration = "10 s"
[host.a]
kernel = "linux-6.12"
[host.b]
kernel = "linux-6.12"
as = "root"
program = "sh -c 'while :; do {SUIMON} recv /tmp/$$ --quiet {recv}; rm -r /tmp/$$; done'"
[link.l]
between = ["a", "b"]
rate = "1 Gbit/s"
{link}
[expect]
link.l.utilisation = {{ min = "0 %" }}
"#
        );
        fs::write(ground.path().join("my.toml"), scenario).expect("a file");
        Some(Self(ground))
    }

    /// The output of `send` for a file of pseudo-random bytes.
    fn send(&self, words: &str) -> Output {
        let script = format!(
            "head -c {BYTES} /dev/urandom > /tmp/file; sleep 1
            {SUIMON} send /tmp/file b --json --quiet {words}"
        );
        let mut suimon = Command::new(SUIMON);
        suimon.args([
            "lab",
            "exec",
            "my.toml",
            "a",
            "--on",
            "simulator",
            "--",
            "sh",
            "-c",
            &script,
        ]);
        suimon.current_dir(self.0.path()).output().expect("it starts")
    }

    /// The result of `send` and its messages, after a check that everything arrived.
    fn sent(&self, words: &str) -> (Value, String) {
        let output = self.send(words);
        assert_eq!(code(&output), 0, "{words}: {}", stderr(&output));
        let sent = json(&output);
        let whole = (&sent["ok"], &sent["verified"]);
        assert_eq!(whole, (&Value::from(true), &Value::from(true)), "{words}: {sent}");
        (sent, stderr(&output).to_owned())
    }
}

const CODE: &str = "--code 00000-00000-00000-00000-0000e";

/// The sender's kernel encrypts (kTLS), `recv` decrypts in its process; on each path, over one connection and
/// over several.
#[test]
fn a_kernel_encrypts_what_sendfile_gives_it() {
    let Some(ends) = Ends::take("TLS by a guest's kernel", CODE, SHORT) else { return };
    for more in ["--path sendfile", "--path splice -P 3", "--path copy", "--tls program"] {
        let (sent, _) = ends.sent(&format!("{CODE} {more}"));
        let tls = if more == "--tls program" { "program" } else { "kernel" };
        assert_eq!((&sent["tls"], &sent["bytes"]), (&tls.into(), &BYTES.into()), "{more}: {sent}");
    }
    // What a kernel that encrypts cannot do is said.
    let said =
        json(&ends.send(&format!("{CODE} --path uring")))["errors"][0]["message"].to_string();
    assert!(said.contains("path uring: the kernel encrypts"), "{said}");
}

/// A receiver sleeps while few bytes are available, and the kernel sizes the window by the receiver's reading
/// rate: 5 MB take as long as with a receiver that reads everything at once, 0.91 s. With a bound for the sleep
/// beyond the first buffer, they took 2.1 s.
#[test]
fn a_receiver_that_sleeps_does_not_hold_back_the_window() {
    let Some(ends) = Ends::take("a transfer's slow start", CODE, LONG) else { return };
    let (sent, _) = ends.sent(CODE);
    let seconds = sent["seconds"].as_f64().expect("seconds");
    assert!(seconds < 0.95, "{seconds}");
}

/// More connections than the limit of unauthenticated peers; all try to authenticate within one round-trip
/// time.
#[test]
fn many_streams_get_through_a_long_path() {
    let Some(ends) = Ends::take("many streams", CODE, LONG) else { return };
    let (sent, said) = ends.sent(&format!("{CODE} -P 64 --chunk 64KiB"));
    let connections = sent["connections"].as_array().expect("connections");
    assert_eq!((connections.len(), said.as_str()), (64, ""), "{sent}");
}

/// Bits flip on the path in packets with correct checksums: the chunks' hashes detect them.
#[test]
fn what_a_path_changes_unnoticed_is_noticed() {
    let test = "a path that changes payload, by chunks";
    let Some(ends) = Ends::take(test, "--insecure-plain", FLIPS) else { return };
    let (sent, said) = ends.sent("--insecure-plain --chunk 64KiB");
    let again = sent["chunks_sent_again"].as_u64().expect("a number");
    // Of 3500 packets.
    assert!((1..=10).contains(&again), "{sent}");
    assert_eq!(sent["bytes"].as_u64(), Some(BYTES + again * (64 << 10)), "{sent}: {said}");
}

/// Bits flip on the path as in the test above, but TLS detects them: the connection ends, and the next one continues.
#[test]
fn what_a_path_changes_of_a_cipher_ends_the_connection() {
    let Some(ends) = Ends::take("a path that changes payload, by TLS", CODE, FLIPS) else { return };
    let (_, said) = ends.sent(&format!("{CODE} --chunk 64KiB"));
    assert!(said.contains("retrying"), "{said}");
}
