//! Addresses and networks, row by row.

use super::*;

fn reached(address: &str, networks: &[&str]) -> bool {
    let networks: Vec<IpNet> = networks.iter().map(|network| network.parse().expect(network)).collect();
    reachable(address.parse().expect(address), &networks)
}

/// The first and the last address of each special range, and what lies just beside them.
#[test]
fn special_ranges_are_closed_up_to_their_ends_and_no_further() {
    for (inside, outside) in [
        (["0.0.0.0", "0.255.255.255"], vec!["1.0.0.0"]),
        (["10.0.0.0", "10.255.255.255"], vec!["9.255.255.255", "11.0.0.0"]),
        (["100.64.0.0", "100.127.255.255"], vec!["100.63.255.255", "100.128.0.0"]),
        (["127.0.0.0", "127.255.255.255"], vec!["126.255.255.255", "128.0.0.0"]),
        (["169.254.0.0", "169.254.255.255"], vec!["169.253.255.255", "169.255.0.0"]),
        (["172.16.0.0", "172.31.255.255"], vec!["172.15.255.255", "172.32.0.0"]),
        (["192.0.0.0", "192.0.0.255"], vec!["191.255.255.255", "192.0.1.0"]),
        (["192.0.2.0", "192.0.2.255"], vec!["192.0.3.0"]),
        (["192.88.99.0", "192.88.99.255"], vec!["192.88.98.255", "192.88.100.0"]),
        (["192.168.0.0", "192.168.255.255"], vec!["192.167.255.255", "192.169.0.0"]),
        (["198.18.0.0", "198.19.255.255"], vec!["198.17.255.255", "198.20.0.0"]),
        (["198.51.100.0", "198.51.100.255"], vec!["198.51.99.255", "198.51.101.0"]),
        (["203.0.113.0", "203.0.113.255"], vec!["203.0.112.255", "203.0.114.0"]),
        (["224.0.0.0", "239.255.255.255"], vec!["223.255.255.255"]),
        (["240.0.0.0", "255.255.255.255"], vec![]),
        (["::", "::1"], vec![]),
        (["::ffff:0.0.0.0", "::ffff:255.255.255.255"], vec![]),
        (["64:ff9b::", "64:ff9b::ffff:ffff"], vec![]),
        (["64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"], vec![]),
        (["100::", "100::ffff:ffff:ffff:ffff"], vec![]),
        (["1fff:ffff::", "4000::"], vec!["2000::", "3ffe:ffff::"]),
        (["2001::", "2001:1ff:ffff::"], vec!["2001:200::", "2001:4860:4860::8888"]),
        (["2001:db8::", "2001:db8:ffff::"], vec!["2001:db7::", "2001:db9::"]),
        (["2002::", "2002:ffff:ffff::"], vec!["2003::"]),
        (["3fff::", "3fff:fff:ffff::"], vec!["3fff:1000::"]),
        (["5f00::", "5f00:ffff::"], vec![]),
        (["fc00::", "fdff:ffff::"], vec![]),
        (["fe80::", "febf:ffff::"], vec![]),
        (["fec0::", "feff:ffff::"], vec![]),
        (["ff00::", "ffff:ffff::"], vec![]),
    ] {
        for address in inside {
            assert!(!reached(address, &[]), "{address}");
        }
        for address in outside {
            assert!(reached(address, &[]), "{address}");
        }
    }
}

#[test]
fn a_network_opens_what_it_has_and_nothing_else() {
    for (address, networks, expected) in [
        ("127.0.0.1", &["127.0.0.0/8"][..], true),
        ("127.0.0.1", &["127.0.0.1/32"], true),
        ("127.0.0.2", &["127.0.0.1/32"], false),
        ("169.254.169.254", &["127.0.0.0/8", "10.0.0.0/8"], false),
        ("169.254.169.254", &["169.254.0.0/16"], true),
        ("10.1.2.3", &["10.1.0.0/16"], true),
        ("10.2.0.1", &["10.1.0.0/16"], false),
        ("::1", &["::1/128"], true),
        ("::1", &["127.0.0.0/8"], false),
        ("::", &["::1/128"], false),
        ("fd00::1", &["fd00::/8"], true),
        ("fe80::1", &["fd00::/8"], false),
        ("8.8.8.8", &["127.0.0.0/8"], true),
    ] {
        assert_eq!(reached(address, networks), expected, "{address} in {networks:?}");
    }
}

#[test]
fn an_address_inside_another_is_looked_at_too() {
    for (address, networks, expected) in [
        // Mapped: the IPv4 address itself, but never public.
        ("::ffff:127.0.0.1", &[][..], false),
        ("::ffff:8.8.8.8", &[], false),
        ("::ffff:127.0.0.1", &["127.0.0.0/8"], true),
        ("::ffff:10.0.0.1", &["127.0.0.0/8"], false),
        ("::ffff:127.0.0.1", &["::ffff:0:0/96"], false),
        ("::ffff:8.8.8.8", &["::ffff:0:0/96"], true),
        ("::ffff:169.254.169.254", &["::/0"], false),
        // IPv4-compatible.
        ("::7f00:1", &["::/96"], false),
        ("::7f00:1", &["127.0.0.0/8"], false),
        ("::7f00:1", &["::/96", "127.0.0.0/8"], true),
        // NAT64.
        ("64:ff9b::808:808", &[], false),
        ("64:ff9b::808:808", &["64:ff9b::/96"], true),
        ("64:ff9b::a9fe:a9fe", &["64:ff9b::/96"], false),
        ("64:ff9b::a9fe:a9fe", &["169.254.0.0/16"], false),
        ("64:ff9b::a9fe:a9fe", &["64:ff9b::/96", "169.254.0.0/16"], true),
        ("64:ff9b:1::a00:1", &["64:ff9b:1::/48"], false),
        ("64:ff9b:1::808:808", &["64:ff9b:1::/48"], true),
        // 6to4 carries it in front, Teredo at the end with its bits turned.
        ("2002:7f00:1::1", &["2002::/16"], false),
        ("2002:808:808::1", &["2002::/16"], true),
        ("2001::80ff:fffe", &["2001::/32"], false),
        ("2001::f7f7:f7f7", &["2001::/32"], true),
    ] {
        assert_eq!(reached(address, networks), expected, "{address} in {networks:?}");
    }
}
