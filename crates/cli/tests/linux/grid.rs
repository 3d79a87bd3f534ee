//! Ordinary paths that no paper holds, with nothing set that need not be: what TCP gets of them by the model and by
//! the kernel, compared in `docs/explanation/kernel.md`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::{KERNEL, ground, path, results};

/// The file with the table. It takes about ten minutes: `UPDATE_GRID=1 cargo test -p suimon --test linux grid`.
const TABLE: &str = "docs/explanation/kernel.md";

/// A path: Mbit/s, one-way delay in ms, buffer in tenths of the BDP, congestion control, discipline.
type Cell = (u64, u64, u64, &'static str, &'static str);

fn grid() -> Vec<Cell> {
    let mut cells = Vec::new();
    for rate in [10, 40, 80] {
        for delay in [2, 15, 60] {
            for buffer in [3, 10, 30] {
                for algorithm in ["newreno", "cubic"] {
                    cells.extend(
                        ["fifo", "codel"].map(|qdisc| (rate, delay, buffer, algorithm, qdisc)),
                    );
                }
            }
        }
    }
    cells
}

/// The scenario of a cell, with hosts on the `kernel` or modelled.
fn text((rate, delay, buffer, algorithm, qdisc): Cell, kernel: bool) -> String {
    // Mbit/s times ms are 125 bytes; a buffer of a frame or two would be none.
    let bytes = (rate * 2 * delay * 125 * buffer / 10).max(3_000);
    let queue = match qdisc {
        "fifo" => format!("fifo.bytes = \"{bytes} B\""),
        _ => format!("codel.bytes = \"{bytes} B\""),
    };
    let bottleneck =
        format!("rate = \"{rate} Mbit/s\"\ndelay = \"{delay} ms\"\nat.r.queue.{queue}");
    let flow = format!("tcp.algorithm = \"{algorithm}\"");
    path(10, if kernel { KERNEL } else { "" }, &bottleneck, &flow)
}

