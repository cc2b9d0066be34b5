//! What a guest can set, and what it cannot.

use http::Response;

use super::support::{body_of, h1, request, returned, served};

const CLOSE: &str = "connection: close";

#[tokio::test]
async fn headers_of_the_connection_and_of_the_node_are_not_the_guests() {
    let served = served();
    served.guest(|parts| async move {
        let head = Response::builder()
            .header("connection", "keep-alive, x-hop")
            .header("x-hop", "1")
            .header("keep-alive", "timeout=100")
            .header("transfer-encoding", "gzip")
            .header("upgrade", "websocket")
            .header("latent-activation-id", "forged")
            .header("latent-outcome", "forged")
            .header("set-cookie", "a=1")
            .header("set-cookie", "b=2")
            .header("x-bytes", http::HeaderValue::from_bytes(b"\xff\xfe").unwrap());
        let _ = parts.response.send(head.body(body_of("x")).unwrap());
        returned()
    });
    let mut stream =
        super::support::raw(served.address, request("GET", "/", &[CLOSE, "latent-activation-id: mine"])).await;
    let all = super::support::until_closed(&mut stream).await;
    let text = String::from_utf8_lossy(&all);
    for gone in ["x-hop", "keep-alive", "gzip", "upgrade", "forged", "latent-outcome"] {
        assert!(!text.contains(gone), "{gone}: {text}");
    }
    assert!(text.contains("latent-activation-id: mine") && text.matches("set-cookie: ").count() == 2, "{text}");
    assert!(all.windows(11).any(|bytes| bytes == b"x-bytes: \xff\xfe"), "{text}");
    served.settles().await;
}

#[tokio::test]
async fn any_final_status_is_sent_and_no_other() {
    let served = served();
    for (status, answered) in [(200, 200), (418, 418), (600, 600), (999, 999), (100, 502), (101, 502), (199, 502)] {
        served.guest(move |parts| async move {
            let _ = parts.response.send(Response::builder().status(status).body(body_of("x")).unwrap());
            returned()
        });
        let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
        assert_eq!(answer.status, answered);
        if answered == 502 {
            assert_eq!(answer.problem("kind"), "http.response-head");
        }
    }
    served.settles().await;
}

#[tokio::test]
async fn a_length_that_is_none_is_no_head() {
    let served = served();
    for length in ["", "-1", "+1", "1, 1", "0x1", "99999999999999999999999"] {
        served.guest(move |parts| async move {
            let _ =
                parts.response.send(Response::builder().header("content-length", length).body(body_of("x")).unwrap());
            returned()
        });
        let answer = h1(served.address, request("GET", "/", &[CLOSE])).await;
        assert_eq!((answer.status, &*answer.problem("kind")), (502, "http.response-head"), "{length}");
    }
    served.settles().await;
}
