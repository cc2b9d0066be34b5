//! Who makes requests, and what they can say of themselves.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use http::HeaderMap;
use latent_http::ingress::{Forwarded, IngressConfig, ListenerScheme};
use latent_wire::listener::ListenerConfig;

use super::support::{Answer, Served, h1, hello, served, served_with};

async fn ask(address: SocketAddr, host: &str, lines: &[u8]) -> Answer {
    let head = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    h1(address, [head.as_bytes(), lines, b"\r\n"].concat()).await
}

/// What the next guest sees of the head.
fn sees(served: &Served) -> Arc<Mutex<HeaderMap>> {
    let seen = Arc::new(Mutex::new(HeaderMap::new()));
    let told = seen.clone();
    served.guest(move |parts| {
        *told.lock().unwrap() = parts.request.headers().clone();
        hello(parts)
    });
    seen
}

#[tokio::test]
async fn a_route_with_bearer_takes_a_token_of_its_tenant_and_keeps_it() {
    let served = served();
    let seen = sees(&served);
    let answer = ask(served.address, "u.example", b"authorization: Bearer of-u\r\nx-own: 1\r\n").await;
    assert_eq!(answer.status, 200);
    let headers = seen.lock().unwrap().clone();
    assert!(headers.contains_key("x-own") && !headers.contains_key("authorization"), "{headers:?}");
    served.settles().await;
}

#[tokio::test]
async fn a_nodes_token_is_kept_from_the_guests_of_open_routes_and_what_else_authorizes_is_theirs() {
    let served = served();
    let seen = sees(&served);
    for (value, is_passed_on) in [("Basic YTpi", true), ("Bearer other", true), ("Bearer latent_abc", false)] {
        let answer = ask(served.address, "t.example", format!("authorization: {value}\r\n").as_bytes()).await;
        assert_eq!(answer.status, 200);
        assert_eq!(seen.lock().unwrap().contains_key("authorization"), is_passed_on, "{value}");
    }
    let long = format!("tracestate: {}\r\n", "a=b,".repeat(1000));
    assert_eq!(ask(served.address, "t.example", long.as_bytes()).await.status, 200, "too much to keep is no fault");
    served.settles().await;
}

#[tokio::test]
async fn whatever_is_no_token_of_the_tenant_is_refused_in_the_same_words() {
    let served = served();
    let long = [b"authorization: Bearer ".to_vec(), vec![b'a'; 5000], b"\r\n".to_vec()].concat();
    let mut said = BTreeMap::new();
    for lines in [
        &b""[..],
        b"authorization: Bearer wrong\r\n",
        b"authorization: Bearer of-\r\n",
        b"authorization: Bearer of-u-more\r\n",
        b"authorization: Bearer of-t\r\n",
    ] {
        let answer = ask(served.address, "u.example", lines).await;
        assert_eq!((answer.status, answer.header("www-authenticate")), (401, Some("Bearer")));
        said.insert(answer.body.clone(), answer.text());
        assert!(!answer.text().contains("of-"), "{answer:?}");
    }
    assert_eq!(said.len(), 1, "{said:?}");
    for lines in [
        &b"authorization: Bearer of-u\r\nauthorization: Bearer of-u\r\n"[..],
        b"authorization: Basic of-u\r\n",
        b"authorization: Bearer of-u \xc3\xa4\r\n",
        b"authorization: Bearer\r\n",
        &long,
    ] {
        let answer = ask(served.address, "u.example", lines).await;
        assert_eq!(answer.status, 401, "{answer:?}");
        assert!(!answer.text().contains("of-u"), "{answer:?}");
    }
    let huge = [b"authorization: Bearer ".to_vec(), vec![b'a'; 1 << 20], b"\r\n".to_vec()].concat();
    assert_eq!(ask_torn(&served, &huge).await, 431);
    served.settles().await;
}

/// The status for a head that is refused before it has been read.
async fn ask_torn(served: &Served, lines: &[u8]) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(served.address).await.unwrap();
    let (mut from, mut to) = stream.split();
    let write = async {
        // The other side stops listening in between.
        let _ = to.write_all(&[b"GET / HTTP/1.1\r\nhost: u.example\r\n", lines, b"\r\n"].concat()).await;
    };
    let mut first = [0; 12];
    let read = from.read_exact(&mut first);
    let ((), read) = tokio::join!(write, read);
    read.unwrap();
    std::str::from_utf8(&first[9..]).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_token_without_the_role_is_forbidden() {
    let served = served();
    let answer = ask(served.address, "u.example", b"authorization: Bearer of-u-deploys\r\n").await;
    assert_eq!((answer.status, &*answer.problem("kind")), (403, "access.role-missing"));
    served.settles().await;
}

#[tokio::test]
async fn an_open_route_leaves_credentials_to_the_guest() {
    let served = served();
    let seen = sees(&served);
    let answer = ask(served.address, "t.example", b"authorization: Basic abc\r\ncookie: a=b\r\n").await;
    assert_eq!(answer.status, 200);
    let headers = seen.lock().unwrap().clone();
    assert_eq!(
        (&headers["authorization"], &headers["cookie"]),
        (&"Basic abc".parse().unwrap(), &"a=b".parse().unwrap())
    );
    served.settles().await;
}

const FORGED: &[u8] = b"latent-auth-tenant: u\r\nlatent-principal-subject: root\r\nlatent-activation-id: a\r\n\
    x-forwarded-for: 1.2.3.4\r\nx-forwarded-proto: https\r\nx-forwarded-host: evil\r\nx-forwarded-port: 1\r\n\
    x-real-ip: 1.2.3.4\r\nforwarded: for=1.2.3.4\r\nkeep-alive: 5\r\nupgrade: h2c\r\nte: trailers\r\nproxy-connection: x\r\n";

#[tokio::test]
async fn nothing_that_a_client_writes_passes_for_the_nodes_word() {
    let served = served();
    let seen = sees(&served);
    assert_eq!(ask(served.address, "t.example", FORGED).await.status, 200);
    let headers = seen.lock().unwrap().clone();
    let left: BTreeMap<_, _> = headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
    let expected = [("host", "t.example"), ("x-forwarded-for", "127.0.0.1"), ("x-forwarded-proto", "http")];
    assert_eq!(left, expected.into());
    served.settles().await;
}

#[tokio::test]
async fn a_proxy_that_is_trusted_is_believed_and_added() {
    let trusting = IngressConfig { forwarded: Forwarded::Append, scheme: ListenerScheme::Https, ..Default::default() };
    let served = served_with(ListenerConfig::new(([127, 0, 0, 1], 0).into()), trusting);
    let seen = sees(&served);
    assert_eq!(
        ask(served.address, "t.example", b"x-forwarded-for: 1.2.3.4\r\nx-forwarded-proto: http\r\n").await.status,
        200
    );
    let headers = seen.lock().unwrap().clone();
    let hops: Vec<_> = headers.get_all("x-forwarded-for").iter().collect();
    assert_eq!(hops, ["1.2.3.4", "127.0.0.1"]);
    assert_eq!(headers["x-forwarded-proto"], "http");
    assert_eq!(ask(served.address, "t.example", b"").await.status, 200);
    assert_eq!(seen.lock().unwrap()["x-forwarded-proto"], "https");
    served.settles().await;
}
