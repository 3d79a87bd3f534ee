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

/// The compared quantities: goodput in Mbit/s, drops, retransmissions, and the p50 and p99 sojourn times at the
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

A host in the simulator has either a model of TCP or, with `kernel = \"linux-6.12\"`, a real Linux 6.12 kernel. This
page shows how close the model is to the kernel and what a run with the kernel costs, so that you can choose between
the two.

Each row of the table is one TCP connection of 10 s over a path with one bottleneck. It is simulated twice: with the
kernel at both hosts and with modelled hosts. The first five columns are the bottleneck's rate in Mbit/s, its one-way
delay in ms, its buffer in bandwidth-delay products (rate times round-trip time), the congestion control, and the
queueing discipline. Every other setting has its default. The next five columns are results, each as kernel / model:
goodput in Mbit/s, packets dropped at the bottleneck, retransmissions, and two percentiles of the sojourn time in ms (how
long packets wait in the bottleneck's queue). The last column is the difference of the model's goodput from the
kernel's; differences of more than 5 % are in bold.

The goodputs agree within 1 % in 97 of the 108 rows, and within 5 % in 106. The others are of two kinds:

* **NewReno with CoDel and a delay of 15 or 60 ms.** Both rows with a difference of more than 5 % are of this kind. The
  drop counts of kernel and model are at most four apart, but chance decides whether CoDel drops a retransmission, which
  takes another halving. After a halving, the window grows by only about one packet per round trip, so one halving more
  or less changes the goodput for the rest of the run.
* **A delay of 2 ms and a buffer of 0.3.** In these rows, the buffer holds only two to eight packets, too few for a
  burst. The goodput differs by up to 5 %, depending on which packets of a burst are lost.

| Mbit/s | ms | buffer | congestion | queue | goodput | drops | retransmissions | sojourn p50 | sojourn p99 | |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
";

const TAIL: &str = "
## Flows in step

If many flows start in the same nanosecond, losses depend on which packets arrive at a queue together. One packet that
leaves a microsecond later changes everything after it. [Requests that recur](recurring.md) shows this for requests
that are repeated on persistent connections.

The table compares the kernel with the model's profile `linux-6` in two examples of `scenarios/`. For the first
example, the results are those of the flow `far`; the second is simulated for 1 s. In the rows *together*, the flows
start at the same time, as in the file. In the rows *drawn*, each flow starts at a random time within 20 ms or 1 ms.
Each seed is one run, and the drops are the mean of these runs. Each pair is kernel / model.

| example | starts | seeds | response, mean | drops | goodput, MB/s |
| --- | --- | --- | --- | --- | --- |
| `mpi-over-wan.toml`, `far` | together | 1 | 104 / 103 ms | 748 / 816 | 35.0 / 34.3 |
| | drawn from 20 ms | 4 | 73 / 82 ms | 1098 / 1264 | 37.7 / 36.4 |
| `incast.toml` for 1 s | together | 1 | 14.3 / 16.1 ms | 2563 / 2790 | 19.1 / 19.3 |
| | drawn from 1 ms | 3 | 9.9 / 8.4 ms | 1072 / 1080 | 19.3 / 19.8 |

## Paper 1's figures of link sharing

Paper 1 (*ALTQ: alternate queueing for BSD Unix*) measures how class-based queueing (CBQ) shares a link: among classes
with guaranteed rates (figure 8, here F8), and among two organisations with two classes each (F11 and F12).

`suimon paper p1 --on linux-6.12 --only F8,F11,F12` repeats these experiments with the kernel at senders and
receivers. The same command without `--on` uses the model. The table shows the rate that each class or organisation
gets from the link, in Mbit/s. The last column is what the paper reports for its figure.

In the column *measured*, the numbers after *of* are guaranteed rates. *Lowest second* is the lowest rate in one
second, and *half seconds* are the lowest and highest rates in half a second. The row *by HFSC* has the discipline
HFSC in place of CBQ. An *estimator* of CBQ measures how much of the link a class uses: the paper's estimator is a
moving average, and the exact estimator is Suimon's default.

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

All bounds for these figures in `papers/p1/published.toml` are met. Each run simulates 30 or 40 s of a link of 100 or
135 Mbit/s. With the kernel, it takes one to three minutes of wall time on two cores that a compiler also uses; with
the model, it takes a few seconds.

## What it costs

The kernel runs in a *guest*: an instance of user-mode Linux, which is an ordinary program on your machine. One guest
is the kernel of several hosts.

A delivered frame takes about 43 us of CPU time, measured for a CUBIC flow at 40 Mbit/s and 30 ms on a virtual machine
of two cores without other load, where it took 52 us before guests ran ahead of the network. About 60 % of this time is
spent in your machine's kernel, which performs about 10 system calls and 5 context switches per frame.

Each system call of a program in the guest causes two of these context switches: user-mode Linux traces the program by
ptrace, so your machine switches from the program to the guest's kernel, which executes the call, and back. Programs
that make more system calls per packet therefore take longer: `iperf3 -t 60` over a path of 50 Mbit/s and 100 ms takes
25 s.

Each of these system calls also takes 1 us of virtual time. If programs at many hosts are busy at once, other hosts
often have events within this microsecond, and the guest must wait until they are processed: with 256 hosts in eight
guests, a frame took 130 us.

A guest takes 34 MB of memory, plus 1.2 MB for each of its hosts. The simulator takes 1.1 MB for each host.

## Programs that compute: NPB

NPB 3.4.1 (NAS Parallel Benchmarks) ran with eight ranks of Open MPI, one on each of eight hosts of one guest. A link
of 1 Gbit/s and 100 us connects each host to a router. Computation takes no virtual time, so the virtual times are
those of the communication. *Verification* is the benchmark's check of its own results. Each benchmark ran twice, with
byte-identical results. The wall times are those of both runs, on two cores that compilers and busy loops also used.

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
