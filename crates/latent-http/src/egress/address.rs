//! Which addresses guests may reach.
//!
//! Invariant: an address that is not public is reached only if a network of the grant has it, and one that carries an
//! IPv4 address only if that may be reached too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// Whether a request with a grant for `networks` may go to `address`.
///
/// Public addresses always; others if a network has them. An IPv4-mapped address is the IPv4 address that it carries,
/// and counts as in a network that has either form. It is never public. Other addresses that carry an IPv4 address
/// (IPv4-compatible, NAT64, 6to4, Teredo) need a network that has them, and what they carry has to be reachable too.
#[must_use]
pub fn reachable(address: IpAddr, networks: &[IpNet]) -> bool {
    let granted = |address: IpAddr| networks.iter().any(|network| network.contains(&address));
    match address {
        IpAddr::V4(v4) => is_public_v4(v4) || granted(address),
        IpAddr::V6(v6) => match (v6.to_ipv4_mapped(), carried(v6)) {
            (Some(v4), _) => granted(v4.into()) || (granted(address) && reachable(v4.into(), networks)),
            (None, Some(v4)) => granted(address) && reachable(v4.into(), networks),
            (None, None) => is_public_v6(v6) || granted(address),
        },
    }
}

/// Whether anybody's machine may be there: none of the special ranges of IPv4.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        // "This network", which connects to the own host, and loopback.
        [0 | 127, ..] => true,
        // Private networks, shared addresses of carriers, link-local ones with the metadata services.
        [10, ..] | [192, 168, ..] | [169, 254, ..] => true,
        [172, second, ..] => (16..32).contains(&second),
        [100, second, ..] => (64..128).contains(&second),
        // Protocol assignments, documentation, the abandoned relay of 6to4, benchmarks.
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] | [198, 18 | 19, ..] => true,
        // Multicast, reserved, broadcast.
        [224..=255, ..] => true,
        _ => false,
    };
    !special
}

/// Whether anybody's machine may be there. Only 2000::/3 is given out for that, and not all of it.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Protocol assignments with Teredo and benchmarks, documentation, 6to4.
        [0x2001, second, ..] => second >= 0x0200 && second != 0x0db8,
        [0x2002, ..] => false,
        [0x3fff, second, ..] => second >= 0x1000,
        [first, ..] => first >> 13 == 1,
    }
}

/// The IPv4 address that an address of a transition mechanism carries, IPv4-mapped ones left aside. Of NAT64's local
/// prefix, the last 32 bits.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0] if !address.is_unspecified() && !address.is_loopback() => Some(of(g, h)),
        [0x64, 0xff9b, 0, 0, 0, 0] | [0x64, 0xff9b, 1, ..] => Some(of(g, h)),
        [0x2002, high, low, ..] => Some(of(high, low)),
        [0x2001, 0, ..] => Some(of(!g, !h)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
