//! What is in a line, how files follow one another, what a disk that takes nothing costs, and what is summed.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use latent_activation::{LifecyclePhase, Lineage, Moment, Progress};
use latent_core::{
    ActivationId, ActivationOutcome, BudgetConsumption, DeploymentId, Payload, ResolvedRevision, RevisionId, RouteName,
    ServiceName, Sha256Digest, TenantId,
};

use super::files::{Files, file_name, numbers};
use super::*;
use crate::observe::Limit;
use crate::operations::UsageQuery;
use crate::time::now;

const WATCHDOG: Duration = Duration::from_secs(10);
const START: Duration = Duration::from_secs(1_000_000_000);

fn config() -> UsageLogConfig {
    UsageLogConfig { linger: Duration::from_millis(1), ..UsageLogConfig::default() }
}

fn open(directory: &Path, config: &UsageLogConfig) -> UsageLog {
    UsageLog::open(directory, "wasmtime-48", config).unwrap()
}

/// Tells of an activation of `tenant` that was received so many seconds after [`START`] and ended two later.
fn end(log: &UsageLog, tenant: &str, service: &str, seconds: u64, outcome: &ActivationOutcome) {
    let at = now();
    let received = Moment { monotonic: at, wall: SystemTime::UNIX_EPOCH + START + Duration::from_secs(seconds) };
    let mut progress = Progress::received(received);
    for (nth, phase) in (1..).zip(LifecyclePhase::ALL.into_iter().skip(1)) {
        progress.advance(phase, at + Duration::from_millis(100 * nth)).unwrap();
    }
    progress.finish(outcome.terminal_state(), at + Duration::from_secs(2)).unwrap();
    let release = Sha256Digest::of(b"component");
    let resolved = ResolvedRevision {
        tenant: TenantId::new(tenant).unwrap(),
        service: ServiceName::new(service).unwrap(),
        route: RouteName::new("default").unwrap(),
        deployment: DeploymentId::new("main").unwrap(),
        revision: RevisionId::new(release),
        release,
        route_generation: 1,
    };
    log.ended(&ActivationEnd {
        tenant: &resolved.tenant,
        lineage: &Lineage::root(ActivationId::new(format!("a{seconds}")).unwrap()),
        service: &resolved.service,
        function: "f",
        route: &resolved.route,
        resolved: Some(&resolved),
        outcome,
        limit: Limit::of_outcome(outcome),
        consumption: &BudgetConsumption {
            fuel: 10,
            peak_memory_bytes: 100 + seconds,
            wall_time: Duration::from_micros(7),
            log_bytes: 3,
            outbound_requests: 4,
        },
        progress: &progress,
        bytes_in: 5,
        bytes_out: 6,
    });
}

fn returned() -> ActivationOutcome {
    ActivationOutcome::Succeeded { output: Payload::json("[1]") }
}

fn lines(directory: &Path) -> Vec<String> {
    let texts =
        numbers(directory).unwrap().into_iter().map(|n| fs::read_to_string(directory.join(file_name(n))).unwrap());
    texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn a_line_says_who_what_when_how_it_ended_and_what_it_cost() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &config());
    end(&log, "t", "s", 0, &ActivationOutcome::failed(PlatformError::deadline_exceeded()));
    assert!(log.close(WATCHDOG));
    let digest = Sha256Digest::of(b"component");
    let revision = RevisionId::new(digest);
    let wanted = format!(
        "{{\"activation\":\"a0\",\"root\":\"a0\",\"tenant\":\"t\",\"service\":\"s\",\"route\":\"default\",\
         \"deployment\":\"main\",\"revision\":\"{revision}\",\"release\":\"{digest}\",\"engine\":\"wasmtime-48\",\
         \"received\":\"2001-09-09T01:46:40.000000Z\",\"queued\":\"2001-09-09T01:46:40.300000Z\",\
         \"started\":\"2001-09-09T01:46:40.500000Z\",\"ended\":\"2001-09-09T01:46:42.000000Z\",\
         \"state\":\"deadline-exceeded\",\"error\":\"deadline-exceeded\",\"limit\":\"deadline\",\"fuel\":10,\
         \"peak_memory_bytes\":100,\"wall_micros\":7,\"log_bytes\":3,\"outbound_requests\":4,\
         \"bytes_in\":5,\"bytes_out\":6}}"
    );
    assert_eq!(lines(directory.path()), [wanted]);
    assert_eq!(log.snapshot(), UsageLogSnapshot { written: 1, dropped: 0, failures: 0 });
}

