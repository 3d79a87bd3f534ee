//! Requests that recur on kept connections, as those of RPC, data acquisition and MPI: many servers answer at once, and what
//! each connection remembers of the last time decides what is lost. Compared in `docs/explanation/recurring.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::{KERNEL, ground, results};

/// The file with the table; about four minutes: `UPDATE_GRID=1 cargo test -p suimon --test linux recurring`.
const TABLE: &str = "docs/explanation/recurring.md";

/// Servers, kB of an answer, kB of the buffer before the client, and the floor of timeouts in ms.
type Cell = (u32, u32, u32, u32);

const SERVERS: [u32; 3] = [10, 24, 64];
const ANSWERS: [u32; 4] = [2, 16, 64, 256];
const BUFFERS: [u32; 3] = [32, 128, 512];
const FLOORS: [u32; 2] = [20, 200];

/// The number of runs per cell: which packets meet in a full buffer is random.
const SEEDS: u32 = 4;

/// Every number of servers with every answer and floor, and each of the buffers with each of those.
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

/// A client and its servers, the hosts with the line `host`.
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

/// The mean time in ms of all answers, and the number of timeouts.
fn measured(summary: &Value) -> [f64; 2] {
    let group = &summary["group"]["f"];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{summary:#}"));
    [1e3 * number(&group["exchanges"]["response_mean_seconds"]), number(&group["timeouts"])]
}

/// The results by the kernel, and by the model: the mean of the seeds.
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

A client asks all of its servers at once, each over a connection that is kept, for 4 s every 400 ms; what they answer meets in the buffer
before the client. All lines are 1 Gbit/s and 5 us long, and nothing is set but what the table says. The hosts are once
`kernel = \"linux-6.12\"` and once modelled; each pair is kernel / model, the mean of four seeds: the mean time of an answer in ms, and
timeouts of a run. The last column is how much longer the model's mean is; differences of more than 10 % are in bold.

| servers | answer, kB | buffer, kB | timeout at least, ms | answer's time, ms | timeouts | |
| --- | --- | --- | --- | --- | --- | --- |
";

const TAIL: &str = "
18 of 24 agree within 3 %, and 23 within 10 %. Where all answers pass, the times are equal; where a run has a handful of timeouts, chance
decides which packets meet in the full buffer: of 240 answers each timeout of 200 ms is 0.8 ms of their mean.

Three things have to agree for that, each of which once made the kernel's timeouts 0.7 to 10 times the model's:

* **When ticks fall.** Linux' timers go off with a tick of 4 ms, so a tail loss probe waits between 4 and 8 ms, and a burst of them meets a
  queue that is full or empty by when the burst began between two ticks. Guests start a run on the tick that modelled hosts begin with.
* **What a system call takes.** A microsecond for each spreads 64 requests over what 10 answers take on the line. What `suimon` does in a
  guest for the scenario's own flows takes no time, as it does of a modelled host; programs' calls take 1 us.
* **Timer slack.** A thread that sleeps wakes up to 50 us late, and all that recurs counts from there.

On real machines each host's ticks begin at a time of their own, and calls take time: draw the flows' starts (`start = \"0 s..4 ms\"`) to
see what that does.
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
