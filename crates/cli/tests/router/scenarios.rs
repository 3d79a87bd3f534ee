//! Scenarios for the router, which is between two hosts.

/// A scenario with `rate` on the link to the right host, and `tables` at its end.
pub(crate) fn scenario(rate: &str, tables: &str) -> String {
    format!(
        r#"
duration = "1 s"
[host.a]
[router.r]
[host.b]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "{rate}"
{tables}"#
    )
}

/// A scenario without a bottleneck.
pub(crate) fn plain() -> String {
    scenario("1 Gbit/s", "")
}
