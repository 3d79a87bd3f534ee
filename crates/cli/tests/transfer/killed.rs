//! Either end is killed at a random moment, and started again: every byte is correct, and only unverified data
//! is retransmitted.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::typed::SUIMON;
use crate::typed_at::{CODE, free_port, xorshift};

/// Bytes of a chunk.
const CHUNK: u64 = 64 << 10;
/// Bytes of a state file's head, and of a record in it.
const STATE: (u64, u64) = (64, 40);

fn kills() -> u64 {
    let asked = std::env::var("SUIMON_KILLS").ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(12)
}

struct Ends<'a> {
    folder: &'a Path,
    port: u16,
    streams: u64,
    rate: u64,
}

impl Ends<'_> {
    fn recv(&self) -> Child {
        let mut command = Command::new(SUIMON);
        command
            .args(["recv", "there", "--json", "--quiet", "--listen"])
            .arg(format!("127.0.0.1:{}", self.port));
        command.env("SUIMON_CODE", CODE).current_dir(self.folder);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("recv")
    }

    fn send(&self, retry: &str) -> Child {
        let mut command = Command::new(SUIMON);
        command.arg("send").arg("file").arg(format!("127.0.0.1:{}", self.port));
        command.args(["--json", "--quiet", "--chunk", "64KiB", "--retry", retry]);
        command.args([
            "--streams",
            &self.streams.to_string(),
            "--rate",
            &format!("{}Bps", self.rate),
        ]);
        command.env("SUIMON_CODE", CODE).current_dir(self.folder);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("send")
    }
}

fn document(child: Child) -> Value {
    let output = child.wait_with_output().expect("it ends");
    serde_json::from_slice(&output.stdout).expect("a JSON document")
}

/// The number of chunks recorded as verified.
pub(crate) fn recorded(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder.join("there/.suimon-recv")) else { return 0 };
    let states = entries.map(|entry| entry.expect("an entry"));
    let states = states.filter(|entry| entry.path().extension().is_some_and(|end| end == "state"));
    let length = |entry: fs::DirEntry| entry.metadata().expect("a file").len();
    states.map(|state| length(state).saturating_sub(STATE.0) / STATE.1).sum()
}

/// Waits until it listens.
fn listens(port: u16) {
    testbed::eventually("recv listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
}

#[test]
fn kills_lose_nothing_and_cost_no_more_than_what_was_not_verified() {
    let mut draw = xorshift(2026);
    for round in 0..kills() {
        let folder = tempfile::tempdir().expect("a folder");
        // 1 byte to 8 MiB, more small ones than large ones; one in a hundred of 1 GB.
        let size = if round % 100 == 99 { 1_000_000_000 } else { 1 << (draw() % 24) };
        let size = size + draw() % 1000;
        let content: Vec<u8> = {
            let mut draw = xorshift(round + 1);
            (0..size.div_ceil(8)).flat_map(|_| draw().to_le_bytes()).take(size as usize).collect()
        };
        fs::write(folder.path().join("file"), &content).expect("written");
        // So that the transfer takes about 300 ms.
        let rate = (size * 3).max(10_000);
        let ends = Ends { folder: folder.path(), port: free_port(), streams: 1 + draw() % 3, rate };
        let sender_dies = draw().is_multiple_of(2);
        let moment = Duration::from_millis(draw() % 400);

        let mut receiver = ends.recv();
        listens(ends.port);
        let mut sender = ends.send("0s");
        thread::sleep(moment);
        let victim = if sender_dies { &mut sender } else { &mut receiver };
        victim.kill().expect("killed");
        victim.wait().expect("it ended");
        let there = folder.path().join("there/file");
        let was_whole = there.exists();
        if was_whole {
            assert!(fs::read(&there).expect("readable") == content, "a part under its final name");
        }
        if sender_dies {
            let sender = sender.try_wait().expect("it was waited for");
            assert!(sender.is_some());
            // The receiver may have finished before.
            thread::sleep(Duration::from_millis(300));
            if receiver.try_wait().expect("a child").is_some() {
                receiver = ends.recv();
                listens(ends.port);
            }
        } else {
            sender.wait().expect("it ends");
            receiver = ends.recv();
            listens(ends.port);
        }
        let chunks = recorded(folder.path());
        let sent = document(ends.send("5s"));
        let received = document(receiver);
        let label =
            format!("round {round}: {size} bytes, {} streams, after {moment:?}", ends.streams);
        assert_eq!(
            (&sent["ok"], &received["ok"]),
            (&Value::Bool(true), &Value::Bool(true)),
            "{label}: {sent}"
        );
        assert!(fs::read(&there).expect("it is there") == content, "{label}: another content");
        let left = if was_whole { 0 } else { (size.div_ceil(CHUNK) - chunks) * CHUNK };
        let bytes = sent["bytes"].as_u64().expect("bytes");
        assert!(bytes <= left, "{label}: {bytes} bytes sent where {left} were not verified");
        assert!(!folder.path().join("there/.suimon-recv").exists(), "{label}: something is left");
    }
}
