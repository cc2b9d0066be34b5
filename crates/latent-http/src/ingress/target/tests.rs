use http::Request;

use super::*;

fn target(method: &str, uri: &str, hosts: &[&[u8]]) -> Result<Target, PlatformError> {
    let mut request = Request::builder().method(method).uri(uri);
    for host in hosts {
        request = request.header(HOST, *host);
    }
    Target::of(&request.body(()).expect("the request is one").into_parts().0)
}

fn part(refused: Result<Target, PlatformError>) -> String {
    let error = refused.expect_err("it is refused");
    assert_eq!(error.code(), PlatformErrorCode::InvalidArgument);
    error.details()[0].field("part").expect("the part is named").to_owned()
}

#[test]
fn a_host_has_one_form_and_no_port() {
    for (named, host) in [
        ("example.com", "example.com"),
        ("EXAMPLE.com.", "example.com"),
        ("example.com:8080", "example.com"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8080", "[::1]"),
        ("[0:0::1]", "[::1]"),
    ] {
        let target = target("GET", "/", &[named.as_bytes()]).expect(named);
        assert_eq!((&*target.host, target.authority.as_str()), (host, named));
    }
}

#[test]
fn whatever_is_not_one_host_is_refused() {
    let hosts: [&[&[u8]]; 13] = [
        &[],
        &[b""],
        &[b"a.example", b"a.example"],
        &[b"a.example", b"b.example"],
        &[b"user@a.example"],
        &[b"a.example:"],
        &[b"a.example:x"],
        &[b"a.example:65536"],
        &[b"a.example:+80"],
        &[b"a..example"],
        &[b"[::1"],
        &[b"a.example, b.example"],
        &[b"a.example\xff"],
    ];
    for hosts in hosts {
        assert_eq!(part(target("GET", "/", hosts)), "host", "{hosts:?}");
    }
}

#[test]
fn an_absolute_uri_names_the_host_and_a_header_may_only_agree() {
    for host in [None, Some(&b"A.example."[..]), Some(b"a.example:80")] {
        assert_eq!(&*target("GET", "http://a.example/x", host.as_slice()).expect("they agree").host, "a.example");
    }
    for host in [&b"b.example"[..], b"a.example:81"] {
        assert_eq!(part(target("GET", "http://a.example/x", &[host])), "host");
    }
    assert_eq!(part(target("GET", "http://user@a.example/", &[])), "host");
    assert_eq!(target("GET", "http://a.example", &[]).expect("no path is the root").path(), "/");
}

#[test]
fn connect_is_refused_and_an_asterisk_is_for_options() {
    assert_eq!(part(target("CONNECT", "a.example:443", &[])), "method");
    assert_eq!(target("OPTIONS", "*", &[b"a.example"]).expect("it is allowed").path(), "/");
    assert_eq!(part(target("GET", "*", &[b"a.example"])), "path");
}

#[test]
fn no_segment_leads_upwards_however_it_is_written() {
    for path in [
        "/..",
        "/../",
        "/a/../b",
        "/a/./b",
        "/.",
        "/a/%2e%2E/b",
        "/a/.%2e",
        "/%2e",
        "/a/..%2fb",
        "/a%2F../b",
        "/a/..%5cb",
        "/a%5C.%2e%5c",
    ] {
        assert_eq!(part(target("GET", path, &[b"a.example"])), "path", "{path}");
    }
    for path in
        ["/", "//", "/...", "/.a", "/a..", "/..a/b", "/%2e%2e%2e", "/%", "/%2", "/a%2fb", "/%zz", "/%252e%252e/"]
    {
        assert_eq!(target("GET", path, &[b"a.example"]).expect(path).path(), path);
    }
}

#[test]
fn a_query_is_not_looked_at() {
    let target = target("GET", "/a?../b", &[b"a.example"]).expect("it is allowed");
    assert_eq!((target.path(), target.path_and_query.as_str()), ("/a", "/a?../b"));
}
