//! What a client makes of addresses, tokens, errors and times.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use latent_core::PlatformErrorCode;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use super::times::{from_duration, from_timestamp, to_duration, to_timestamp};
use super::*;
use crate::grpc::carrying;
use crate::proto;
use crate::proto::publish_request::Part;

const TOKEN: &str = "latent_c2VjcmV0";

fn target(url: &str) -> Target {
    Target {
        invoke: url.to_owned(),
        control: url.to_owned(),
        token: Some(Token::parse(TOKEN).expect("a token")),
        tls: Tls::default(),
        connect_timeout: CONNECT_TIMEOUT,
    }
}

fn refused(target: Target) -> String {
    Client::connect(target).expect_err("the target cannot be used").to_string()
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_told_with_the_reason() {
    for (url, reason) in [
        ("not a url", "it is no URL"),
        ("http://", "it is no URL"),
        ("127.0.0.1:7070", "expected"),
        ("ftp://localhost:1", "expected http:// or https://"),
        ("http://localhost:1/v1", "nothing else"),
        ("http://localhost:1/?a=b", "nothing else"),
        ("https://localhost:1", "the authority to trust"),
    ] {
        let sentence = refused(target(url));
        assert!(sentence.contains(url) && sentence.contains(reason), "{sentence}");
    }
}

#[tokio::test]
async fn certificates_without_https_and_certificates_that_are_none_are_refused() {
    let none = b"not pem".to_vec();
    let authority = Tls { authority: Some(none.clone()), identity: None };
    assert!(refused(Target { tls: authority.clone(), ..target("http://localhost:1") }).contains("https alone"));
    let sentence = refused(Target { tls: authority, ..target("https://localhost:1") });
    assert!(sentence.contains("authority") && sentence.contains("PEM"), "{sentence}");
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (pem, key) = (own.cert.pem().into_bytes(), own.signing_key.serialize_pem().into_bytes());
    for (identity, named) in [((none.clone(), key), "own certificate"), ((pem.clone(), none), "key")] {
        let tls = Tls { authority: Some(pem.clone()), identity: Some(identity) };
        let sentence = refused(Target { tls, ..target("https://localhost:1") });
        assert!(sentence.contains(named) && sentence.contains("PEM"), "{sentence}");
    }
}

#[test]
fn a_token_is_trimmed_checked_and_never_shown() {
    assert!(Token::parse(&format!("{TOKEN}\n")).is_ok());
    for bad in ["", " \n", "two words", "grüße", "a\u{0}b", &"x".repeat(4097)] {
        let reason = Token::parse(bad).expect_err("it is no token");
        assert!(bad.is_empty() || !reason.contains(bad.trim()) || bad.trim().is_empty(), "{reason}");
    }
    let shown = format!("{:?}", target("http://localhost:1"));
    assert!(!shown.contains(TOKEN) && !shown.contains("c2Vj"), "{shown}");
}

#[test]
fn the_nodes_error_is_decoded_whole() {
    let message = proto::Error {
        code: "resource-exhausted".to_owned(),
        message: "fuel is used up".to_owned(),
        retryable: true,
        details: vec![proto::ErrorDetail {
            kind: "activation.fuel-exhausted".to_owned(),
            fields: vec![proto::Field { name: "limit".to_owned(), value: "7".to_owned() }],
        }],
        activation_id: "a-1".to_owned(),
        revision: "beef".to_owned(),
        consumption: Some(proto::Consumption { fuel: 7, ..Default::default() }),
    };
    let status = carrying(Code::ResourceExhausted, "told otherwise", message, MetadataMap::new());
    let CallError::Node(node) = CallError::of(&status) else { panic!("it is the node's") };
    assert_eq!(node.error.code(), PlatformErrorCode::ResourceExhausted);
    assert_eq!((node.error.message(), node.error.is_retryable()), ("fuel is used up", true));
    let detail = &node.error.details()[0];
    assert_eq!((detail.kind(), detail.field("limit")), ("activation.fuel-exhausted", Some("7")));
    assert_eq!((node.activation_id.as_deref(), node.revision.as_deref()), (Some("a-1"), Some("beef")));
    assert_eq!(node.consumption.map(|used| used.fuel), Some(7));
}

#[test]
fn an_answer_without_an_error_that_is_known_is_the_transports() {
    let unknown = proto::Error { code: "moon-phase".to_owned(), ..Default::default() };
    for status in [
        Status::new(Code::Unimplemented, "no such call"),
        carrying(Code::Unimplemented, "no such call", unknown, MetadataMap::new()),
        Status::with_details(Code::Unimplemented, "no such call", Bytes::from_static(b"\xff\xff")),
    ] {
        let CallError::Transport(sentence) = CallError::of(&status) else { panic!("{status:?}") };
        assert!(sentence.contains("Unimplemented") && sentence.contains("no such call"), "{sentence}");
    }
}

#[tokio::test]
async fn where_nobody_listens_the_node_is_unreachable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("it is bound");
    drop(free);
    let client = Client::connect(target(&format!("http://{address}"))).expect("a target");
    let error = client.get_inventory(proto::GetInventoryRequest {}).await.expect_err("nobody listens");
    let CallError::Unreachable(reason) = error else { panic!("{error:?}") };
    assert!(reason.to_lowercase().contains("refused"), "{reason}");
}

