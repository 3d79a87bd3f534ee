//! Addresses of the members of counted hosts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address `index` after the first.
pub(crate) fn later(first: IpAddr, index: usize) -> Option<IpAddr> {
    Some(match first {
        IpAddr::V4(v4) => {
            Ipv4Addr::from(v4.to_bits().checked_add(u32::try_from(index).ok()?)?).into()
        }
        IpAddr::V6(v6) => Ipv6Addr::from(v6.to_bits().checked_add(index as u128)?).into(),
    })
}
