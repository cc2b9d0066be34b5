//! What is an activation's own stays its own: its context, its logs, its store.

use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use latent_executor::{LogRecord, LogRefused, LogSink};
use tokio::sync::Barrier;

use crate::calls::{call, mode, succeeded};
use crate::support::{Setup, on_node};

/// Keeps every record as it was offered.
#[derive(Default)]
struct Everything(Mutex<Vec<LogRecord>>);

impl LogSink for Everything {
    fn offer(&self, record: LogRecord, _bytes: u64) -> Result<(), LogRefused> {
        self.0.lock().expect("offers do not panic").push(record);
        Ok(())
    }
}

#[test]
fn context_and_logs_never_mix_between_concurrent_activations() {
    const ACTIVATIONS: usize = 4;
    const ROUNDS: usize = 50;
    let sink = Arc::new(Everything::default());
    let setup = Setup { sink: Some(sink.clone()), ..Setup::default() };
    on_node(setup, |node| async move {
        node.warm("log-context").await;
        let barrier = Arc::new(Barrier::new(ACTIVATIONS));
        let speakers = (0..ACTIVATIONS).map(|speaker| {
            let (node, barrier) = (node.clone(), barrier.clone());
            tokio::spawn(async move {
                let tenant = format!("tenant-{speaker}");
                for round in 0..ROUNDS {
                    let id = format!("speaker-{speaker}-{round}");
                    let named = |function: &str, args: &str| {
                        call("log-context", "speak", function, args).named(&id).tenant(&tenant)
                    };
                    barrier.wait().await;
                    assert_eq!(succeeded(&node.run(named("whoami", "[]")).await), format!("\"{id}\""));
                    assert_eq!(succeeded(&node.run(named("tenant", "[]")).await), format!("\"{tenant}\""));
                    assert_eq!(succeeded(&node.run(named("say", &format!("[\"{id}\"]"))).await), "{\"ok\":null}");
                    assert_eq!(succeeded(&node.run(named("say-many", "[20]")).await), "20");
                }
            })
        });
        for speaker in join_all(speakers).await {
            speaker.expect("a speaker that saw only itself");
        }
    });
    let records = sink.0.lock().expect("offers do not panic");
    assert_eq!(records.len(), ACTIVATIONS * ROUNDS * 21);
    for record in records.iter() {
        let speaker = record.activation_id.as_str().split('-').nth(1);
        assert_eq!(record.tenant.as_str().strip_prefix("tenant-"), speaker, "{record:?}");
        assert!(&*record.message == "one of many" || &*record.message == record.activation_id.as_str(), "{record:?}");
    }
}

#[test]
fn two_tenants_may_use_one_activation_id_at_once() {
    on_node(Setup::default(), |node| async move {
        let runs = ["one", "two"].map(|tenant| {
            let call = mode("delayed-echo", &format!("[\"{tenant}\",20]")).named("same").tenant(tenant);
            node.spawn(call)
        });
        for (run, tenant) in runs.into_iter().zip(["one", "two"]) {
            assert_eq!(succeeded(&run.await.expect("a report")), format!("\"{tenant}\""));
        }
    });
}

/// The second call would see the pages, the fuel and the peak of the first, if anything were kept.
#[test]
fn every_call_gets_a_fresh_store() {
    on_node(Setup { cells: 1, ..Setup::default() }, |node| async move {
        let grown = || mode("grow-memory-politely", "[16]").memory(8 << 20);
        let first = node.run(grown()).await;
        for _ in 0..3 {
            let again = node.run(grown()).await;
            assert_eq!(succeeded(&again), succeeded(&first));
            assert_eq!(again.consumption.peak_memory_bytes, first.consumption.peak_memory_bytes);
            assert_eq!(again.consumption.fuel, first.consumption.fuel);
            assert_eq!(again.cell, first.cell);
        }
    });
}
