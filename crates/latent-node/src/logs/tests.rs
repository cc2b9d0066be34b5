//! The book's bounds, whose records give way, what readers are told is missing, and how long records stay.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use futures_util::stream::BoxStream;
use latent_activation::{Lineage, Moment, Progress};
use latent_core::{ActivationOutcome, BudgetConsumption, ManualWallClock, Payload, RouteName};
use latent_executor::{LogLevel, LogRecord, LogRefused, LogSink};

use super::*;
use crate::observe::{ActivationEnd, ActivationObserver};
use crate::time::now;

/// What each record of these tests costs.
const COST: u64 = 100 + RECORD_BYTES;

fn tenant(text: &str) -> TenantId {
    TenantId::new(text).unwrap()
}

fn id(text: &str) -> ActivationId {
    ActivationId::new(text).unwrap()
}

fn service(text: &str) -> ServiceName {
    ServiceName::new(text).unwrap()
}

fn book(change: impl FnOnce(&mut LogBookConfig)) -> LogBook {
    let mut config = LogBookConfig { retention: Duration::from_secs(10), ..LogBookConfig::default() };
    change(&mut config);
    LogBook::new(config, Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH))).unwrap()
}

fn write_as(book: &LogBook, (of, by, to): (&str, &str, &str), message: &str) -> Result<(), LogRefused> {
    let record = LogRecord {
        tenant: tenant(of),
        activation_id: id(by),
        service: Some(service(to)),
        level: LogLevel::Info,
        message: message.into(),
        fields: Vec::new(),
    };
    let taken = book.offer(record, 100);
    book.assert_sound();
    taken
}

fn write(book: &LogBook, of: &str, by: &str, message: &str) {
    write_as(book, (of, by, "s"), message).expect("it is taken");
}

fn end(book: &LogBook, of: &str, by: &str, log_bytes: u64) {
    let outcome = ActivationOutcome::Succeeded { output: Payload::json("1") };
    let lineage = Lineage::root(id(by));
    let progress = Progress::received(Moment { monotonic: now(), wall: SystemTime::UNIX_EPOCH });
    book.ended(&ActivationEnd {
        tenant: &tenant(of),
        lineage: &lineage,
        service: &service("s"),
        function: "f",
        route: &RouteName::new("default").unwrap(),
        resolved: None,
        outcome: &outcome,
        limit: None,
        consumption: &BudgetConsumption { log_bytes, ..BudgetConsumption::default() },
        progress: &progress,
        bytes_in: 0,
        bytes_out: 0,
    });
    book.assert_sound();
}

/// The messages of an activation, and how many are missing.
fn read(book: &LogBook, of: &str, by: &str) -> Option<(Vec<String>, u64)> {
    let logs = book.of_activation(&tenant(of), &id(by))?;
    Some((logs.records.iter().map(|entry| entry.message.to_string()).collect(), logs.dropped))
}

