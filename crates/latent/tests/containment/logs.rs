//! The budget of log bytes: charged for the canonical line at acceptance, never given back by an eviction, given back
//! by a refusal, and one notice when it is used up.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use latent_core::ActivationOutcome;
use latent_executor::{BoundedLogSink, LogRecord, LogRefused, LogSink};

use crate::calls::{Call, call, succeeded};
use crate::support::{Setup, on_node};

fn say(message: &str) -> Call {
    call("log-context", "speak", "say", &format!("[{}]", quoted(message)))
}

fn say_many(count: u32) -> Call {
    call("log-context", "speak", "say-many", &format!("[{count}]")).named("many")
}

/// JSON's form of a string whose only special characters are these.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\u{1}', "\\u0001");
    format!("\"{text}\"")
}

fn total(records: &[LogRecord]) -> u64 {
    records.iter().map(LogRecord::charge_bytes).sum()
}

#[test]
fn a_record_costs_its_canonical_line_with_escapes_and_trusted_fields() {
    on_node(Setup::default(), |node| async move {
        for message in ["", "plain", "q\"b\\n\n\u{1}", "caf\u{e9} \u{1f980}"] {
            let call = say(message);
            let id = call.id();
            let report = node.run(call).await;
            assert_eq!(succeeded(&report), "{\"ok\":null}");
            let line = format!(
                "{{\"latent.tenant\":\"{}\",\"latent.activation\":\"{}\",\"level\":\"info\",\"message\":{}}}\n",
                id.0,
                id.1,
                quoted(message)
            );
            assert_eq!(report.consumption.log_bytes, line.len() as u64, "{line}");
            let logs = node.logs(&id);
            assert_eq!(logs.len(), 1);
            assert_eq!((&*logs[0].message, logs[0].canonical()), (message, line));
        }
    });
}

#[test]
fn an_eviction_gives_nothing_back() {
    let sink = Arc::new(BoundedLogSink::new(300));
    let setup = Setup { sink: Some(sink.clone()), ..Setup::default() };
    on_node(setup, |node| async move {
        let many = say_many(50);
        let id = many.id();
        let report = node.run(many).await;
        assert_eq!(succeeded(&report), "50");
        let (held, evicted) = sink.usage();
        let kept = sink.take(&id.0, &id.1);
        assert!(held <= 300 && kept.len() as u64 + evicted == 50 && evicted > 0);
        assert_eq!(report.consumption.log_bytes, 50 * kept[0].charge_bytes());
    });
}

/// Accepts every second record.
#[derive(Default)]
struct EverySecond(AtomicUsize);

impl LogSink for EverySecond {
    fn offer(&self, _record: LogRecord, _bytes: u64) -> Result<(), LogRefused> {
        if self.0.fetch_add(1, Ordering::Relaxed) % 2 == 0 { Ok(()) } else { Err(LogRefused) }
    }
}

#[test]
fn a_refusal_of_the_sink_gives_the_charge_back_and_the_guest_learns_of_it() {
    let setup = Setup { sink: Some(Arc::new(EverySecond::default())), ..Setup::default() };
    on_node(setup, |node| async move {
        let one = node.run(say_many(1)).await;
        let refused = node.run(say_many(1)).await;
        assert_eq!((succeeded(&one), succeeded(&refused)), ("1", "0"));
        assert_eq!(refused.consumption.log_bytes, 0);
        let many = node.run(say_many(10)).await;
        assert_eq!(succeeded(&many), "5");
        assert_eq!(many.consumption.log_bytes, 5 * one.consumption.log_bytes);
        // Refused charges that stayed would use up this budget before its third acceptance.
        let tight = node.run(say_many(10).log_bytes(5 * one.consumption.log_bytes)).await;
        assert_eq!(succeeded(&tight), "5");
        assert_eq!(succeeded(&node.run(say("accepted")).await), "{\"ok\":null}");
        match node.run(say("refused")).await.outcome {
            ActivationOutcome::DeclaredError { error } => assert_eq!(&*error.bytes, b"\"refused\""),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_used_up_budget_drops_records_and_leaves_one_notice_that_costs_the_guest_nothing() {
    on_node(Setup::default(), |node| async move {
        let many = say_many(1);
        let id = many.id();
        let line = node.run(many).await.consumption.log_bytes;
        node.logs(&id);
        for (granted, accepted) in [(3 * line, 3), (4 * line - 1, 3), (0, 0), (line - 1, 0)] {
            let many = say_many(100).log_bytes(granted);
            let report = node.run(many).await;
            assert_eq!(succeeded(&report), accepted.to_string());
            assert_eq!(report.consumption.log_bytes, accepted * line);
            assert!(report.consumption.log_bytes <= granted);
            let logs = node.logs(&id);
            let notices = logs.iter().filter(|record| record.message.starts_with("log budget exhausted")).count();
            assert_eq!((notices, logs.len() as u64), (1, accepted + 1));
            assert_eq!(total(&logs[..logs.len() - 1]), report.consumption.log_bytes, "the notice comes last");
            let notice = logs.last().expect("the notice");
            assert!(notice.fields.iter().any(|(name, value)| &**name == "latent.truncated" && &**value == "true"));
        }
        let speechless = node.run(say("anything").log_bytes(0)).await;
        match speechless.outcome {
            ActivationOutcome::DeclaredError { error } => assert_eq!(&*error.bytes, b"\"budget-exhausted\""),
            other => panic!("{other:?}"),
        }
    });
}
