//! Spellings of destinations.

use latent_core::http::HostPattern;

use super::*;

fn grant(scheme: OutgoingScheme, host: &str, port: Option<u16>, networks: &[&str]) -> OutgoingGrant {
    OutgoingGrant {
        scheme,
        host: HostPattern::parse(host).expect(host),
        port,
        networks: networks.iter().map(|network| network.parse().expect(network)).collect(),
    }
}

fn everything() -> [OutgoingGrant; 2] {
    [OutgoingScheme::Http, OutgoingScheme::Https].map(|scheme| grant(scheme, "*", None, &[]))
}

fn of(uri: &str, grants: &[OutgoingGrant]) -> Result<Target, OutgoingError> {
    Target::of(&uri.parse().expect(uri), grants)
}

#[test]
fn an_address_has_one_spelling() {
    for (uri, address) in [
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://127.0.0.1./", "127.0.0.1"),
        ("http://[::1]/", "::1"),
        ("http://[0:0::0:1]/", "::1"),
        ("http://[::FFFF:127.0.0.1]/", "::ffff:127.0.0.1"),
    ] {
        let target = of(uri, &everything()).expect(uri);
        assert_eq!(target.place, Place::Address(address.parse().expect(address)), "{uri}");
    }
    for host in [
        "2130706433",
        "0x7f000001",
        "0X7F000001",
        "017700000001",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "0x7f.0.0.1",
        "127.0.0.0x1",
        "127.0.0.1.1",
        "256.1.1.1",
        "127.0.0.0x",
        "1.2.3.4.5",
        "a.1",
        "a.0xff",
        "0",
    ] {
        assert_eq!(of(&format!("http://{host}/"), &everything()), Err(OutgoingError::UriInvalid), "{host}");
    }
}

#[test]
fn names_have_one_form() {
    for (uri, name) in [
        ("http://Example.COM/", "example.com"),
        ("http://example.com./", "example.com"),
        ("http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("http://1.2.3.4.nip.example/", "1.2.3.4.nip.example"),
        ("http://0xyz/", "0xyz"),
        ("http://1a/", "1a"),
    ] {
        let target = of(uri, &everything()).expect(uri);
        assert_eq!(target.place, Place::Name(name.into()), "{uri}");
        assert_eq!(target.authority.as_str(), name, "{uri}");
    }
}

#[test]
fn what_is_no_host_or_port_is_refused() {
    for uri in [
        "/only-a-path",
        "http://user@example.com/",
        "http://user:word@example.com/",
        "http://granted.example@169.254.169.254/",
        "http://example.com:/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:99999999999/",
        "http://a..b/",
        "http://[fe80::1%25eth0]/",
    ] {
        assert_eq!(of(uri, &everything()), Err(OutgoingError::UriInvalid), "{uri}");
    }
    for uri in ["ftp://example.com/", "ws://example.com/", "gopher://example.com/"] {
        assert_eq!(of(uri, &everything()), Err(OutgoingError::Unsupported), "{uri}");
    }
}

#[test]
fn scheme_host_and_port_are_granted_together() {
    let grants = [
        grant(OutgoingScheme::Https, "api.example.com", None, &[]),
        grant(OutgoingScheme::Http, "*.internal", Some(8080), &["10.0.0.0/8"]),
    ];
    for (uri, granted) in [
        ("https://api.example.com/", true),
        ("https://API.example.com.:443/", true),
        ("https://api.example.com:0443/", true),
        ("http://api.example.com/", false),
        ("https://api.example.com:8443/", false),
        ("https://api.example.com.evil.example/", false),
        ("https://xapi.example.com/", false),
        ("http://a.internal:8080/", true),
        ("http://a.internal/", false),
        ("http://internal:8080/", false),
    ] {
        let expected = if granted { None } else { Some(OutgoingError::Denied) };
        assert_eq!(of(uri, &grants).err(), expected, "{uri}");
    }
    assert_eq!(of("http://a.internal:8080/", &[]), Err(OutgoingError::Denied));
}

#[test]
fn the_networks_are_those_of_the_grants_that_cover_the_request() {
    let grants = [
        grant(OutgoingScheme::Http, "*", None, &["10.0.0.0/8"]),
        grant(OutgoingScheme::Http, "a", None, &["127.0.0.0/8"]),
        grant(OutgoingScheme::Http, "b", None, &["192.168.0.0/16"]),
    ];
    let networks = of("http://a/", &grants).expect("granted").networks;
    assert_eq!(networks.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.0/8", "127.0.0.0/8"]);
}
