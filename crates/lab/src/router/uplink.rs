//! Detects whether an interface is the machine's own uplink: it has an IP address and a default route.

use std::net::IpAddr;
use std::{fs, io};

use nix::ifaddrs::getifaddrs;

/// Whether the interface `name`, in the calling thread's namespace, is an uplink.
pub(super) fn is(name: &str) -> io::Result<bool> {
    let read = |file| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
    let v4 = read("route")?;
    // Without IPv6 there is no such file.
    let v6 = read("ipv6_route").unwrap_or_default();
    Ok((is_default_v4(&v4, name) || is_default_v6(&v6, name)) && has_address(name)?)
}

fn has_address(name: &str) -> io::Result<bool> {
    let addresses = getifaddrs()?.filter(|interface| interface.interface_name == name);
    let mut addresses = addresses.filter_map(|interface| {
        let address = interface.address?;
        let v4 = address.as_sockaddr_in().map(|v4| IpAddr::from(v4.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|v6| IpAddr::from(v6.ip())))
    });
    Ok(addresses.any(|address| match address {
        IpAddr::V4(_) => true,
        // Every interface has a link-local address.
        IpAddr::V6(v6) => !v6.is_unicast_link_local(),
    }))
}

/// Searches lines of `net/route` (proc(5)): interface, destination, gateway, flags, three counters, mask.
fn is_default_v4(routes: &str, name: &str) -> bool {
    routes.lines().skip(1).any(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        matches!(words.as_slice(), [by, "00000000", _, _, _, _, _, "00000000", ..] if *by == name)
    })
}

/// Searches lines of `net/ipv6_route`: destination, prefix length, and so on; the interface is last.
fn is_default_v6(routes: &str, name: &str) -> bool {
    routes.lines().any(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        let any = words.first().is_some_and(|to| to.bytes().all(|digit| digit == b'0'));
        any && words.get(1) == Some(&"00") && words.last() == Some(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_are_distinguished_from_others() {
        let v4 = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                  ens3\t00000000\t010010AC\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                  ens4\t000010AC\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        assert!(is_default_v4(v4, "ens3"));
        assert!(!is_default_v4(v4, "ens4") && !is_default_v4(v4, "ens"));
        let zero = "0".repeat(32);
        let v6 = format!(
            "{zero} 00 {zero} 00 fe800000000000000000000000000001 00000400 1 0 00000003     ens3\n\
             fe800000000000000000000000000000 40 {zero} 00 {zero} 00000100 1 0 00000001     ens4\n"
        );
        assert!(is_default_v6(&v6, "ens3"));
        assert!(!is_default_v6(&v6, "ens4"));
    }
}
