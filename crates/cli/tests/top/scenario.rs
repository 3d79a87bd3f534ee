//! The observed scenario: classes with more load than their rates, and a connection.

use std::path::Path;

/// A scenario that lasts so long, within `folder`; returns its file's name.
pub(crate) fn write(folder: &Path, duration: &str) -> &'static str {
    let text = format!(
        r#"
title = "Classes and a connection"
duration = "{duration}"
[host.a]
[router.r]
[host.b]
[link.in]
between = ["a", "r"]
rate = "100 Mbit/s"
[link.out]
between = ["r", "b"]
rate = "10 Mbit/s"
delay = "5 ms"
[link.out.at.r.queue.cbq]
default = "rest"
[link.out.at.r.queue.cbq.class]
gold = {{ rate = "3 Mbit/s", match = {{ flow = "gold" }} }}
rest = {{ rate = "5 Mbit/s", borrow = true }}
[flow]
gold = {{ from = "a", to = "b", datagrams = {{ rate = "10 Mbit/s" }} }}
bulk = {{ from = "a", to = "b" }}
[probe]
queues.every = "50 ms"
flows.every = "50 ms"
"#
    );
    std::fs::write(folder.join("s.toml"), text).expect("the scenario");
    "s.toml"
}
