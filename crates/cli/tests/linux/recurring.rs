//! Recurring requests on persistent connections, as of RPC, data acquisition and MPI: many servers respond at once, and
//! each connection's state from the previous request decides what is lost. `docs/explanation/recurring.md` has the
//! results.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::{KERNEL, ground, results};

/// The file with the table; about four minutes: `UPDATE_GRID=1 cargo test -p suimon --test linux recurring`.
const TABLE: &str = "docs/explanation/recurring.md";

/// Number of servers, kB of a response, kB of the buffer in front of the client, and minimum RTO in ms.
type Cell = (u32, u32, u32, u32);

const SERVERS: [u32; 3] = [10, 24, 64];
const ANSWERS: [u32; 4] = [2, 16, 64, 256];
const BUFFERS: [u32; 3] = [32, 128, 512];
const FLOORS: [u32; 2] = [20, 200];

/// The number of runs per cell: which packets meet in a full buffer is random.
const SEEDS: u32 = 4;

/// Every combination of servers, response and minimum RTO, with a buffer that changes from one to the next.
fn grid() -> Vec<Cell> {
    let mut cells = Vec::new();
    for (row, answer) in ANSWERS.into_iter().enumerate() {
        for (column, servers) in SERVERS.into_iter().enumerate() {
            for (floor, ms) in FLOORS.into_iter().enumerate() {
                let buffer = BUFFERS[(row + column + floor) % BUFFERS.len()];
                cells.push((servers, answer, buffer, ms));
            }
        }
    }
    cells
}

/// A scenario with a client and its servers; `host` is a line of each host.
fn text((servers, answer, buffer, floor): Cell, every: &str, host: &str, seed: u32) -> String {
    let floor = match floor {
        200 => String::new(),
        ms => format!("tcp.rto.min = \"{ms} ms\"\nreceiver_tcp.rto.min = \"{ms} ms\""),
    };
    format!(
        r#"
duration = "4 s"
seed = {seed}
[probe]
automatic = false
[host.server]
count = {servers}
{host}
[host.client]
{host}
[router.tor]
[link.rack]
between = ["server", "tor"]
rate = "1 Gbit/s"
delay = "5 us"
jitter = "0 us..2 us"
[link.out]
between = ["tor", "client"]
rate = "1 Gbit/s"
delay = "5 us"
queue.fifo.bytes = "{buffer} kB"
[flow.f]
from = "client"
to = "server"
exchange = {{ request = "100 B", response = "{answer} kB", every = "{every}" }}
{floor}
"#
    )
}

/// The mean response time in ms, and the number of timeouts.
fn measured(summary: &Value) -> [f64; 2] {
    let group = &summary["group"]["f"];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{summary:#}"));
    [1e3 * number(&group["exchanges"]["response_mean_seconds"]), number(&group["timeouts"])]
}

/// The results of the kernel and of the model: the means over the seeds.
fn run(ground: &TempDir, cell: Cell, every: &str) -> [[f64; 2]; 2] {
    [KERNEL, ""].map(|host| {
        let of = |seed| measured(&results(ground, "cell", &text(cell, every, host, seed)).0);
        let sum = (1..=SEEDS).map(of).fold([0.0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
        sum.map(|sum| sum / f64::from(SEEDS))
    })
}

fn row(cell: Cell, [kernel, model]: [[f64; 2]; 2]) -> String {
    let (servers, answer, buffer, floor) = cell;
    let difference = 100.0 * (model[0] / kernel[0] - 1.0);
    let mark = if difference.abs() > 10.0 { "**" } else { "" };
    let mut row = format!("| {servers} | {answer} | {buffer} | {floor} |");
    let _ =
        write!(row, " {:.2} / {:.2} | {:.1} / {:.1} |", kernel[0], model[0], kernel[1], model[1]);
    let _ = writeln!(row, " {mark}{difference:+.1} %{mark} |");
    row
}

const HEAD: &str = "\
<!-- Generated: UPDATE_GRID=1 cargo test -p suimon --test linux recurring -->

# Requests that recur: kernel and model

This page shows how well the model predicts recurring incast, where each connection's state from the previous request
decides what is lost, and for which sizes you can rely on the model. A client sends a request to all of its servers at
once, each over a persistent connection, every 400 ms for 4 s; the responses meet in the buffer in front of the client.
All links have 1 Gbit/s and 5 us, those of the servers also a jitter of up to 2 us. The first four columns vary; every
other setting has its default. Each row is run with `kernel = \"linux-6.12\"` at all hosts and with modelled hosts.
Each pair is kernel / model, the mean of four seeds: the mean response time, and the timeouts of a run. The last column
is the difference of the model's mean response time from the kernel's; differences of more than 10 % are in bold.

| servers | response, kB | buffer, kB | minimum RTO, ms | response time, ms | timeouts | |
| --- | --- | --- | --- | --- | --- | --- |
";

const TAIL: &str = "
18 of 24 agree within 3 %, and 22 within 10 %. If no response loses a packet, the times are equal. If a run has a
handful of timeouts, chance decides which packets meet in the full buffer: with 240 responses, each timeout of 200 ms
adds 0.8 ms to their mean. Over 12 seeds, the two rows in bold have 20.5 / 22.2 ms with 13.6 / 14.8 timeouts, and 15.4 /
14.8 ms with 4.1 / 3.8.

This needs agreement in three points. Each of them once made the kernel's timeouts 0.7 to 10 times the model's:

* **The phase of ticks.** Linux timers expire on a 4 ms tick, so a tail loss probe waits between 4 and 8 ms. Whether a
  burst of probes meets a full or an empty queue depends on when the burst began relative to the tick. Guests start a
  run on the same tick as modelled hosts.
* **The time of a system call.** A microsecond for each spreads 64 requests over the transmission time of 10 responses.
  What `suimon` does in a guest for the scenario's own flows takes no time, as at a modelled host; system calls of
  programs take 1 us.
* **Timer slack.** A sleeping thread wakes up to 50 us late, and all recurring times count from there.

On real machines, the ticks of each host have their own phase, and system calls take time: draw the flows' starts
(`start = \"0 s..4 ms\"`) to see the effect.
";

#[test]
fn the_table_holds() {
    let Some(ground) = ground("requests that recur by kernel and model") else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(TABLE);
    if std::env::var_os("UPDATE_GRID").is_some() {
        let rows = grid().into_iter().map(|cell| row(cell, run(&ground, cell, "400 ms")));
        let head = std::iter::once(HEAD.to_owned());
        let table: String = head.chain(rows).chain([TAIL.to_owned()]).collect();
        return fs::write(file, table).expect("a table");
    }
    // A part of it for every day: answers that all pass, that wait for probes, and that wait for timeouts.
    let table = fs::read_to_string(file).expect("a table");
    for cell in [(64, 2, 512, 20), (10, 16, 128, 20), (10, 256, 32, 20)] {
        let row = row(cell, run(&ground, cell, "400 ms"));
        assert!(table.contains(&row), "{row}");
    }
}

/// When the guests' timers fired at other times than the model's, each of their calls took 1 us, and programs
/// due at 0 s started 50 us late, the kernel had 1.4 times the timeouts.
#[test]
fn recurring_incast_is_as_long_by_kernel_as_by_model() {
    let Some(ground) = ground("recurring incast by kernel and model") else { return };
    let [kernel, model] = run(&ground, (40, 64, 128, 200), "300 ms");
    for (kernel, model) in kernel.into_iter().zip(model) {
        assert!((model / kernel - 1.0).abs() <= 0.1, "kernel {kernel:?}, model {model:?}");
    }
}