#[test]
fn a_line_that_knows_no_outgoing_requests_is_summed_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &config());
    end(&log, "t", "s", 0, &returned());
    assert!(log.close(WATCHDOG));
    let file = directory.path().join(file_name(numbers(directory.path()).unwrap()[0]));
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"outbound_requests\":4,"), "{text}");
    fs::write(&file, text.replace("\"outbound_requests\":4,", "")).unwrap();
    let (sums, missing) = sum(directory.path(), &UsageQuery::default()).unwrap();
    assert_eq!((sums[0].activations, sums[0].outbound_requests, missing), (1, 0, 0));
}

#[test]
fn sums_are_by_tenant_and_service_within_the_time_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &config());
    let late = ActivationOutcome::failed(PlatformError::deadline_exceeded());
    for (tenant, service, seconds, outcome) in
        [("t", "s", 0, &returned()), ("t", "s", 1, &late), ("t", "x", 2, &returned()), ("u", "s", 3, &returned())]
    {
        end(&log, tenant, service, seconds, outcome);
    }
    assert!(log.close(WATCHDOG));
    let (sums, missing) = sum(directory.path(), &UsageQuery::default()).unwrap();
    let names: Vec<_> = sums.iter().map(|sum| (&*sum.tenant, &*sum.service, sum.activations)).collect();
    assert_eq!((names, missing), (vec![("t", "s", 2), ("t", "x", 1), ("u", "s", 1)], 0));
    let first = &sums[0];
    assert_eq!((first.fuel, first.peak_memory_bytes, first.wall_time), (20, 101, Duration::from_micros(14)));
    assert_eq!((first.log_bytes, first.bytes_in, first.bytes_out), (6, 10, 12));
    assert_eq!(first.outbound_requests, 8);
    assert_eq!(first.ended, [("completed".to_owned(), 1), ("deadline-exceeded".to_owned(), 1)]);
    assert_eq!(first.limited, [("deadline".to_owned(), 1)]);
    // Each ended two seconds after it was received.
    let at = |seconds: u64| Some(SystemTime::UNIX_EPOCH + START + Duration::from_secs(seconds + 2));
    let query = UsageQuery { tenant: TenantId::new("t").ok(), since: at(1), until: at(2) };
    let (sums, _) = sum(directory.path(), &query).unwrap();
    assert_eq!((sums.len(), sums[0].activations, sums[0].peak_memory_bytes), (1, 1, 101));
}

#[test]
fn files_rotate_by_size_the_oldest_go_and_a_restart_goes_on_counting() {
    let directory = tempfile::tempdir().unwrap();
    let config = UsageLogConfig { file_bytes_max: 64 << 10, files_max: 2, ..config() };
    for round in 0..3 {
        let log = open(directory.path(), &config);
        for seconds in 0..200 {
            end(&log, "t", "s", round * 200 + seconds, &returned());
        }
        assert!(log.close(WATCHDOG));
    }
    let kept = numbers(directory.path()).unwrap();
    assert_eq!((kept.len(), kept[1] - kept[0]), (2, 1));
    assert!(kept[0] > 1, "nothing was rotated: {kept:?}");
    for number in kept {
        assert!(fs::metadata(directory.path().join(file_name(number))).unwrap().len() <= 64 << 10);
    }
    assert!(lines(directory.path()).last().unwrap().contains("\"activation\":\"a599\""));
    let (sums, missing) = sum(directory.path(), &UsageQuery::default()).unwrap();
    assert_eq!((sums[0].activations, missing), (lines(directory.path()).len() as u64, 0));
}

#[test]
fn a_line_that_a_former_process_left_unfinished_costs_that_line_alone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(file_name(7));
    fs::write(&file, "{\"activation\":\"half").unwrap();
    let empty = sum(directory.path(), &UsageQuery::default()).unwrap();
    assert_eq!(empty, (vec![], 0), "a last line that is incomplete is passed over");
    let log = open(directory.path(), &config());
    end(&log, "t", "s", 0, &returned());
    assert!(log.close(WATCHDOG));
    assert_eq!(numbers(directory.path()).unwrap(), [7]);
    let (sums, missing) = sum(directory.path(), &UsageQuery::default()).unwrap();
    assert_eq!((sums[0].activations, missing), (1, 1));
}

#[test]
fn what_a_failed_write_left_behind_is_cut_off_before_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let mut files = Files::open(directory.path(), &config()).unwrap();
    files.append(b"whole\n").unwrap();
    files.fail_after(b"ha");
    files.append(b"next\n").unwrap();
    assert_eq!(lines(directory.path()), ["whole", "next"]);
}

