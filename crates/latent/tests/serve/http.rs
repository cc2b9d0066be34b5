//! HTTP services on a whole node: what a client sees, and what the record says of it.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Answer, Served, Setup};

/// In this a guest whose client has left is gone, on a busy machine too. The bound of the ingress itself is a tenth.
const INTERRUPTED: Duration = Duration::from_secs(1);
/// After this something does not happen.
const WATCHDOG: Duration = Duration::from_secs(20);

fn probe(more: &Value) -> Value {
    let mut manifest = json!({"service": "probe", "deployment": "main", "http": {"routes": ["*/"]}});
    for (key, value) in more.as_object().expect("an object") {
        manifest[key] = value.clone();
    }
    manifest
}

/// A node with the probe on it.
fn probed(setup: &Setup, more: &Value) -> Served {
    let node = setup.serve();
    node.deploy_as("http-probe", &probe(more));
    node
}

fn get(node: &Served, path: &str) -> Answer {
    node.call(node.http, &format!("GET {path}"), b"")
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// The record of an activation, once it has ended.
#[expect(clippy::disallowed_methods, reason = "a watchdog")]
fn ended(node: &Served, id: &str) -> Value {
    let begun = Instant::now();
    loop {
        let answer = node.call(node.control, &format!("GET /v1/activations/{id}"), b"");
        if answer.json["terminal"]["state"].is_string() || begun.elapsed() > WATCHDOG {
            return answer.json;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_request_is_an_activation_with_its_id_and_its_record() {
    let setup = Setup::new("");
    let node = probed(&setup, &json!({}));
    // A guest that the machine interrupts behind its head goes on while that is sent, without what it used.
    let mut answers = std::iter::repeat_with(|| get(&node, "/hello")).take(100);
    let answer = answers.find(|answer| header(answer, "latent-fuel").is_some()).expect("a short answer has it all");
    assert_eq!((answer.status, header(&answer, "latent-outbound-requests")), (200, None), "{answer:?}");
    let id = header(&answer, "latent-activation-id").expect("an id").to_owned();
    let fuel: u64 = header(&answer, "latent-fuel").expect("it was looked for").parse().expect("a number");
    assert!(fuel > 0);
    let record = ended(&node, &id);
    assert_eq!(
        (record["terminal"]["state"].as_str(), record["activation_id"].as_str()),
        (Some("completed"), Some(&*id)),
        "{record}"
    );
    let sent = vec![b'x'; 300_000];
    let echoed = node.call(node.http, "POST /echo", &sent);
    assert_eq!((echoed.status, echoed.body.matches('x').count()), (200, sent.len()));
}

#[test]
fn each_way_to_fail_has_its_status_and_its_reason() {
    let setup = Setup::new("[limits]\nwall = \"700ms\"\nfuel = 200000000\n");
    let node = probed(&setup, &json!({}));
    let expected = [
        ("/trap-before", 502, "guest-trap"),
        ("/no-response", 502, "guest-trap"),
        ("/sleep?ms=60000", 504, "deadline-exceeded"),
        ("/spin", 507, "resource-exhausted"),
        ("/memory", 507, "resource-exhausted"),
    ];
    for (path, status, code) in expected {
        let answer = get(&node, path);
        assert_eq!((answer.status, answer.json["code"].as_str()), (status, Some(code)), "{path}: {answer:?}");
        assert_eq!(header(&answer, "content-type"), Some("application/problem+json"), "{path}: {answer:?}");
        let id = answer.json["activationId"].as_str().unwrap_or_else(|| panic!("{path}: {answer:?}"));
        assert_eq!(ended(&node, id)["terminal"]["error"]["code"].as_str(), Some(code), "{path}");
    }
    let cut = get(&node, "/spin-after");
    assert_eq!(cut.status, 200, "the head was out: {cut:?}");
    assert!(!cut.body.ends_with("0\r\n\r\n"), "the last chunk is missing: {cut:?}");
    let record = ended(&node, header(&cut, "latent-activation-id").expect("an id"));
    let state = record["terminal"]["state"].as_str();
    assert!(matches!(state, Some("resource-exhausted" | "deadline-exceeded")), "{record}");
    assert_eq!(get(&node, "/hello").status, 200);
}

#[test]
fn hosts_and_tokens_lead_to_their_service_or_nowhere() {
    let setup = Setup::new("");
    let node = probed(&setup, &json!({"http": {"routes": ["node/open"], "authentication": "open"}}));
    let closed = json!({"service": "closed", "deployment": "main",
        "http": {"routes": ["node/"], "authentication": "bearer"}});
    node.deploy_as("http-probe", &closed);
    let ask = |host: &str, path: &str, token: Option<&str>| {
        let mut stream = TcpStream::connect(node.http).unwrap();
        let token = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\n{token}connection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        Answer::of(&answer).status
    };
    assert_eq!(ask("node", "/open/anything", None), 404, "the guest's own: it does not know the path");
    assert_eq!(ask("NODE.:80", "/hello", Some(&node.token)), 200);
    assert_eq!(ask("node", "/hello", None), 401);
    assert_eq!(ask("node", "/hello", Some("latent-no-such-token")), 401);
    assert_eq!(ask("other", "/hello", Some(&node.token)), 404);
    assert_eq!(ask("node", "/open/../hello", None), 400);
    let release = latent_core::Sha256Digest::of(latent_guests::component("http-probe")).to_string();
    let taken =
        json!({"service": "third", "deployment": "main", "release": release, "http": {"routes": ["node/open"]}});
    let answer = node.call(node.control, "POST /v1/deployments", taken.to_string().as_bytes());
    assert_eq!((answer.status, answer.json["code"].as_str()), (409, Some("state-conflict")), "{answer:?}");
}

#[test]
fn weights_choose_a_revision_by_the_activation_id_as_for_calls() {
    let setup = Setup::new("");
    let node = probed(&setup, &json!({"environment": {"COLOUR": "blue"}}));
    node.deploy_as("http-probe", &probe(&json!({"deployment": "green", "environment": {"COLOUR": "green"}})));
    let of = |id: &str| {
        let mut stream = TcpStream::connect(node.http).unwrap();
        let head =
            format!("GET /hello HTTP/1.1\r\nhost: node\r\nlatent-activation-id: {id}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = Answer::of(&answer);
        assert_eq!(answer.status, 200, "{answer:?}");
        header(&answer, "latent-revision").expect("a revision").to_owned()
    };
    let mut seen = std::collections::HashSet::new();
    for id in 0..40 {
        let revision = of(&format!("first-{id}"));
        let resolve = format!(
            "GET /v1/routes/probe/default/resolve?contract=wasi%3Ahttp%2Fincoming-handler&function=handle&\
             activation_id=first-{id}"
        );
        let told = node.call(node.control, &resolve, b"");
        assert_eq!(told.json["revision"]["id"].as_str(), Some(&*revision), "{told:?}");
        seen.insert(revision);
    }
    assert_eq!(seen.len(), 2, "both answer");
}

#[test]
fn a_guest_makes_the_requests_that_it_is_granted_and_no_other() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let answering = std::thread::spawn(move || {
        let (mut stream, _peer) = server.accept().unwrap();
        let mut head = [0; 1024];
        let _some = stream.read(&mut head).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nthere").unwrap();
    });
    let setup = Setup::new("");
    let node = probed(&setup, &json!({}));
    let fetch = format!("/fetch?url=http://127.0.0.1:{port}/");
    let denied = get(&node, &fetch);
    assert!(denied.body.contains("HttpRequestDenied"), "{denied:?}");
    let public = json!({"outgoing": [format!("http://127.0.0.1:{port}")]});
    node.deploy_as("http-probe", &probe(&public));
    let prohibited = get(&node, &fetch);
    assert!(prohibited.body.contains("DestinationIpProhibited"), "{prohibited:?}");
    let granted = json!({"outgoing": [
        {"scheme": "http", "host": "127.0.0.1", "port": port, "networks": ["127.0.0.0/8"]},
    ]});
    node.deploy_as("http-probe", &probe(&granted));
    let answer = get(&node, &fetch);
    assert!(answer.status == 200 && answer.body.contains("there"), "{answer:?}");
    let record = ended(&node, header(&answer, "latent-activation-id").expect("an id"));
    assert_eq!(record["terminal"]["consumption"]["outbound_requests"], "1", "{record}");
    answering.join().unwrap();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what is bounded is the time of another process")]
fn a_client_that_leaves_interrupts_its_guest() {
    let setup = Setup::new("");
    let node = probed(&setup, &json!({}));
    let stream = node.ask(node.http, "GET /sleep?ms=60000", b"");
    let running = || {
        let list = node.call(node.control, "GET /v1/activations", b"").json;
        list["activations"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["phase"] == "running" && one["terminal"].is_null()))
    };
    let begun = Instant::now();
    while !running() {
        assert!(begun.elapsed() < WATCHDOG, "it does not run");
    }
    let left = Instant::now();
    drop(stream);
    while running() {
        assert!(left.elapsed() < INTERRUPTED, "it goes on");
    }
    assert_eq!(get(&node, "/hello").status, 200);
}