#[tokio::test]
async fn what_hangs_up_is_the_transports() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    let hangs_up = tokio::spawn(async move { drop(listener.accept().await) });
    let client = Client::connect(target(&format!("http://{address}"))).expect("a target");
    let error = client.get_inventory(proto::GetInventoryRequest {}).await.expect_err("it hangs up");
    assert!(matches!(error, CallError::Transport(_)), "{error:?}");
    hangs_up.await.expect("it ends");
}

#[test]
fn a_component_goes_in_order_in_parts_of_bounded_size() {
    let component: Bytes = (0..=255).cycle().take(CHUNK_BYTES * 2 + 1).collect::<Vec<u8>>().into();
    let (told, telling) = std::sync::mpsc::channel();
    let head = proto::PublishHead { manifest: "{}".to_owned(), ..Default::default() };
    let parts: Vec<_> = publish::parts(head, component.clone(), move |sent| told.send(sent).expect("heard"))
        .map(|request| request.part.expect("every message has a part"))
        .collect();
    let Part::Head(head) = &parts[0] else { panic!("the head comes first") };
    assert_eq!((head.manifest.as_str(), head.size), ("{}", component.len() as u64));
    let chunks = parts[1..].iter().map(|part| match part {
        Part::Chunk(chunk) => chunk.clone(),
        Part::Head(_) => panic!("there is one head"),
    });
    assert_eq!(chunks.clone().map(|chunk| chunk.len()).collect::<Vec<_>>(), [CHUNK_BYTES, CHUNK_BYTES, 1]);
    assert_eq!(chunks.flatten().collect::<Vec<u8>>(), component);
    let sent: Vec<usize> = telling.iter().map(|sent| usize::try_from(sent).expect("small")).collect();
    assert_eq!(sent, [CHUNK_BYTES, 2 * CHUNK_BYTES, 2 * CHUNK_BYTES + 1]);
}

#[test]
fn times_come_back_as_they_went() {
    for time in [Duration::ZERO, Duration::from_nanos(1), Duration::new(5, 999_999_999)] {
        assert_eq!(from_duration(&to_duration(time)), time);
        let wall = SystemTime::UNIX_EPOCH + time;
        assert_eq!(from_timestamp(&to_timestamp(wall)), Some(wall));
    }
    assert_eq!(to_duration(Duration::MAX).seconds, i64::MAX);
    assert_eq!(from_duration(&times::WireDuration { seconds: -1, nanos: 5 }), Duration::ZERO);
    assert_eq!(from_timestamp(&times::WireTimestamp { seconds: -1, nanos: 5 }), None);
}

#[test]
fn json_has_the_names_of_the_proto() {
    let use_now = proto::TenantUse { live: 1, disk_bytes: 2, ..Default::default() };
    assert_eq!(serde_json::to_string(&use_now).expect("it has a JSON form"), r#"{"live":"1","disk_bytes":"2"}"#);
}

mod served;
