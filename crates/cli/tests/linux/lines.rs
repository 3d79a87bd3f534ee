//! The limits at a host's own side: its line, and its send buffer.

use crate::scenario::{KERNEL, goodput, ground, path, results};

/// A ping to a host that sends bulk data over its own line, the bottleneck of the path.
fn text(host: &str) -> String {
    let line = "rate = \"17 Mbit/s\"\ndelay = \"20 ms\"\nqueue.fifo.bytes = \"236 kB\"";
    let ping = "ping = { every = \"37 ms\", size = \"100 B\" }\nstart = \"2 s\"";
    path(15, host, line, ping) + "[flow.bulk]\nfrom = \"b\"\nto = \"a\"\nstart = \"1 s\"\n"
}

/// A packet of several segments that paid the line's overhead once sent 0.8 % more than the line takes: the queue behind
/// filled up, and a ping took 130 ms.
#[test]
fn a_host_s_own_line_holds_no_more_by_kernel_than_by_model() {
    let Some(ground) = ground("a host whose own line is the bottleneck") else { return };
    let [kernel, model] = [KERNEL, ""].map(|host| {
        let (summary, _) = results(&ground, "run", &text(host));
        let ping = &summary["flow"]["f"]["exchanges"]["response_p50_seconds"];
        (summary["run"]["drops"].clone(), ping.as_f64().expect("exchanges"))
    });
    assert_eq!((&kernel.0, &model.0), (&0.into(), &0.into()), "drops");
    assert!((model.1 / kernel.1 - 1.0).abs() <= 0.03, "kernel {kernel:?}, model {model:?}");
}

/// When the socket's buffer size was set to the size of the data, the kernel doubled it and had 39 % more
/// goodput.
#[test]
fn a_send_buffer_of_a_fixed_size_is_as_much_by_kernel_as_by_model() {
    let Some(ground) = ground("send buffers of a fixed size") else { return };
    let bottleneck =
        "rate = \"62 Mbit/s\"\ndelay = \"37 ms\"\nat.r.queue.fifo.bytes = \"860250 B\"";
    for size in ["150 kB", "300 kB"] {
        let flow = format!("congestion = \"cubic\"\ntcp.buffers.send = \"{size}\"");
        let [kernel, model] = [KERNEL, ""].map(|host| {
            let (summary, _) = results(&ground, "run", &path(10, host, bottleneck, &flow));
            goodput(&summary, "f")
        });
        assert!((model / kernel - 1.0).abs() <= 0.03, "{size}: kernel {kernel}, model {model}");
    }
}