/// The compared quantities: goodput in Mbit/s, drops, retransmits, and the p50 and p99 sojourn times at the
/// bottleneck in ms.
fn measured(summary: &Value) -> [f64; 5] {
    let (flow, queue) = (&summary["flow"]["f"], &summary["link"]["bottleneck"]["forward"]);
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{summary:#}"));
    [
        8e-6 * number(&flow["goodput"]),
        number(&queue["drops"]),
        number(&flow["retransmissions"]),
        1e3 * number(&queue["sojourn_p50_seconds"]),
        1e3 * number(&queue["sojourn_p99_seconds"]),
    ]
}

/// The quantities by the kernel, and by the model.
fn run(ground: &TempDir, cell: Cell) -> [[f64; 5]; 2] {
    [true, false].map(|kernel| measured(&results(ground, "cell", &text(cell, kernel)).0))
}

fn row(cell: Cell, [kernel, model]: [[f64; 5]; 2]) -> String {
    let (rate, delay, buffer, algorithm, qdisc) = cell;
    let mut row =
        format!("| {rate} | {delay} | {:.1} | {algorithm} | {qdisc} |", buffer as f64 / 10.0);
    for (number, (kernel, model)) in kernel.into_iter().zip(model).enumerate() {
        let places = if number == 1 || number == 2 { 0 } else { 1 };
        let _ = write!(row, " {kernel:.places$} / {model:.places$} |");
    }
    let difference = 100.0 * (model[0] / kernel[0] - 1.0);
    let mark = if difference.abs() > 5.0 { "**" } else { "" };
    let _ = writeln!(row, " {mark}{difference:+.1} %{mark} |");
    row
}

const HEAD: &str = "\
<!-- Generated: UPDATE_GRID=1 cargo test -p suimon --test linux grid -->

# Kernel and model

How close the model of TCP is to Linux 6.12, and what a run with guest kernels costs: from this page you choose between
the two. The table has one connection for 10 s over a path with one bottleneck, with `kernel = \"linux-6.12\"` at its
hosts once and with modelled hosts once. Everything else but the columns has its default. Buffers are in bandwidth-delay
products. Each pair is kernel / model: goodput in Mbit/s, drops at the bottleneck, retransmits, and the sojourn time
there in ms. The last column is how much more goodput the model has; differences of more than 5 % are in bold.

93 of 108 agree within 1 %, and 101 within 5 %. Five of the other seven are through CoDel, with drop counts at most four
apart: one halving more or less decides for the rest of a run in which the window grows by a packet in 60 ms. The other
two have a buffer of two to eight packets (2 ms, 0.3), too small for a burst, so which of its packets are lost
makes up to 7 %.

| Mbit/s | ms | buffer | congestion | queue | goodput | drops | retransmits | sojourn p50 | sojourn p99 | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

const TAIL: &str = "
## Flows in step

If many flows begin in the same nanosecond, losses depend on which packets meet, and one packet that leaves a
microsecond later changes everything after it. Two examples, kernel / model (`linux-6`), once with the flows' starts as
they are and once drawn; drops are the mean of the seeds. [Requests that recur](recurring.md) have a page of their own.

| example | starts | seeds | response, mean | drops | goodput, MB/s |
| --- | --- | --- | --- | --- | --- |
| `mpi-over-wan.toml`, `far` | together | 1 | 104 / 103 ms | 748 / 816 | 35.0 / 34.3 |
| | drawn from 20 ms | 4 | 73 / 82 ms | 1098 / 1264 | 37.7 / 36.4 |
| `incast.toml` for 1 s | together | 1 | 14.3 / 16.1 ms | 2563 / 2790 | 19.1 / 19.3 |
| | drawn from 1 ms | 3 | 9.9 / 8.4 ms | 1072 / 1080 | 19.3 / 19.8 |

## Paper 1's figures of link sharing

`suimon paper p1 --on linux-6.12 --only F8,F11,F12`, where senders and receivers have kernels, and the same without
`--on`: what each class or organisation got of the link, in Mbit/s. The last column is what the paper reports for its
figure.

| figure | measured | kernel | model | published |
| --- | --- | --- | --- | --- |
| F8 | guarantees of 10, 20, 30 and 40, mean | 9.99, 19.96, 29.92, 39.78 | 9.99, 19.96, 29.92, 39.78 | each holds its rate |
| F8 | lowest second | 9.93, 19.87, 29.82, 39.77 | 9.93, 19.87, 29.81, 39.78 | |
| F8 | by HFSC, mean | 10.0, 20.0, 30.0, 40.0 | 10.0, 20.0, 30.0, 40.0 | |
| F11 | organisations of 70 and 30, priorities, half seconds | 69.7 to 70.3, 29.7 to 30.3 | 69.7 to 70.3, 29.7 to 30.3 | each sum stays constant |
| F11 | class 4 of 10, paper's estimator, UDP | 12.98 | 12.98 | overshoots when it borrows |
| F11 | class 4 of 10, paper's estimator, TCP | 15.22 | 15.16 | overshoots when it borrows |
| F11 | class 4 of 10, exact estimator, TCP | 10.00 | 10.00 | |
| F12 | organisations of 70 and 30, equal priorities, half seconds | 69.7 to 70.2, 29.8 to 30.3 | 69.8 to 70.2, 29.8 to 30.2 | each sum stays constant |
| F12 | class 4 of 10, paper's estimator, UDP | 10.07 | 10.07 | does not overshoot |

All bounds of the paper's page are met. With kernels, each of these runs of 30 or 40 s at 100 and 135 Mbit/s takes one
to three minutes of wall time (beside a compiler, on two cores); with the model, a few seconds.

## What it costs

A delivered frame takes about 42 us of CPU time (cubic at 40 Mbit/s and 30 ms, debug build): 16 system calls and 7
context switches on the machine, two of them for each system call of a program in the guest, which user-mode Linux
traces by ptrace. 75 % of the time is in the machine's kernel, 13 % in the guest's, 8 % in the simulator. Programs that
make more system calls per packet take more: `iperf3 -t 60` through 50 Mbit/s and 100 ms takes 25 s. If programs at many
hosts are busy at once, the microsecond of each system call overlaps events of other hosts: with 256 hosts in eight
guests, a frame took 130 us.

A guest takes 34 MB, plus 1.2 MB for each of its hosts; the simulator takes 1.1 MB for each host.

## Programs that compute: NPB

NPB 3.4.1 on eight ranks of Open MPI, one on each of eight hosts of one guest, over links of 1 Gbit/s and 100 us to a
router. Computation takes no virtual time, so the times are those of the communication. Each benchmark ran twice and
gave the same result bytes; the wall time was measured beside compilers and busy loops on two cores.

| benchmark | virtual time | verification | wall time |
| --- | --- | --- | --- |
| IS, class A | 0.43 s | successful | 127 and 153 s |
| FT, class A | 1.57 s | successful | 272 and 310 s |
";

#[test]
fn the_table_holds() {
    let Some(ground) = ground("ordinary paths by kernel and model") else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(TABLE);
    if std::env::var_os("UPDATE_GRID").is_some() {
        let rows = grid().into_iter().map(|cell| row(cell, run(&ground, cell)));
        let head = std::iter::once(HEAD.to_owned());
        let table: String = head.chain(rows).chain([TAIL.to_owned()]).collect();
        return fs::write(file, table).expect("a table");
    }
    // All of it takes too long for every day; these are of both algorithms, disciplines and ends of the scales.
    let table = fs::read_to_string(file).expect("a table");
    for cell in [
        (10, 2, 3, "newreno", "fifo"),
        (40, 15, 10, "cubic", "codel"),
        (10, 60, 30, "cubic", "fifo"),
    ] {
        let row = row(cell, run(&ground, cell));
        assert!(table.contains(&row), "{row}");
    }
}
