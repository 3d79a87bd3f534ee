//! Small messages: the kernel's sockets and the modelled ones carry as many.

use tempfile::TempDir;

use crate::scenario::{KERNEL, ground, path, results};

/// The number of exchanges of `load` completed in 2 s over a round trip of 2 ms, between hosts with the
/// settings `host`.
fn completed(ground: &TempDir, load: &str, host: &str) -> f64 {
    let text = path(2, host, "rate = \"1 Gbit/s\"\ndelay = \"1 ms\"", load);
    let (summary, _) = results(ground, "run", &text);
    summary["flow"]["f"]["exchanges"]["completed"].as_f64().expect("exchanges")
}

#[test]
fn exchanges_of_any_size_go_on_as_with_the_kernel() {
    let Some(ground) = ground("exchanges of small messages with the guest kernel") else { return };
    for (request, response) in [(1, 1), (14, 700), (1_448, 15), (3_000, 4_000)] {
        let load =
            format!("exchange = {{ request = \"{request} B\", response = \"{response} B\" }}");
        let [kernel, model] = [KERNEL, ""].map(|host| completed(&ground, &load, host));
        let apart = (model / kernel - 1.0).abs();
        assert!(apart <= 0.01, "{request} B, {response} B: kernel {kernel}, model {model}");
    }
}
