//! HTTP services as their toolchains make them, unmodified on a whole node: JSON, a body of 40 MiB both ways, and requests of
//! their own, granted and not.
//!
//! That of Rust's crate wasip2 is committed. The three that `latent new` writes are built here, which takes their toolchains
//! and minutes: set `LATENT_EXAMPLES=1`. Of Rust that is the target wasm32-wasip2, or a distribution's rustc with the sources
//! of the standard library.

mod building;
mod client;

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::{Place, Up};
use building::{Toolchain, succeed};
use client::{answer_once, stream_both_ways};

/// More than all buffers between client and guest and the memory of a guest that carries an interpreter, and less than a body,
/// so that a node that held one in either direction would exceed it.
const GROWTH_KIB_MAX: u64 = 24 << 10;
const STREAMED_BYTES: usize = 40 << 20;

#[test]
fn a_handler_with_the_wasip2_crate_streams_and_makes_the_requests_that_are_granted() {
    let place = Place::new();
    place.put("shop.wasm", latent_guests::component("http-probe"));
    let up = place.up(&["shop.wasm"]);
    assert_eq!(up.request("GET /hello", "").body, "hello\n");
    streams(&up);
    requests_only_what_is_granted(&place, &up);
}

#[test]
fn the_rust_service_serves() {
    let place = Place::new();
    if let Some(toolchain) = Toolchain::of_rust() {
        serves(&place, toolchain, "Hello from Rust\n");
    }
}

#[test]
fn the_python_service_serves() {
    let place = Place::new();
    if let Some(toolchain) = Toolchain::of_python() {
        serves(&place, toolchain, "Hello from Python\n");
    }
}

#[test]
fn the_javascript_service_serves_and_an_edit_of_it_answers() {
    let place = Place::new();
    let Some(toolchain) = Toolchain::of_javascript() else { return };
    let mut up = serves(&place, toolchain, "Hello from JavaScript\n");
    let source = place.path("shop/service.js");
    let text = std::fs::read_to_string(&source).expect("it was written");
    assert!(text.contains("Hello from JavaScript"), "{text}");
    std::fs::write(&source, text.replace("Hello from JavaScript", "Good day")).expect("it can be edited");
    toolchain.build(&place);
    up.until("deployed shop.wasm again");
    assert_eq!(up.request("GET /", "").body, "Good day\n");
    let kept = succeed(place.latent(&["deployment", "get", "shop", "main", "--output", "json"]));
    assert!(String::from_utf8_lossy(&kept.stdout).contains("127.0.0.0/8"), "its grant stays: {kept:?}");
}

/// Writes and builds a service, and has it serve.
fn serves(place: &Place, toolchain: Toolchain, greeting: &str) -> Up {
    succeed(place.latent(&["new", "shop", "--lang", toolchain.language()]));
    toolchain.build(place);
    let up = place.up(&["shop.wasm"]);
    assert_eq!(up.request("GET /", "").body, greeting);
    assert_eq!(up.request("GET /nowhere", "").status, 404);
    let sent = json!({ "text": "é\u{1F980}\"", "list": [1, 2.5, null, true], "empty": {} });
    let answer = up.request("POST /json", &sent.to_string());
    let told: Value = serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{error}: {answer:?}"));
    assert_eq!(told, json!({ "method": "POST", "received": sent }));
    assert_eq!(up.request("POST /json", "{").status, 400);
    assert_eq!(up.request("POST /echo", "").body, "");
    assert_eq!(up.request("GET /fetch", "").status, 400);
    streams(&up);
    requests_only_what_is_granted(place, &up);
    up
}

/// The echo gives the first bytes back before it has the last, and the node holds little of them.
#[track_caller]
fn streams(up: &Up) {
    let sent: Vec<u8> = (0..=250).cycle().take(STREAMED_BYTES).collect();
    assert_eq!(up.request("POST /echo", "a small one").body, "a small one");
    let before = up.resident_max_kib(true);
    let came = stream_both_ways(&up.http, "POST /echo", &sent);
    let growth = up.resident_max_kib(false).saturating_sub(before);
    assert!(came == sent, "{} bytes came back of {}, or others", came.len(), sent.len());
    println!("40 MiB both ways: the node grew by {growth} KiB");
    assert!(growth < GROWTH_KIB_MAX, "{growth} KiB");
}

/// A server of this machine is reached when it is granted with its network, and not at all before that.
#[track_caller]
fn requests_only_what_is_granted(place: &Place, up: &Up) {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("it is bound");
    let fetch = format!("GET /fetch?url=http://{address}/any");
    assert_eq!(up.request(&fetch, "").status, 502, "nothing is granted");
    let origin = format!("http://{address}");
    succeed(place.latent(&["deploy", "--service", "shop", "--deployment", "main", "--outgoing", &origin]));
    assert_eq!(up.request(&fetch, "").status, 502, "its address is not public");
    server.set_nonblocking(true).expect("a socket");
    assert!(server.accept().is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock), "somebody came");
    server.set_nonblocking(false).expect("a socket");

    let got = succeed(place.latent(&["deployment", "get", "shop", "main", "--output", "json"]));
    let got: Value = serde_json::from_slice(&got.stdout).expect("one object");
    let mut manifest: Value = serde_json::from_str(got["manifest"].as_str().expect("a manifest")).expect("JSON");
    manifest["outgoing"] = json!([{
        "scheme": "http", "host": "127.0.0.1", "port": address.port(), "networks": ["127.0.0.0/8"],
    }]);
    place.put("granted.json", manifest.to_string());
    succeed(place.latent(&["deploy", "granted.json"]));
    let serving = std::thread::spawn(move || answer_once(&server, "reached"));
    let answer = up.request(&fetch, "");
    assert_eq!((answer.status, &*answer.body), (200, "reached"), "{answer:?}");
    assert_eq!(serving.join().expect("it answered"), "GET /any HTTP/1.1");
}
