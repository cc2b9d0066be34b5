//! More spinning guests than threads, and everything else on the same runtime stays prompt.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::available_parallelism;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::calls::{Call, assert_deadline, call, echo, spin, succeeded};
use crate::support::{Node, Setup, alone_on_node, now, until};

const SPIN_FOR: Duration = Duration::from_millis(1500);
const TIMER: Duration = Duration::from_millis(5);
/// Generous for a loaded machine: without the runtime's settings the echo alone takes hundreds of milliseconds.
const P50_MAX: Duration = Duration::from_millis(50);
const SAMPLES_MIN: usize = 10;

#[test]
fn twice_as_many_spinners_as_cores_delay_nobody() {
    let cores = available_parallelism().map_or(2, usize::from);
    beside(cores, 2 * cores, spin);
}

#[test]
fn eight_spinners_on_two_threads_delay_nobody() {
    beside(2, 8, spin);
}

/// Such a guest does nothing but host calls that are ready at once and give way to the runtime each time.
#[test]
fn eight_guests_that_poll_a_clock_without_end_delay_nobody() {
    beside(2, 8, || call("clock-park", "park", "park-often", "[4294967295,0]").fuel(u64::MAX));
}

fn beside(threads: usize, spinners: usize, busy: fn() -> Call) {
    let cells = u32::try_from(spinners + 2).expect("a few");
    alone_on_node(Setup { threads, ..Setup::with_cells(cells) }, move |node| async move {
        node.warm("containment-capsule").await;
        node.warm("clock-park").await;
        let tolerance = node.tolerance();
        let over = Arc::new(AtomicBool::new(false));
        let spinning: Vec<_> = (0..spinners)
            .map(|_| {
                let (node, over) = (node.clone(), over.clone());
                tokio::spawn(async move {
                    let started = now();
                    let report = node.run(busy().within(SPIN_FOR)).await;
                    over.store(true, Ordering::Release);
                    assert_deadline(&report);
                    started.elapsed()
                })
            })
            .collect();
        until("all spin", || node.runner.snapshot().running_invocations == spinners).await;
        let timers = tokio::spawn(timers(over.clone()));
        let echoes = tokio::spawn(echoes(over.clone()));
        let calls = tokio::spawn(calls(node.clone(), over));
        println!("{spinners} of {} on {threads} threads:", busy());
        prompt("5 ms timer, lateness", timers.await.expect("samples"));
        prompt("loopback echo", echoes.await.expect("samples"));
        prompt("healthy call", calls.await.expect("samples"));
        for elapsed in join_all(spinning).await {
            let elapsed = elapsed.expect("a spinner's report");
            assert!(elapsed >= SPIN_FOR && elapsed <= SPIN_FOR + tolerance, "{elapsed:?}");
        }
    });
}

fn prompt(what: &str, mut samples: Vec<Duration>) {
    samples.sort();
    let at = |percent: usize| samples[(samples.len() - 1) * percent / 100];
    println!("  {what}: {} samples, p50 {:?}, p99 {:?}", samples.len(), at(50), at(99));
    assert!(samples.len() >= SAMPLES_MIN, "{what}: only {} samples", samples.len());
    assert!(at(50) <= P50_MAX, "{what}: p50 {:?}", at(50));
}

async fn timers(over: Arc<AtomicBool>) -> Vec<Duration> {
    let mut samples = Vec::new();
    while !over.load(Ordering::Acquire) {
        let started = now();
        tokio::time::sleep(TIMER).await;
        samples.push(started.elapsed().saturating_sub(TIMER));
    }
    samples
}

async fn echoes(over: Arc<AtomicBool>) -> Vec<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let mut client = TcpStream::connect(listener.local_addr().expect("an address")).await.expect("a connection");
    client.set_nodelay(true).expect("an option every socket has");
    let (mut served, _) = listener.accept().await.expect("the connection");
    let server = tokio::spawn(async move {
        served.set_nodelay(true).expect("an option every socket has");
        let mut byte = [0];
        while served.read_exact(&mut byte).await.is_ok() {
            served.write_all(&byte).await.expect("the client reads");
        }
    });
    let mut samples = Vec::new();
    while !over.load(Ordering::Acquire) {
        let started = now();
        client.write_all(b"x").await.expect("the server reads");
        let mut byte = [0];
        client.read_exact(&mut byte).await.expect("the server answers");
        samples.push(started.elapsed());
    }
    drop(client);
    server.await.expect("the server ends with its client");
    samples
}

async fn calls(node: Node, over: Arc<AtomicBool>) -> Vec<Duration> {
    let mut samples = Vec::new();
    while !over.load(Ordering::Acquire) {
        let started = now();
        assert_eq!(succeeded(&node.run(echo().tenant("healthy")).await), "\"hi\"");
        samples.push(started.elapsed());
    }
    samples
}
