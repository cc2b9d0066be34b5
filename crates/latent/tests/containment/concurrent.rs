//! Healthy calls beside failing ones, on one runtime and one engine, overlapping for certain.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use latent_core::TerminalState;
use tokio::sync::Barrier;

use crate::calls::{Call, assert_deadline, assert_failed, echo, mode, spin, succeeded};
use crate::support::{Node, Setup, on_node, until};

/// Spawns `call` so that it starts together with the other holder of the barrier.
fn together(node: &Node, barrier: &Arc<Barrier>, call: Call) -> tokio::task::JoinHandle<latent_node::ActivationReport> {
    let (node, barrier) = (node.clone(), barrier.clone());
    tokio::spawn(async move {
        barrier.wait().await;
        node.run(call).await
    })
}

#[test]
fn healthy_calls_succeed_while_an_infinite_activation_reaches_its_deadline() {
    for setup in [Setup::default(), Setup::uncached()] {
        on_node(setup, |node| async move {
            node.warm("containment-capsule").await;
            let barrier = Arc::new(Barrier::new(2));
            let spinning = together(&node, &barrier, spin().within(Duration::from_millis(400)));
            let healthy = together(&node, &barrier, mode("delayed-echo", "[\"hi\",20]").tenant("healthy"));
            until("both run", || node.runner.snapshot().running_invocations == 2).await;
            assert_eq!(succeeded(&healthy.await.expect("a report")), "\"hi\"");
            let mut beside = 0;
            while !spinning.is_finished() {
                assert_eq!(succeeded(&node.run(echo().tenant("healthy")).await), "\"hi\"");
                beside += 1;
            }
            assert_deadline(&spinning.await.expect("a report"));
            println!("{beside} healthy calls beside one infinite activation");
            assert!(beside > 0);
        });
    }
}

#[test]
fn healthy_calls_succeed_while_another_activation_traps() {
    for setup in [Setup::default(), Setup::uncached()] {
        on_node(setup, |node| async move {
            node.warm("containment-capsule").await;
            let barrier = Arc::new(Barrier::new(2));
            let trapping = together(&node, &barrier, mode("delayed-trap", "[100]"));
            let healthy = together(&node, &barrier, mode("delayed-echo", "[\"hi\",150]").tenant("healthy"));
            until("both run", || node.runner.snapshot().running_invocations == 2).await;
            let trapped = trapping.await.expect("a report");
            assert_failed(&trapped, TerminalState::GuestTrap, "activation.guest-trap");
            assert_eq!(succeeded(&healthy.await.expect("a report")), "\"hi\"", "the trap passed it by");
        });
    }
}

#[test]
fn healthy_calls_succeed_under_memory_pressure() {
    on_node(Setup::default(), |node| async move {
        node.warm("containment-capsule").await;
        let stop = Arc::new(AtomicBool::new(false));
        let barrier = Arc::new(Barrier::new(3));
        let denied: Arc<[AtomicUsize; 2]> = Arc::default();
        let pressing: Vec<_> = (0..2)
            .map(|task| {
                let (node, stop, barrier, denied) = (node.clone(), stop.clone(), barrier.clone(), denied.clone());
                tokio::spawn(async move {
                    barrier.wait().await;
                    while !stop.load(Ordering::Acquire) {
                        let report = node.run(mode("grow-memory", "[16]").memory(32 << 20)).await;
                        assert_failed(&report, TerminalState::ResourceExhausted, "activation.memory-exhausted");
                        assert!(report.consumption.peak_memory_bytes <= 32 << 20);
                        denied[task].fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        barrier.wait().await;
        let mut calls = 0;
        // Beside both of those that press, however late the machine starts them; the watchdog bounds this.
        while calls < 200 || denied.iter().any(|denied| denied.load(Ordering::Relaxed) == 0) {
            calls += 1;
            assert_eq!(succeeded(&node.run(echo().tenant("healthy")).await), "\"hi\"");
        }
        let polite = node.run(mode("grow-memory-politely", "[16]").memory(8 << 20)).await;
        assert_eq!(succeeded(&polite), "114", "2 pages and 7 steps of 16 fit 128 pages");
        stop.store(true, Ordering::Release);
        for pressing in pressing {
            pressing.await.expect("it ends");
        }
    });
}

#[test]
fn a_mixed_workload_over_few_cells_leaves_the_books_exact() {
    on_node(Setup { cells: 3, ..Setup::default() }, |node| async move {
        use crate::classes::Class;
        let before = node.runner.snapshot().releases;
        let workers: Vec<_> = (0..8_usize)
            .map(|worker| {
                let node = node.clone();
                tokio::spawn(async move {
                    for round in 0..Class::ALL.len() {
                        let class = Class::ALL[(worker + round) % Class::ALL.len()];
                        // A cancel is placed by polls, so it needs its cell at once and stays out of the crowd.
                        if class != Class::Cancel {
                            class.happen(&node).await;
                        }
                        assert_eq!(succeeded(&node.run(echo().tenant("healthy")).await), "\"hi\"");
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.await.expect("a worker that saw what it expected");
        }
        let runs = 8 * (2 * Class::ALL.len() as u64 - 1);
        let ended_in_the_queue = before + runs - node.runner.snapshot().releases;
        assert!(ended_in_the_queue <= 8, "only deadlines can pass before there is a cell: {ended_in_the_queue}");
    });
}