fn next(stream: &mut BoxStream<'static, LogEntry>) -> Option<(String, u64)> {
    match stream.as_mut().poll_next(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(entry)) => Some((entry.message.to_string(), entry.missed)),
        Poll::Ready(None) => panic!("a follower's stream does not end"),
        Poll::Pending => None,
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it is compared with what was read, if anything was")]
fn some(messages: &[&str], dropped: u64) -> Option<(Vec<String>, u64)> {
    Some((messages.iter().map(ToString::to_string).collect(), dropped))
}

#[test]
fn an_activations_records_are_read_in_order_by_its_tenant_alone() {
    let book = book(|_config| {});
    write(&book, "t", "a", "1");
    write(&book, "u", "a", "theirs");
    write(&book, "t", "b", "other");
    write(&book, "t", "a", "2");
    assert_eq!(read(&book, "t", "a"), some(&["1", "2"], 0));
    assert_eq!(read(&book, "u", "b"), None);
    let logs = book.of_activation(&tenant("t"), &id("a")).unwrap();
    assert_eq!((logs.records[0].level, logs.records[0].at), ("info", SystemTime::UNIX_EPOCH));
    assert_eq!(logs.records[0].service, Some(service("s")));
}

#[test]
fn the_oldest_of_the_tenant_that_holds_most_give_way() {
    let book = book(|config| (config.bytes_max, config.activation_bytes_max) = (4 * COST, 4 * COST));
    write(&book, "small", "a", "oldest of all");
    for message in ["1", "2", "3", "4", "5"] {
        write(&book, "large", "b", message);
    }
    assert_eq!(read(&book, "small", "a"), some(&["oldest of all"], 0));
    assert_eq!(read(&book, "large", "b"), some(&["3", "4", "5"], 2));
    let snapshot = book.snapshot();
    assert_eq!((snapshot.records, snapshot.bytes, snapshot.dropped), (4, 4 * COST, 2));
}

#[test]
fn an_activation_keeps_its_first_records_and_the_rest_is_counted() {
    let book = book(|config| config.activation_bytes_max = 2 * COST);
    for message in ["1", "2", "3", "4"] {
        write(&book, "t", "a", message);
    }
    write(&book, "t", "b", "room");
    assert_eq!(read(&book, "t", "a"), some(&["1", "2"], 2));
    assert_eq!(read(&book, "t", "b"), some(&["room"], 0));
}

#[test]
fn a_record_larger_than_an_activations_room_is_refused() {
    let book = book(|config| config.activation_bytes_max = COST - 1);
    assert_eq!(write_as(&book, ("t", "a", "s"), "1"), Err(LogRefused));
    assert_eq!((read(&book, "t", "a"), book.snapshot()), (None, LogBookSnapshot::default()));
}

#[tokio::test(start_paused = true)]
async fn records_stay_for_the_retention_after_the_end_and_no_longer() {
    let book = book(|_config| {});
    write(&book, "t", "a", "1");
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!(read(&book, "t", "a"), some(&["1"], 0), "it is still under way");
    end(&book, "t", "a", 100);
    tokio::time::advance(Duration::from_millis(9_999)).await;
    assert_eq!((read(&book, "t", "a"), book.sweep(now())), (some(&["1"], 0), 0));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(read(&book, "t", "a"), None, "before anything swept it");
    assert_eq!(book.sweep(now()), 1);
    assert_eq!(book.snapshot(), LogBookSnapshot::default());
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_given_again_does_not_show_what_another_activation_wrote() {
    let book = book(|_config| {});
    write(&book, "t", "a", "first");
    end(&book, "t", "a", 100);
    write(&book, "t", "a", "second");
    assert_eq!(read(&book, "t", "a"), some(&["second"], 0));
    tokio::time::advance(Duration::from_mins(1)).await;
    assert_eq!((book.sweep(now()), read(&book, "t", "a")), (0, some(&["second"], 0)));
}

#[tokio::test(start_paused = true)]
async fn a_notice_that_cost_nothing_is_let_go_of_in_time_too() {
    let book = book(|_config| {});
    write(&book, "t", "a", "notice");
    end(&book, "t", "silent", 0);
    end(&book, "t", "a", 0);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(book.sweep(now()), 1);
    assert_eq!(book.snapshot(), LogBookSnapshot::default());
}

#[test]
fn an_activation_of_which_all_is_evicted_leaves_nothing_after_its_end() {
    let book = book(|config| (config.bytes_max, config.activation_bytes_max) = (COST, COST));
    write(&book, "t", "a", "1");
    write(&book, "t", "b", "2");
    assert_eq!(read(&book, "t", "a"), some(&[], 1), "it is under way, and what is missing shows");
    end(&book, "t", "a", 100);
    assert_eq!(read(&book, "t", "a"), None);
    end(&book, "t", "b", 100);
    write(&book, "t", "c", "3");
    assert_eq!(read(&book, "t", "b"), None);
}

#[test]
fn a_follower_gets_the_tail_and_then_each_record_of_its_service() {
    let book = book(|_config| {});
    for (by, to, message) in [("a", "s", "1"), ("b", "other", "2"), ("c", "s", "3"), ("d", "s", "4")] {
        write_as(&book, ("t", by, to), message).unwrap();
    }
    let mut follower = book.follow(&tenant("t"), Some(&service("s")), 2).unwrap();
    let mut all = book.follow(&tenant("t"), None, 0).unwrap();
    write_as(&book, ("u", "a", "s"), "theirs").unwrap();
    write_as(&book, ("t", "a", "other"), "5").unwrap();
    write_as(&book, ("t", "a", "s"), "6").unwrap();
    let mut seen: Vec<String> = Vec::new();
    while let Some((message, missed)) = next(&mut follower) {
        assert_eq!(missed, 0);
        seen.push(message);
    }
    assert_eq!(seen, ["3", "4", "6"]);
    assert_eq!((next(&mut all).unwrap().0, next(&mut all).unwrap().0, next(&mut all)), ("5".into(), "6".into(), None));
}

#[tokio::test(start_paused = true)]
async fn a_follower_that_waits_is_woken_by_the_next_record() {
    use futures_util::StreamExt as _;
    let book = Arc::new(book(|_config| {}));
    let mut follower = book.follow(&tenant("t"), None, 0).unwrap();
    let waiting = tokio::spawn(async move { follower.next().await });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    write(&book, "t", "a", "1");
    let entry = tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("it is woken").unwrap();
    assert_eq!(&*entry.unwrap().message, "1");
}

#[test]
fn a_follower_that_is_too_slow_misses_the_oldest_and_is_told_how_many() {
    let book = book(|config| config.follower_bytes_max = 2 * COST);
    let mut follower = book.follow(&tenant("t"), None, 0).unwrap();
    for message in ["1", "2", "3", "4", "5"] {
        write(&book, "t", "a", message);
    }
    assert_eq!(next(&mut follower), Some(("4".into(), 3)));
    assert_eq!((next(&mut follower), next(&mut follower)), (Some(("5".into(), 0)), None));
    assert_eq!((book.snapshot().missed, read(&book, "t", "a").unwrap().0.len()), (3, 5), "they are kept all the same");
}

#[test]
fn followers_are_bounded_and_one_that_is_dropped_makes_room() {
    let book = book(|config| config.followers_max = 1);
    let first = book.follow(&tenant("t"), None, 0).expect("there is room");
    assert!(book.follow(&tenant("t"), None, 0).is_none());
    drop(first);
    assert!(book.follow(&tenant("t"), None, 0).is_some());
    assert_eq!(book.snapshot().followers, 0);
}

#[test]
fn a_configuration_without_sense_is_refused_by_name() {
    let clock = || Arc::new(ManualWallClock::new(SystemTime::UNIX_EPOCH));
    let few = LogBookConfig { bytes_max: 10, activation_bytes_max: 11, ..LogBookConfig::default() };
    let never = LogBookConfig { retention: Duration::ZERO, ..LogBookConfig::default() };
    for (config, setting) in [(few, "activation_bytes_max"), (never, "retention")] {
        let error = LogBook::new(config, clock()).unwrap_err();
        assert_eq!((error.details()[0].kind(), error.details()[0].field("setting")), ("logs.config", Some(setting)));
    }
}
