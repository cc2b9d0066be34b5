//! Hosts, paths and grants: what has a form, and what matches what.

use super::*;

#[test]
fn hosts_have_one_form_and_what_is_none_has_no_form() {
    for (text, form) in [
        ("Example.COM", "example.com"),
        ("example.com.", "example.com"),
        ("127.0.0.1", "127.0.0.1"),
        ("[::0001]", "[::1]"),
        ("under_score", "under_score"),
    ] {
        assert_eq!(canonical_host(text).as_deref(), Some(form), "{text}");
    }
    let long = "a.".repeat(127) + "aa";
    for text in ["", ".", "a..b", "a:80", "u@a", "[::1", "::1", "a b", "ä.de", "a/b", "*.a", &long, &"a".repeat(64)] {
        assert_eq!(canonical_host(text), None, "{text}");
    }
}

#[test]
fn an_address_has_one_spelling_and_no_hosts_below_it() {
    for text in ["127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "a.0x7F", "1.2.3.4.5"] {
        assert_eq!(canonical_host(text), None, "{text}");
    }
    for text in ["*.0.0.1", "*.1", "*.127.0.0.1"] {
        assert_eq!(HostPattern::parse(text), None, "{text}");
    }
    assert_eq!(canonical_host("1.example.0xy").as_deref(), Some("1.example.0xy"));
}

#[test]
fn patterns_match_whole_labels() {
    let under = HostPattern::parse("*.Example.com").unwrap();
    assert!(under.matches("a.example.com") && under.matches("a.b.example.com"));
    for host in ["example.com", "aexample.com", ".example.com", "example.com.evil"] {
        assert!(!under.matches(host), "{host}");
    }
    let exact = HostPattern::parse("example.com").unwrap();
    assert!(exact.matches("example.com") && !exact.matches("a.example.com"));
    assert!(HostPattern::parse("*").unwrap().matches("anything"));
    for text in ["*.", "**", "*a", "*.*.a", "a.*", "*.[::1]", ""] {
        assert_eq!(HostPattern::parse(text), None, "{text}");
    }
}

#[test]
fn prefixes_match_whole_segments() {
    let route = |path: &str| HttpRoute { host: HostPattern::Any, path: path.into() };
    assert!(route("/").covers("/") && route("/").covers("/a/b"));
    assert!(route("/a").covers("/a") && route("/a").covers("/a/") && route("/a").covers("/a/b"));
    assert!(!route("/a").covers("/ab") && !route("/a").covers("/") && !route("/a/b").covers("/a"));
}

#[test]
fn a_grant_without_a_port_is_for_that_of_its_scheme() {
    let grant =
        |port| OutgoingGrant { scheme: OutgoingScheme::Https, host: HostPattern::Any, port, networks: Box::default() };
    assert!(grant(None).covers(OutgoingScheme::Https, "a", 443));
    assert!(!grant(None).covers(OutgoingScheme::Https, "a", 8443));
    assert!(grant(Some(8443)).covers(OutgoingScheme::Https, "a", 8443));
    assert!(!grant(None).covers(OutgoingScheme::Http, "a", 443));
}

#[test]
fn a_prefix_has_one_form_and_what_is_none_has_no_form() {
    for (text, form) in [("/", "/"), ("/a", "/a"), ("/a/", "/a"), ("/a/b.c/~d", "/a/b.c/~d"), ("/.a/..b", "/.a/..b")] {
        assert_eq!(canonical_prefix(text).as_deref(), Some(form), "{text}");
    }
    let longest = format!("/{}", "a".repeat(ROUTE_PATH_BYTES_MAX - 1));
    assert_eq!(canonical_prefix(&longest).as_deref(), Some(&*longest));
    let long = format!("{longest}a");
    let deepest = "/a".repeat(ROUTE_SEGMENTS_MAX);
    assert_eq!(canonical_prefix(&deepest).as_deref(), Some(&*deepest));
    assert_eq!(canonical_prefix(&format!("{deepest}/a")), None);
    for text in [
        "", "a", "a/b", "//", "/a//b", "/a//", "/.", "/..", "/a/../b", "/a?b", "/a#b", "/a%20b", "/a b", "/\u{e9}",
        "/a\\b", "/a\nb", &long,
    ] {
        assert_eq!(canonical_prefix(text), None, "{text}");
    }
}

#[test]
fn a_route_is_read_from_host_and_path_or_either() {
    for (text, shown) in [
        ("api.Example.com/v1/", "api.example.com/v1"),
        ("api.example.com", "api.example.com/"),
        ("*.example.com/a/b", "*.example.com/a/b"),
        ("/", "*/"),
        ("/a", "*/a"),
        ("*/a", "*/a"),
        ("[::1]/a", "[::1]/a"),
    ] {
        let route = HttpRoute::parse(text).unwrap();
        assert_eq!(route.to_string(), shown, "{text}");
        assert_eq!(HttpRoute::parse(shown), Some(route), "{shown}");
    }
    for text in ["", "a:80/b", "https://a/b", "a//", "a/..", "*.*/a", "a b/c"] {
        assert_eq!(HttpRoute::parse(text), None, "{text}");
    }
}

#[test]
fn a_path_that_is_written_differently_is_the_same_path() {
    let route = HttpRoute::parse("/admin/a").unwrap();
    for path in ["/%61dmin/a", "/admin/%61/b", "/%61%64min/a?".trim_end_matches('?')] {
        assert!(route.covers(path), "{path}");
    }
    for path in ["/admin%2Fa", "/admin/%6", "/admin/%zz", "/admin/%ff", "/%2561dmin/a", "admin/a", "/admin//a", "*", ""]
    {
        assert!(!route.covers(path), "{path}");
    }
    let segments = |path| path_segments(path).map(Cow::into_owned).collect::<Vec<_>>();
    assert_eq!(segments("/a/%2e%2E//%C3%A9"), ["a", "..", "", "\u{e9}"]);
    assert!(segments("/").is_empty() && segments("*").is_empty());
    assert_eq!(segments("/%ff/%+1/%e"), ["%ff", "%+1", "%e"], "what stands for no text stays");
}

#[test]
fn a_grant_is_read_from_scheme_host_and_port() {
    for (text, shown) in [
        ("https://Api.example.com", "https://api.example.com"),
        ("https://api.example.com:443", "https://api.example.com"),
        ("http://api.example.com:443", "http://api.example.com:443"),
        ("http://*:80", "http://*"),
        ("https://*.example.com:8443", "https://*.example.com:8443"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://[::1]", "http://[::1]"),
    ] {
        let grant = OutgoingGrant::parse(text).unwrap();
        assert_eq!(grant.to_string(), shown, "{text}");
        assert_eq!(OutgoingGrant::parse(shown), Some(grant), "{shown}");
    }
    for text in [
        "",
        "a",
        "ftp://a",
        "https://",
        "https://a/",
        "https://a/b",
        "https://a:0",
        "https://a:65536",
        "https://a:",
        "https://a:+1",
        "https://u@a",
        "HTTPS://a",
        "https://a:1:2",
    ] {
        assert_eq!(OutgoingGrant::parse(text), None, "{text}");
    }
}
