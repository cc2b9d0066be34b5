//! Which addresses guests may reach.
//!
//! Invariant: an address that is not public is reached only if a network of the grant has it, and one that carries an
//! IPv4 address only if that may be reached too.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// Networks in which nobody's public machine is.
const SPECIAL_V4: [Ipv4Net; 15] = [
    // "This network", which connects to the own host, and loopback.
    v4(0, 0, 0, 8),
    v4(127, 0, 0, 8),
    // Private networks, shared addresses of carriers, link-local ones with the metadata services.
    v4(10, 0, 0, 8),
    v4(172, 16, 0, 12),
    v4(192, 168, 0, 16),
    v4(100, 64, 0, 10),
    v4(169, 254, 0, 16),
    // Protocol assignments, the abandoned relay of 6to4, benchmarks.
    v4(192, 0, 0, 24),
    v4(192, 88, 99, 24),
    v4(198, 18, 0, 15),
    // Documentation.
    v4(192, 0, 2, 24),
    v4(198, 51, 100, 24),
    v4(203, 0, 113, 24),
    // Multicast, and what is reserved, with the broadcast address.
    v4(224, 0, 0, 4),
    v4(240, 0, 0, 4),
];
/// The only IPv6 addresses that are given out for public machines,
const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 3);
/// and what of them is not.
const SPECIAL_V6: [Ipv6Net; 4] = [
    // Protocol assignments, Teredo and benchmarks among them.
    v6(0x2001, 0, 23),
    // Documentation.
    v6(0x2001, 0xdb8, 32),
    v6(0x3fff, 0, 20),
    // 6to4.
    v6(0x2002, 0, 16),
];

const fn v4(first: u8, second: u8, third: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(first, second, third, 0), bits)
}

const fn v6(first: u16, second: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), bits)
}

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

/// Whether anybody's machine may be there.
fn is_public_v4(address: Ipv4Addr) -> bool {
    !SPECIAL_V4.iter().any(|network| network.contains(&address))
}

/// Whether anybody's machine may be there.
fn is_public_v6(address: Ipv6Addr) -> bool {
    GLOBAL_V6.contains(&address) && !SPECIAL_V6.iter().any(|network| network.contains(&address))
}

/// The IPv4 address that an address of a transition mechanism carries, IPv4-mapped ones left aside. Of NAT64's local
/// prefix, the last 32 bits.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let of = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, high, low] if (high, low) > (0, 1) => Some(of(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x64, 0xff9b, 1, .., high, low] | [0x2002, high, low, ..] => {
            Some(of(high, low))
        }
        [0x2001, 0, .., high, low] => Some(of(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
