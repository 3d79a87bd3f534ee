//! Kernel settings of a network namespace: the files below /proc/sys/net. They belong to the namespace of the thread
//! that opens them.

use std::path::{Path, PathBuf};
use std::{fs, io};

use base::Bytes;

use crate::{Error, Namespace};

/// The maximum sizes of auto-tuned TCP buffers: the last value of `tcp_rmem` and `tcp_wmem`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// The receive buffer's maximum, at most 2 GiB - 1.
    pub receive: Bytes,
    /// The send buffer's maximum, at most 2 GiB - 1.
    pub send: Bytes,
}

/// The settings of a host before it has interfaces, which inherit `default`.
const HOST: [(&str, &str); 8] = [
    // Packets may arrive at another interface than that of the route back.
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    // The metrics of one connection must not influence the next.
    ("net.ipv4.tcp_no_metrics_save", "1"),
    // A scenario's flows have ports from 9000 to 60000 (`scenario::plan::Flow::usual_ports`).
    ("net.ipv4.ip_local_port_range", "61000 65535"),
    // The user `nobody` may run a web server.
    ("net.ipv4.ip_unprivileged_port_start", "0"),
    ("net.ipv6.conf.default.accept_ra", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
    // Addresses come from the plan and are unique: no need to wait a second for duplicate address detection (RFC 4862,
    // 5.4).
    ("net.ipv6.conf.default.accept_dad", "0"),
];

/// Sets `name`, written with dots, to `value` in `namespace`.
pub fn set(namespace: &Namespace, name: &str, value: &str) -> Result<(), Error> {
    try_set(namespace, name, value)?
        .map_err(Error::system(format!("set {name} to {value} in a namespace")))
}

/// Configures a new namespace as a host: TCP without cached metrics and with buffers up to `buffers`, ping for all
/// users, and IPv6 without duplicate address detection and router solicitations. Must be called before its cables are
/// installed.
pub fn prepare_host(namespace: &Namespace, buffers: &Buffers) -> Result<(), Error> {
    let six = has_ipv6();
    for (name, value) in HOST.into_iter().filter(|(name, _)| six || !name.starts_with("net.ipv6."))
    {
        set(namespace, name, value)?;
    }
    set(namespace, "net.ipv4.tcp_rmem", &range(131_072, buffers.receive))?;
    set(namespace, "net.ipv4.tcp_wmem", &range(16_384, buffers.send))?;
    // A user namespace has only the group that is mapped.
    let ping = "net.ipv4.ping_group_range";
    match try_set(namespace, ping, "0 2147483647")? {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => set(namespace, ping, "0 0"),
        result => result.map_err(Error::system(format!("set {ping}"))),
    }
}

/// Sets `name` as [`set`] does. The outer error means that the namespace cannot be entered.
pub(crate) fn try_set(
    namespace: &Namespace,
    name: &str,
    value: &str,
) -> Result<io::Result<()>, Error> {
    namespace.within(|| fs::write(path(name), value))
}

/// The value of `name` in `namespace`.
pub(crate) fn get(namespace: &Namespace, name: &str) -> Result<io::Result<String>, Error> {
    namespace.within(|| fs::read_to_string(path(name)).map(|text| text.trim().to_owned()))
}

/// The file of `name`, written with dots.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new("/proc/sys").join(name.replace('.', "/"))
}

/// Whether this kernel has IPv6.
pub(crate) fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").exists()
}

/// The value of `tcp_rmem` or `tcp_wmem`: the kernel's minimum, `usual`, and `most`.
fn range(usual: u64, most: Bytes) -> String {
    const LEAST: u64 = 4_096;
    let most = most.0.clamp(LEAST, i32::MAX as u64);
    format!("{LEAST} {} {most}", usual.min(most))
}
