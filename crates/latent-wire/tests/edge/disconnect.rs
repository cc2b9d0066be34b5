//! Peers that leave: what they asked for is dropped.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::support::{Told, config, serve};

#[tokio::test]
async fn a_peer_that_leaves_before_its_body_ends_drops_the_request() {
    let mut served = serve(config());
    let mut stream = served.connect().await;
    stream.write_all(b"POST /echo HTTP/1.1\r\nhost: here\r\ncontent-length: 10\r\n\r\nfour").await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    drop(stream);
    let told = served.told().await;
    assert!(matches!(told, Told::Dropped | Told::Broke(_)), "{told:?}");
}

#[tokio::test]
async fn a_peer_that_leaves_in_the_midst_of_a_call_drops_it() {
    let mut served = serve(config());
    let mut stream = served.connect().await;
    stream.write_all(b"GET /hold HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    drop(stream);
    assert_eq!(served.told().await, Told::Dropped);
}

#[tokio::test]
async fn a_peer_that_leaves_in_the_midst_of_a_response_drops_it() {
    let mut served = serve(config());
    let mut stream = served.connect().await;
    stream.write_all(b"GET /endless HTTP/1.1\r\nhost: here\r\n\r\n").await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    stream.read_exact(&mut vec![0; 1 << 17]).await.expect("readable");
    drop(stream);
    assert_eq!(served.told().await, Told::Dropped);
}

#[tokio::test]
async fn a_stream_that_is_reset_drops_its_call_and_no_other() {
    let mut served = serve(config());
    let mut stream = served.connect().await;
    let held = b"\x82\x86\x04\x05/hold\x41\x01x";
    let mut begin = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    for id in [1_u8, 3] {
        begin.extend([0, 0, u8::try_from(held.len()).expect("short"), 1, 5, 0, 0, 0, id]);
        begin.extend(held);
    }
    stream.write_all(&begin).await.expect("writable");
    assert_eq!(served.told().await, Told::Began);
    assert_eq!(served.told().await, Told::Began);
    stream.write_all(b"\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08").await.expect("writable");
    assert_eq!(served.told().await, Told::Dropped);
    served.gate.add_permits(1);
    let mut said = Vec::new();
    while !said.windows(8).any(|bytes| bytes == b"released") {
        assert_ne!(
            super::support::soon(stream.read_buf(&mut said)).await.expect("readable"),
            0,
            "the other is answered"
        );
    }
}
