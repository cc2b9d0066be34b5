//! Clients that leave: their guests are interrupted, at once.

use std::future::pending;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::BodyExt as _;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::support::{Served, answer, body_of, h2, raw, read_head, request, returned, served, soon};

/// By when a guest whose client left has been interrupted.
const INTERRUPTED: Duration = Duration::from_millis(100);
/// How often a machine that is busy with something else may be late.
const ROUNDS: u32 = 5;

#[derive(Debug, PartialEq, Eq)]
enum Told {
    Began,
    Dropped(Instant),
}

struct OnDrop(mpsc::UnboundedSender<Told>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(Told::Dropped(Instant::now()));
    }
}

/// Where a guest is when its client leaves.
#[derive(Clone, Copy)]
enum Stage {
    Body,
    Call,
    Response,
    Writing,
}

fn stays_in(served: &Served, stage: Stage) -> mpsc::UnboundedReceiver<Told> {
    let (tell, told) = mpsc::unbounded_channel();
    served.guest(move |parts| {
        let tell = tell.clone();
        async move {
            let _on_drop = OnDrop(tell.clone());
            let _ = tell.send(Told::Began);
            match stage {
                Stage::Body => drop(parts.request.into_body().collect().await),
                Stage::Call => {}
                Stage::Response => {
                    let writer = answer(parts.response, Response::builder());
                    writer.write("some").await;
                    pending::<()>().await;
                }
                Stage::Writing => {
                    let writer = answer(parts.response, Response::builder());
                    while writer.write(vec![b'x'; 64 << 10]).await {}
                }
            }
            pending::<()>().await;
            returned()
        }
    });
    told
}

async fn dropped(told: &mut mpsc::UnboundedReceiver<Told>) -> Instant {
    match soon(told.recv()).await {
        Some(Told::Dropped(at)) => at,
        other => panic!("{other:?}"),
    }
}

async fn leaves_in(stage: Stage) {
    let served = served();
    let mut told = stays_in(&served, stage);
    let mut fastest = Duration::MAX;
    for round in 0..ROUNDS {
        let id = format!("latent-activation-id: left-{round}");
        let mut stream = raw(served.address, request("POST", "/", &["content-length: 10", &id]) + "four").await;
        assert_eq!(soon(told.recv()).await, Some(Told::Began));
        if matches!(stage, Stage::Response | Stage::Writing) {
            read_head(&mut stream).await;
        }
        let left = Instant::now();
        drop(stream);
        fastest = fastest.min(dropped(&mut told).await - left);
        assert_eq!(served.failed(&format!("left-{round}")).await, "activation.transport-stopped");
        served.settles().await;
    }
    assert!(fastest < INTERRUPTED, "{fastest:?}");
}

#[tokio::test]
async fn before_the_end_of_the_body() {
    leaves_in(Stage::Body).await;
}

#[tokio::test]
async fn in_the_midst_of_the_call() {
    leaves_in(Stage::Call).await;
}

#[tokio::test]
async fn in_the_midst_of_the_response() {
    leaves_in(Stage::Response).await;
}

#[tokio::test]
async fn while_the_guest_writes() {
    leaves_in(Stage::Writing).await;
}

#[tokio::test]
async fn a_stream_that_is_reset_interrupts_its_guest_and_no_other() {
    let served = served();
    for stage in [Stage::Call, Stage::Response] {
        let mut told = stays_in(&served, stage);
        let mut sender = h2(served.address).await;
        let ask = || Request::get("http://t.example/").body(body_of("")).unwrap();
        let (one, other) = (sender.send_request(ask()), h2(served.address).await.send_request(ask()));
        let (one, other) = (tokio::spawn(one), tokio::spawn(other));
        assert_eq!(soon(told.recv()).await, Some(Told::Began));
        assert_eq!(soon(told.recv()).await, Some(Told::Began));
        leaves(one, stage).await;
        dropped(&mut told).await;
        assert!(told.try_recv().is_err(), "the other goes on");
        assert_eq!(served.supervisor.snapshot().reserved, 1);
        leaves(other, stage).await;
        dropped(&mut told).await;
        served.settles().await;
    }
}

/// Gives a request up, or its response where that has begun.
async fn leaves<T: std::fmt::Debug>(asked: tokio::task::JoinHandle<Result<T, hyper::Error>>, stage: Stage) {
    if matches!(stage, Stage::Response) {
        drop(soon(asked).await.unwrap().unwrap());
    } else {
        asked.abort();
    }
}

#[tokio::test]
async fn a_listener_that_closes_cuts_its_streams_at_its_deadline() {
    let served = served();
    let mut told = stays_in(&served, Stage::Response);
    let mut stream = raw(served.address, request("GET", "/", &["latent-activation-id: cut"])).await;
    assert_eq!(soon(told.recv()).await, Some(Told::Began));
    read_head(&mut stream).await;
    let Served { listener, manager, supervisor, .. } = served;
    let grace = Duration::from_millis(100);
    let begun = Instant::now();
    assert_eq!(soon(listener.shutdown((begun + grace).into_std())).await, 1);
    assert!(dropped(&mut told).await - begun >= grace, "it had its time");
    let settled = async {
        while supervisor.snapshot().reserved + supervisor.snapshot().continuing > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon(settled).await;
    assert_eq!(manager.parts().admission.ledger().snapshot().live(), 0);
}
