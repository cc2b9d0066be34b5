//! Readers that take their time: they hold no cell.

use std::time::Duration;

use http::Response;
use latent_core::TerminalState;
use latent_http::ingress::IngressConfig;
use latent_wire::listener::ListenerConfig;
use tokio::io::AsyncReadExt as _;
use tokio::time::Instant;

use super::support::{Served, answer, h1, hello, raw, read_head, request, returned, served_with, soon, until_closed};

const WAIT: Duration = Duration::from_millis(300);

fn impatient() -> Served {
    let config = IngressConfig { reader_wait: WAIT, ..Default::default() };
    served_with(ListenerConfig::new(([127, 0, 0, 1], 0).into()), config)
}

/// Writes so many pieces of 64 KiB.
fn writes(served: &Served, pieces: usize) {
    served.guest(move |parts| async move {
        let writer = answer(parts.response, Response::builder());
        for _ in 0..pieces {
            if !writer.write(vec![b'x'; 64 << 10]).await {
                break;
            }
        }
        returned()
    });
}

#[tokio::test]
async fn a_reader_that_takes_a_byte_now_and_then_holds_no_cell() {
    let served = impatient();
    writes(&served, 160);
    let asked = Instant::now();
    let mut slow = Vec::new();
    for at in 0..2 {
        let mut stream = raw(served.address, request("GET", "/", &[&format!("latent-activation-id: slow-{at}")])).await;
        read_head(&mut stream).await;
        slow.push(stream);
    }
    // Both cells are taken; whoever waits for one gets it when the readers' time is over.
    served.guest(hello);
    let next = h1(served.address, request("GET", "/", &["connection: close"]));
    let trickle = async {
        loop {
            slow[0].read_u8().await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let answered = tokio::select! {
        answered = next => answered,
        never = trickle => never,
    };
    assert_eq!((answered.status, &*answered.text()), (200, "hello"));
    assert!(asked.elapsed() >= WAIT, "they had their time");
    for at in 0..2 {
        assert_eq!(served.failed(&format!("slow-{at}")).await, "activation.transport-stopped");
    }
    served.settles().await;
    let all = until_closed(&mut slow[0]).await;
    assert!(all.len() < 160 * (64 << 10) && !all.ends_with(b"0\r\n\r\n"), "{}", all.len());
}

#[tokio::test]
async fn a_guest_that_takes_its_time_is_not_its_readers_fault() {
    let served = impatient();
    served.guest(|parts| async move {
        let writer = answer(parts.response, Response::builder());
        for _ in 0..8 {
            tokio::time::sleep(WAIT / 4).await;
            writer.write("x").await;
        }
        returned()
    });
    let mut stream =
        raw(served.address, request("GET", "/", &["connection: close", "latent-activation-id: long"])).await;
    read_head(&mut stream).await;
    assert_eq!(until_closed(&mut stream).await, ["1\r\nx\r\n".repeat(8).as_bytes(), b"0\r\n\r\n"].concat());
    assert_eq!(served.ended("long").await, TerminalState::Completed);
    served.settles().await;
}

#[tokio::test]
async fn what_a_guest_left_is_read_when_its_cell_is_long_free() {
    let served = impatient();
    let (go_on, gate) = tokio::sync::watch::channel(false);
    served.guest(move |parts| {
        let mut gate = gate.clone();
        async move {
            let writer = answer(parts.response, Response::builder());
            gate.wait_for(|open| *open).await.unwrap();
            for _ in 0..3 {
                writer.write(vec![b'x'; 2 << 20]).await;
            }
            returned()
        }
    });
    let mut stream =
        raw(served.address, request("GET", "/", &["connection: close", "latent-activation-id: left"])).await;
    read_head(&mut stream).await;
    go_on.send(true).unwrap();
    assert_eq!(served.ended("left").await, TerminalState::Completed);
    served.settles().await;
    tokio::time::sleep(WAIT * 2).await;
    let mut all = Vec::new();
    soon(stream.read_to_end(&mut all)).await.unwrap();
    assert!(all.len() > 6 << 20 && all.ends_with(b"0\r\n\r\n"), "{}", all.len());
}