#[test]
fn a_file_that_cannot_be_written_is_tried_again_until_it_can() {
    let directory = tempfile::tempdir().unwrap();
    let obstacle = directory.path().join(file_name(1));
    fs::create_dir(&obstacle).unwrap();
    let log = open(directory.path(), &config());
    end(&log, "t", "s", 0, &returned());
    let started = now();
    while log.snapshot().failures < 2 {
        assert!(now() - started < WATCHDOG, "it never tried");
        std::thread::yield_now();
    }
    assert_eq!(log.snapshot().written, 0);
    fs::remove_dir(&obstacle).unwrap();
    while log.snapshot().written == 0 {
        assert!(now() - started < WATCHDOG, "it never went on");
        std::thread::yield_now();
    }
    assert!(log.close(WATCHDOG));
    assert_eq!((lines(directory.path()).len(), log.snapshot().dropped), (1, 0));
}

#[test]
fn whoever_waits_finds_what_ended_before_without_the_wait_for_more() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &UsageLogConfig { linger: Duration::from_hours(1), ..config() });
    for seconds in 0..50 {
        end(&log, "t", "s", seconds, &returned());
        assert!(log.catch_up(WATCHDOG));
        assert_eq!(lines(directory.path()).len() as u64, seconds + 1);
    }
    assert!(log.catch_up(WATCHDOG), "there is nothing to wait for");
    assert!(log.close(WATCHDOG));
    assert!(!log.catch_up(WATCHDOG), "nothing is written any more");
}

#[test]
fn whoever_waits_for_a_disk_that_takes_nothing_is_told_so_at_the_next_attempt() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(file_name(1))).unwrap();
    let log = open(directory.path(), &config());
    end(&log, "t", "s", 0, &returned());
    let started = now();
    assert!(!log.catch_up(2 * WATCHDOG));
    assert!(now() - started < WATCHDOG, "it waited for as long as it may");
}

#[test]
fn a_full_queue_drops_ends_and_the_next_line_says_how_many() {
    let directory = tempfile::tempdir().unwrap();
    let obstacle = directory.path().join(file_name(1));
    fs::create_dir(&obstacle).unwrap();
    let log = open(directory.path(), &UsageLogConfig { queue_max: 2, ..config() });
    // A disk that takes nothing fills the batch, then the queue.
    let mut told = 0;
    while log.snapshot().dropped == 0 {
        end(&log, "t", "s", told, &returned());
        told += 1;
    }
    fs::remove_dir(&obstacle).unwrap();
    assert!(log.close(WATCHDOG));
    let snapshot = log.snapshot();
    let all = lines(directory.path());
    let position = all.iter().position(|line| line == &format!("{{\"dropped\":{}}}", snapshot.dropped));
    assert!(position.is_some(), "{snapshot:?}");
    let (sums, missing) = sum(directory.path(), &UsageQuery::default()).unwrap();
    assert_eq!((sums[0].activations + missing, missing), (told, snapshot.dropped));
}

#[cfg(target_os = "linux")]
#[test]
fn a_log_that_is_closed_on_a_full_disk_ends_and_counts_what_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", directory.path().join(file_name(1))).unwrap();
    let log = open(directory.path(), &config());
    for seconds in 0..3 {
        end(&log, "t", "s", seconds, &returned());
    }
    assert!(log.close(WATCHDOG));
    let snapshot = log.snapshot();
    assert_eq!((snapshot.written, snapshot.dropped), (0, 3));
    assert!(snapshot.failures > 0);
    end(&log, "t", "s", 4, &returned());
    assert_eq!(log.snapshot().dropped, 4, "an end after the close is dropped, and counted");
    assert!(log.close(WATCHDOG), "a second close has nothing to wait for");
}

#[test]
fn damaged_and_endless_lines_are_counted_and_the_rest_is_summed() {
    let directory = tempfile::tempdir().unwrap();
    let log = open(directory.path(), &config());
    end(&log, "t", "s", 0, &returned());
    assert!(log.close(WATCHDOG));
    let good = fs::read_to_string(directory.path().join(file_name(1))).unwrap();
    let endless = "x".repeat(3 << 16);
    let text = format!("{{}}\n{endless}\n{good}{{\"dropped\":4}}\n{{\"tenant\":1}}\n{good}");
    fs::write(directory.path().join(file_name(2)), text).unwrap();
    fs::write(directory.path().join("usage-x.jsonl"), "not ours\n").unwrap();
    let (sums, missing) = sum(directory.path(), &UsageQuery::default()).unwrap();
    assert_eq!((sums[0].activations, missing), (3, 7));
}

#[test]
fn bounds_without_sense_are_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    for (setting, config) in [
        ("queue_max", UsageLogConfig { queue_max: 0, ..config() }),
        ("file_bytes_max", UsageLogConfig { file_bytes_max: 100, ..config() }),
        ("files_max", UsageLogConfig { files_max: 1, ..config() }),
        ("linger", UsageLogConfig { linger: Duration::ZERO, ..config() }),
    ] {
        let error = UsageLog::open(directory.path(), "e", &config).unwrap_err();
        assert_eq!(error.details()[0].field("setting"), Some(setting));
    }
}
