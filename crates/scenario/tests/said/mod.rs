//! A correct scenario, and the messages if something in it is wrong.

use scenario::Document;

/// Two hosts, a router, two links and a flow; line numbers in the cases count from here.
pub(crate) const GOOD: &str = r#"duration = "10 s"
[host.sender]
[host.receiver]
[router.r]
[link.access]
between = ["sender", "r"]
rate = "1 Gbit/s"
[link.wan]
between = ["r", "receiver"]
rate = "100 Mbit/s"
[flow.bulk]
from = "sender"
to = "receiver"
"#;

/// The messages for `GOOD` with `from` replaced by `to`, and `more` appended.
pub(crate) fn said(from: &str, to: &str, more: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1) + more;
    let plan = Document::parse("x.toml", &text).and_then(|document| document.plan());
    plan.map(|_| "nothing".into()).unwrap_or_else(|errors| errors.to_string())
}

/// The messages for `GOOD` with lines added.
pub(crate) fn added(more: &str) -> String {
    said("", "", more)
}
