//! Finding calls, and what errors say.

use super::*;

fn found(method: &Method, path: &str, listener: Listener) -> (Call, Named) {
    let (route, named) = find(method, path, listener).unwrap_or_else(|_| panic!("{method} {path} is a call"));
    (route.call, named)
}

fn refused(method: &Method, path: &str, listener: Listener) -> PlatformError {
    match find(method, path, listener) {
        Err(Unrouted::Refused(error) | Unrouted::Method(_, error)) => error,
        Ok((route, _)) => panic!("{method} {path} is {}", route.path),
    }
}

#[test]
fn every_route_is_found_by_its_own_pattern() {
    for route in ROUTES {
        let listener = match route.on {
            On::Both => Listener::Control,
            On::Only(listener) => listener,
        };
        let path = route.path.replace("{contract..}", "c").replace(['{', '}'], "");
        assert_eq!(found(&route.method, &path, listener).0, route.call, "{path}");
    }
}

#[test]
fn a_contract_may_be_absent_whole_or_escaped() {
    for (path, contract) in [
        ("/v1/invoke/s/f", ""),
        ("/v1/invoke/s/analyze/f", "analyze"),
        ("/v1/invoke/s/example:text-stats/analyze@1.0.0/f", "example:text-stats/analyze@1.0.0"),
        ("/v1/invoke/s/example:text-stats%2Fanalyze@1.0.0/f", "example:text-stats/analyze@1.0.0"),
    ] {
        let (call, mut named) = found(&Method::POST, path, Listener::Invoke);
        assert_eq!(call, Call::Invoke);
        assert_eq!(named.take("service").as_deref(), Some("s"), "{path}");
        assert_eq!(named.take("contract").as_deref(), Some(contract), "{path}");
        assert_eq!(named.take("function").as_deref(), Some("f"), "{path}");
    }
}

#[test]
fn empty_segments_are_no_names() {
    for path in
        ["/v1/invoke/s", "/v1/invoke//f", "/v1/invoke/s/", "/v1/invoke/s//f", "/v1/activations/", "//healthz", ""]
    {
        let method = if path.contains("invoke") { Method::POST } else { Method::GET };
        assert!(refused(&method, path, Listener::Invoke).has_detail("http.path"), "{path}");
    }
}

#[test]
fn a_path_that_is_not_there_is_answered_with_those_that_are() {
    let error = refused(&Method::GET, "/v2/nodes", Listener::Control);
    assert_eq!(error.code(), PlatformErrorCode::NotFound);
    for root in ["/healthz", "/v1/activations", "/v1/invoke", "/v1/usage"] {
        assert!(error.message().contains(root), "{}", error.message());
    }
}

#[test]
fn a_wrong_method_is_answered_with_the_right_ones() {
    let Err(Unrouted::Method(methods, error)) = find(&Method::PATCH, "/v1/tenants/t", Listener::Control) else {
        panic!("there is no PATCH");
    };
    assert_eq!(methods, [Method::PUT, Method::GET, Method::DELETE]);
    assert_eq!(error.message(), "\"/v1/tenants/t\" has no method PATCH; it has PUT, GET, DELETE");
}

#[test]
fn a_call_of_the_other_listener_says_where_it_is() {
    let error = refused(&Method::GET, "/v1/releases", Listener::Invoke);
    assert_eq!(error.code(), PlatformErrorCode::NotFound);
    assert_eq!(error.message(), "/v1/releases is not served here; ask the node's control listener");
    let error = refused(&Method::POST, "/v1/invoke/s/f", Listener::Control);
    assert!(error.message().ends_with("ask the node's invoke listener"), "{}", error.message());
}

#[test]
fn cancel_and_status_are_on_both_listeners() {
    for listener in [Listener::Invoke, Listener::Control] {
        assert_eq!(found(&Method::GET, "/v1/activations/a", listener).0, Call::GetActivation);
        assert_eq!(found(&Method::POST, "/v1/activations/a/cancel", listener).0, Call::Cancel);
        assert_eq!(found(&Method::GET, "/v1/activations/a/events", listener).0, Call::WatchActivation);
    }
}

#[test]
fn head_asks_for_what_get_answers() {
    assert_eq!(found(&Method::HEAD, "/healthz", Listener::Control).0, Call::Health);
}

#[test]
fn names_are_decoded_strictly() {
    let (_, mut named) = found(&Method::GET, "/v1/activations/a%2Fb%20c", Listener::Invoke);
    assert_eq!(named.take("id").as_deref(), Some("a/b c"));
    for path in ["/v1/activations/%00", "/v1/activations/%ff", "/v1/activations/%4"] {
        assert_eq!(refused(&Method::GET, path, Listener::Invoke).code(), PlatformErrorCode::InvalidArgument, "{path}");
    }
}

#[test]
fn a_query_has_known_parameters_once_each() {
    let (route, _) = find(&Method::GET, "/v1/activations", Listener::Invoke).unwrap_or_else(|_| panic!("a call"));
    let mut named = query(route, Some("page_size=3&page_token=a%3D")).expect("well-formed");
    assert_eq!(named.take("page_size").as_deref(), Some("3"));
    assert_eq!(named.take("page_token").as_deref(), Some("a="));
    assert_eq!(query(route, None).expect("none"), Named::default());
    let unknown = query(route, Some("page=3")).expect_err("unknown");
    assert_eq!(
        unknown.message(),
        "GET /v1/activations takes no query parameter \"page\"; it takes page_size, page_token"
    );
    let twice = query(route, Some("page_size=3&page_size=3")).expect_err("twice");
    assert!(twice.message().starts_with("page_size: is there more than once"), "{}", twice.message());
}
