//! Connections whose first SYNs are lost: when they open, and what counts as a retransmission.

use crate::scenario::{KERNEL, ground, results};

/// Twenty flows that begin while the link is down.
fn text(host: &str) -> String {
    format!(
        "duration = \"9 s\"\n[host.a]\n{host}\n[host.b]\n{host}\n\
         [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"15 ms\"\n\
         at.a.down = {{ at = \"0 s\", lasts = \"4.5 s\" }}\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\ncount = 20\nstagger = \"200 ms\"\nbytes = \"20 kB\"\n"
    )
}

#[test]
fn flows_open_when_the_kernels_do_and_syns_are_no_retransmissions() {
    let Some(ground) = ground("flows that begin while a link is down") else { return };
    let [kernel, model] = [KERNEL, ""].map(|host| {
        let (summary, _) = results(&ground, "run", &text(host));
        assert_eq!(
            (&summary["run"]["retransmissions"], &summary["run"]["timeouts"]),
            (&0.into(), &0.into()),
            "{host}"
        );
        ["fct_p50_seconds", "fct_p99_seconds"]
            .map(|time| summary["group"]["f"]["completion"][time].as_f64().expect("all are done"))
    });
    for (kernel, model) in kernel.into_iter().zip(model) {
        assert!((model / kernel - 1.0).abs() <= 0.005, "kernel {kernel} s, model {model} s");
    }
}
