//! What the router is given: scenarios in which it stands between two hosts.

/// One whose link to the right host has this rate, with more tables at its end.
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

/// One that keeps nobody up.
pub(crate) fn plain() -> String {
    scenario("1 Gbit/s", "")
}
