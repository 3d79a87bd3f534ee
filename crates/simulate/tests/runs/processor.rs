//! The CPU time of a host's operations, and the operations that wait for it (paper 3).

use network::host::{Operation, Times};
use record::Totals;

use crate::driver;

/// 4 MiB from memory to memory over 622 Mbit/s, a segment for each 16 KiB, with `sender` and `receiver` in their hosts' tables.
fn run(sender: &str, receiver: &str, bytes: &str) -> Totals {
    let text = format!(
        r#"
        duration = "10 s"
        [host.sender]
        profile = "freebsd-2.2.8"
        {sender}
        [host.receiver]
        profile = "freebsd-2.2.8"
        {receiver}
        [link.wire]
        between = ["sender", "receiver"]
        rate = "622 Mbit/s"
        delay = "10 us"
        mtu = "16436 B"
        [flow.f]
        from = "sender"
        to = "receiver"
        bytes = "{bytes}"
        tcp = {{ segment.mtu = "16436 B", buffers = {{ send = "256 KiB", receive = "256 KiB" }} }}
        receiver_tcp = {{ segment.mtu = "16436 B", buffers = {{ send = "256 KiB", receive = "256 KiB" }}, ack.every = 1 }}
        "#
    );
    driver::totals(&driver::plan(&text))
}

/// Machine 1 of paper 3, with a system call for each 16 KiB.
fn xeon(more: &str) -> String {
    format!("processor = {{ machine = \"pentium-iii-xeon-550\", call_size = \"16 KiB\"{more} }}")
}

fn times(totals: &Totals, node: usize) -> Times {
    totals.nodes[node].processor.expect("a processor").times
}

fn us(totals: &Totals, node: usize, operation: Operation) -> f64 {
    times(totals, node).of(operation).as_secs_f64() * 1e6
}

/// The time of the transfer, in microseconds.
fn took(totals: &Totals) -> f64 {
    let flow = &totals.flows[0];
    assert!(flow.completed);
    flow.end.since(flow.start).as_secs_f64() * 1e6
}

fn assert_near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.01, "{value} where {expected} is expected");
}

#[test]
fn operations_take_what_table_2_and_3_say() {
    use Operation as O;
    let totals = run(&xeon(""), &xeon(""), "4 MiB");
    let copy = 4.0 / 180.32 * 1e6;
    for (node, operation) in [(0, O::CopyFileToBuffer), (0, O::CopyToSocket)] {
        assert_near(us(&totals, node, operation), copy);
    }
    for operation in [O::CopyFromSocket, O::CopyBufferToFile] {
        assert_near(us(&totals, 1, operation), copy);
    }
    // 258 segments of each host: 256 of 16 KiB, and those that open and close the connection.
    let instructions = |count: f64| count * 258.0 / (550.0 * 1.048_576);
    for node in [0, 1] {
        assert_near(us(&totals, node, O::Checksum), 4.0 / 383.12 * 1e6);
        assert_near(us(&totals, node, O::TcpOutput), instructions(235.0));
        assert_near(us(&totals, node, O::IpOutput), instructions(61.0));
        assert_near(us(&totals, node, O::IpInput), instructions(57.0));
    }
    assert_near(us(&totals, 0, O::TcpInputAck), instructions(213.0));
    assert_near(us(&totals, 1, O::TcpInputData), instructions(186.0));
    // The sender is busy from the first byte to the last but one segment: its work is what the transfer takes.
    let work = times(&totals, 0).total().as_secs_f64() * 1e6;
    assert!(took(&totals) > work * 0.99 && took(&totals) < work * 1.03, "{}", took(&totals));
}

#[test]
fn the_direct_path_is_the_copy_to_the_buffer_less() {
    let [copy, direct] = ["", ", data = \"direct\""].map(|data| run(&xeon(data), "", "4 MiB"));
    assert_eq!(us(&direct, 0, Operation::CopyFileToBuffer), 0.0);
    let saved = times(&copy, 0).total().as_secs_f64() - times(&direct, 0).total().as_secs_f64();
    assert_near(saved * 1e6, us(&copy, 0, Operation::CopyFileToBuffer));
    // What is left of the sender's work is less than the wire takes.
    assert_near(took(&direct), 256.0 * (16_384.0 + 70.0 + 20.0) * 8.0 / 622.0);
}

/// For one segment, no steps overlap: copies, output, the wire, input, copies.
#[test]
fn one_segment_takes_the_sum_of_all_that_is_done_for_it() {
    let ideal = took(&run("", "", "16 KiB"));
    let costs = ", system_call = \"7 us\", wakeup = \"11 us\"";
    let totals = run(&xeon(costs), &xeon(costs), "16 KiB");
    let copy = 16_384.0 / (180.32 * 1.048_576);
    let read = 16_384.0 / (383.12 * 1.048_576);
    // The receiver's last copy ends when the file has all; each end makes two calls and is woken once, one by the
    // connection and one by the data. Segments without data take 4 us together.
    let expected = ideal + 4.0 * copy + 2.0 * read + 4.0 * 7.0 + 2.0 * 11.0;
    assert!((took(&totals) - expected).abs() < 6.0, "{} {expected}", took(&totals));
}

#[test]
fn a_machine_without_costs_is_none() {
    let none = run("", "", "4 MiB");
    let ideal = run("processor.machine = \"ideal\"", "processor.machine = \"ideal\"", "4 MiB");
    assert_eq!(took(&none), took(&ideal));
    assert!(ideal.nodes[0].processor.is_none());
}

#[test]
fn a_slow_reader_closes_the_window() {
    let slow = run("", &xeon(", memory_copy = \"4 MB/s\", data = \"memory\""), "1 MiB");
    let copies = 1_048_576.0 / 4.0;
    assert!(took(&slow) > copies && took(&slow) < copies * 1.05, "{}", took(&slow));
    // The FIN may find the window full; only the FIN is retransmitted.
    assert_eq!(slow.flows[0].sender.get().bytes_retransmitted, 0);
}

#[test]
fn moderated_interrupts_come_so_often_at_most() {
    let interrupts = |interval: &str| {
        let more = format!(", interrupt = \"1 us\", interrupt_interval = \"{interval}\"");
        us(&run(&xeon(&more), "", "4 MiB"), 0, Operation::Interrupt)
    };
    let [each, few] = ["1 ns", "1 ms"].map(interrupts);
    assert!((255.0..265.0).contains(&each), "one for each ACK: {each}");
    assert!((30.0..60.0).contains(&few), "one a millisecond: {few}");
}
