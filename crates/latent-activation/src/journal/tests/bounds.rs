//! How many, how large, for how long, and for whom.

use super::*;

fn small() -> LocalActivationJournalConfig {
    LocalActivationJournalConfig { active_max: 2, terminal_max: 2, evicted_ids_max: 2, ..Default::default() }
}

fn run(journal: &Arc<LocalActivationJournal>, of: &str, text: &str, at: Moment) {
    let _outcome = publish(reserve(journal, of, text, at), returned(), at);
}

#[test]
fn a_reservation_beyond_every_bound_is_no_smaller_one() {
    let config = LocalActivationJournalConfig { declared_error_bytes_max: u64::MAX, ..Default::default() };
    assert_eq!(config.reservation_bytes(), u64::MAX);
    assert!(LocalActivationJournal::new(config).is_err());
}

#[test]
fn the_defaults_are_the_specifications() {
    let config = LocalActivationJournalConfig::default();
    assert_eq!((config.active_max, config.terminal_max), (64, 1024));
    assert_eq!(config.tenant_active_max, usize::MAX, "no bound of its own");
    assert_eq!((config.record_bytes_max, config.aggregate_bytes_max), (4 << 20, 256 << 20));
    assert_eq!(config.terminal_retention, Duration::from_mins(5));
    assert!(LocalActivationJournal::new(config).is_ok());
}

#[test]
fn a_bound_out_of_range_is_refused_by_name() {
    let base = LocalActivationJournalConfig::default;
    let tight = base().reservation_bytes() - 1;
    let cases = [
        ("active_max", LocalActivationJournalConfig { active_max: 0, ..base() }),
        ("active_max", LocalActivationJournalConfig { active_max: usize::MAX, ..base() }),
        ("tenant_active_max", LocalActivationJournalConfig { tenant_active_max: 0, ..base() }),
        ("terminal_max", LocalActivationJournalConfig { terminal_max: 0, ..base() }),
        ("evicted_ids_max", LocalActivationJournalConfig { evicted_ids_max: usize::MAX, ..base() }),
        ("declared_error_bytes_max", LocalActivationJournalConfig { declared_error_bytes_max: u64::MAX, ..base() }),
        ("record_bytes_max", LocalActivationJournalConfig { record_bytes_max: tight, ..base() }),
        ("aggregate_bytes_max", LocalActivationJournalConfig { aggregate_bytes_max: tight, ..base() }),
        ("aggregate_bytes_max", LocalActivationJournalConfig { aggregate_bytes_max: u64::MAX, ..base() }),
        ("terminal_retention", LocalActivationJournalConfig { terminal_retention: Duration::ZERO, ..base() }),
    ];
    for (setting, config) in cases {
        let error = LocalActivationJournal::new(config).unwrap_err();
        assert_eq!(error.details()[0].field("setting"), Some(setting));
        assert!(error.has_detail("activation.journal-config") && error.message().starts_with(setting));
    }
}

#[test]
fn a_reservation_follows_from_the_bounds_and_is_far_below_its_ceiling() {
    let config = LocalActivationJournalConfig::default();
    assert!(config.reservation_bytes() < config.record_bytes_max / 32, "{}", config.reservation_bytes());
    let large = LocalActivationJournalConfig { declared_error_bytes_max: 1 << 20, ..config.clone() };
    assert_eq!(large.reservation_bytes() - config.reservation_bytes(), (1 << 20) - (64 << 10));
    assert_eq!(journal(config.clone()).snapshot(), JournalSnapshot::default());
    let journal = journal(config.clone());
    let _one = reserve(&journal, "t", "a", moment());
    assert_eq!(journal.snapshot().reserved_bytes, config.reservation_bytes());
}

#[test]
fn the_largest_record_there_can_be_fits_its_reservation() {
    let config = LocalActivationJournalConfig { declared_error_bytes_max: 0, ..Default::default() };
    let journal = journal(config.clone());
    let long = |letter: &str| letter.repeat(latent_core::id::ID_BYTES_MAX);
    let at = moment();
    let reservation = reserve(&journal, &long("t"), &long("a"), at);
    let detail = (0..16).fold(ErrorDetail::new(&long("k")), |detail, _| detail.with(&long("n"), "v".repeat(300)));
    let error = PlatformError::new(PlatformErrorCode::Internal, "m".repeat(600));
    let error = (0..8).fold(error, |error, _| error.with_detail(detail.clone()));
    let _outcome = publish(reservation, evidence(ExecutionOutcome::Failed(error)), at);
    let bytes = journal.audit().unwrap().retained_bytes;
    assert!(bytes <= config.reservation_bytes() && bytes > config.reservation_bytes() * 9 / 10, "{bytes}");
}

#[test]
fn the_record_itself_takes_no_more_than_is_counted_for_it() {
    let indexes = index::place_bytes();
    let latch = size_of::<StopLatch>();
    let own = size_of::<Record>() + indexes + latch;
    assert!(own <= usize::try_from(config::RECORD_BYTES).unwrap(), "{own}");
}

#[test]
fn one_more_than_may_be_under_way_is_refused_naming_the_bound() {
    let journal = journal(small());
    let at = moment();
    let first = reserve(&journal, "t", "a", at);
    let _second = reserve(&journal, "u", "a", at);
    let error = refused(&journal, "t", "b", at);
    assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted);
    assert_eq!(error.details()[0].kind(), "activation.journal-full");
    assert_eq!(error.details()[0].field("bound"), Some("active_max"));
    assert_eq!(error.details()[0].field("max"), Some("2"));
    assert!(error.is_retryable());
    let _outcome = publish(first, returned(), at);
    let _third = reserve(&journal, "t", "b", at);
    assert_eq!(journal.audit().unwrap().active, 2);
}

#[test]
fn room_for_the_end_is_set_aside_before_work_starts() {
    let config = LocalActivationJournalConfig {
        aggregate_bytes_max: 2 * LocalActivationJournalConfig::default().reservation_bytes(),
        ..Default::default()
    };
    let journal = journal(config);
    let at = moment();
    let one = reserve(&journal, "t", "a", at);
    let _other = reserve(&journal, "t", "b", at);
    let error = refused(&journal, "t", "c", at);
    assert_eq!(error.details()[0].field("bound"), Some("aggregate_bytes_max"));
    let declared = evidence(ExecutionOutcome::DeclaredError(Payload::octets(vec![0; 64 << 10])));
    let _outcome = publish(one, declared, at);
    assert!(journal.audit().unwrap().retained_bytes > 64 << 10, "the end had its room");
}

#[test]
fn ended_records_give_way_to_work_and_records_under_way_never_do() {
    let config = LocalActivationJournalConfig {
        aggregate_bytes_max: 2 * LocalActivationJournalConfig::default().reservation_bytes(),
        ..Default::default()
    };
    let journal = journal(config);
    let at = moment();
    let kept = reserve(&journal, "t", "kept", at);
    let declared = evidence(ExecutionOutcome::DeclaredError(Payload::octets(vec![0; 64 << 10])));
    let _outcome = publish(reserve(&journal, "t", "ended", at), declared, at);
    let _other = reserve(&journal, "t", "other", at);
    assert_eq!(journal.status(&tenant("t"), &id("ended"), at.monotonic), Lookup::Evicted);
    assert!(journal.status(&tenant("t"), &id("kept"), at.monotonic).found().is_some());
    assert_eq!(kept.status().terminal, None);
    let audit = journal.audit().unwrap();
    assert_eq!((audit.active, audit.terminal), (2, 0));
}

#[test]
fn a_refused_reservation_evicts_nothing_that_has_not_expired() {
    let journal = journal(small());
    let at = moment();
    run(&journal, "t", "ended", at);
    let _under_way = [reserve(&journal, "t", "a", at), reserve(&journal, "t", "b", at)];
    let _error = refused(&journal, "t", "c", at);
    assert!(journal.status(&tenant("t"), &id("ended"), at.monotonic).found().is_some());
}

#[test]
fn the_oldest_end_gives_way_when_too_many_are_retained() {
    let journal = journal(small());
    let at = moment();
    for text in ["a", "b", "c"] {
        run(&journal, "t", text, at);
    }
    assert_eq!(journal.status(&tenant("t"), &id("a"), at.monotonic), Lookup::Evicted);
    assert_eq!(state_of(&journal, "t", "b", at), Some(TerminalState::Completed));
    assert_eq!(journal.audit().unwrap().terminal, 2);
}

#[test]
fn an_id_that_is_under_way_or_retained_exists_already_for_its_tenant_alone() {
    let journal = journal(small());
    let at = moment();
    let first = reserve(&journal, "t", "a", at);
    let duplicate = refused(&journal, "t", "a", at);
    assert_eq!(duplicate.code(), PlatformErrorCode::AlreadyExists);
    assert_eq!(duplicate.details()[0].field("activation_id"), Some("a"));
    let _foreign = reserve(&journal, "u", "a", at);
    let _outcome = publish(first, returned(), at);
    assert_eq!(refused(&journal, "t", "a", at), duplicate, "under way and retained are told alike");
}

#[test]
fn an_expired_id_may_be_used_again() {
    let journal = standard();
    let at = moment();
    run(&journal, "t", "a", at);
    let retention = journal.config().terminal_retention;
    let before = later(at, retention.checked_sub(Duration::from_nanos(1)).unwrap());
    assert_eq!(refused(&journal, "t", "a", before).code(), PlatformErrorCode::AlreadyExists);
    let again = reserve(&journal, "t", "a", later(at, retention));
    assert_eq!(again.status().terminal, None);
    assert_eq!(journal.audit().unwrap().terminal, 0);
}

#[test]
fn an_id_that_expired_out_of_turn_is_replaced_alone() {
    let journal = standard();
    let at = moment();
    for text in ["a", "b", "c", "d", "e"] {
        run(&journal, "t", text, at);
    }
    let after = later(at, journal.config().terminal_retention);
    let _again = reserve(&journal, "t", "d", after);
    let audit = journal.audit().unwrap();
    assert_eq!((audit.active, audit.terminal, audit.evicted_ids), (1, 2, 3));
    assert_eq!(journal.sweep(after.monotonic), 2);
    assert_eq!(journal.audit().unwrap().terminal, 0);
}

#[test]
fn retention_ends_on_the_monotonic_clock_whatever_the_wall_clock_does() {
    let journal = standard();
    let at = moment();
    run(&journal, "t", "a", at);
    let retention = journal.config().terminal_retention;
    for jump in [wall() - Duration::from_hours(1), wall() + Duration::from_hours(366 * 24)] {
        let set = Moment { monotonic: at.monotonic + Duration::from_secs(1), wall: jump };
        drop(journal.reserve(tenant("u"), Lineage::root(id("x")), set));
        assert_eq!(state_of(&journal, "t", "a", set), Some(TerminalState::Completed));
    }
    let after = at.monotonic + retention;
    assert_eq!(journal.status(&tenant("t"), &id("a"), after), Lookup::Evicted);
    assert_eq!(journal.events(&tenant("t"), &id("a"), after), Lookup::Evicted);
    assert_eq!(journal.cancel(&tenant("t"), &id("a"), "", after), CancelDisposition::NotFound);
    assert!(journal.list(&tenant("t"), None, 10, after).rows.is_empty());
}

#[test]
fn records_under_way_never_expire() {
    let journal = standard();
    let at = moment();
    let reservation = reserve(&journal, "t", "a", at);
    let after = later(at, Duration::from_hours(24));
    assert_eq!(journal.sweep(after.monotonic), 0);
    assert!(journal.status(&tenant("t"), &id("a"), after.monotonic).found().is_some());
    let _outcome = publish(reservation, returned(), after);
    assert_eq!(state_of(&journal, "t", "a", after), Some(TerminalState::Completed), "kept from its end on");
}

#[test]
fn evicted_is_told_from_unknown_while_the_id_is_remembered() {
    let journal = journal(small());
    let at = moment();
    let ids = ["a", "b", "c", "d", "e"];
    for text in ids {
        run(&journal, "t", text, at);
    }
    let answers = ids.map(|text| journal.status(&tenant("t"), &id(text), at.monotonic).map(|_| ()));
    let found = Lookup::Found(());
    assert_eq!(answers, [Lookup::Unknown, Lookup::Evicted, Lookup::Evicted, found.clone(), found]);
    assert_eq!(journal.status(&tenant("u"), &id("b"), at.monotonic), Lookup::Unknown, "the memory is scoped too");
}

#[test]
fn a_foreign_record_looks_like_none_at_all() {
    let journal = standard();
    let at = moment();
    let reservation = reserve(&journal, "t", "a", at);
    let _own = reserve(&journal, "u", "mine", at);
    for (of, text) in [("u", "a"), ("u", "never"), ("nobody", "a")] {
        assert_eq!(journal.status(&tenant(of), &id(text), at.monotonic), Lookup::Unknown);
        assert_eq!(journal.events(&tenant(of), &id(text), at.monotonic), Lookup::Unknown);
        assert_eq!(journal.cancel(&tenant(of), &id(text), "mine", at.monotonic), CancelDisposition::NotFound);
    }
    assert_eq!(reservation.status().cancel_reason, None);
    assert!(!reservation.latch().cancel_requested());
    let page = journal.list(&tenant("u"), None, 10, at.monotonic);
    assert_eq!(page.rows.iter().map(|row| row.activation_id.as_str()).collect::<Vec<_>>(), ["mine"]);
    assert_eq!(journal.list(&tenant("nobody"), None, 10, at.monotonic).rows, []);
}

#[test]
fn a_list_comes_in_pages_newest_first_without_gaps_or_repeats() {
    let journal = standard();
    let at = moment();
    for number in 0..25 {
        run(&journal, "t", &format!("a{number}"), at);
        run(&journal, "u", &format!("b{number}"), at);
    }
    let (mut listed, mut from, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = journal.list(&tenant("t"), from, 10, at.monotonic);
        listed.extend(page.rows.iter().map(|row| row.activation_id.as_str().to_owned()));
        pages += 1;
        match page.next {
            Some(next) => from = Some(next),
            None => break,
        }
    }
    let expected: Vec<_> = (0..25).rev().map(|number| format!("a{number}")).collect();
    assert_eq!((listed, pages), (expected, 3));
}

#[test]
fn a_page_never_has_more_rows_than_a_page_may() {
    let journal = standard();
    let at = moment();
    for number in 0..PAGE_ROWS_MAX + 10 {
        run(&journal, "t", &format!("a{number}"), at);
    }
    let page = journal.list(&tenant("t"), None, usize::MAX, at.monotonic);
    assert_eq!(page.rows.len(), PAGE_ROWS_MAX);
    assert!(page.next.is_some());
    assert_eq!(journal.list(&tenant("t"), None, 0, at.monotonic).rows.len(), 1, "a page of nothing would never end");
}

#[test]
fn a_tenants_numbers_near_their_end_refuse_it_alone_and_never_wrap() {
    let journal = standard();
    let at = moment();
    let first = reserve(&journal, "t", "a", at);
    journal.lock().number_receptions_from(&tenant("t"), u64::MAX - 1);
    let last = reserve(&journal, "t", "last", at);
    for _ in 0..2 {
        let error = refused(&journal, "t", "b", at);
        assert_eq!(error.code(), PlatformErrorCode::Internal);
        assert!(error.has_detail("activation.journal-sequence-exhausted") && !error.is_retryable());
    }
    let _other = reserve(&journal, "u", "b", at);
    let _outcome = publish(first, returned(), at);
    drop(last);
    let listed = journal.list(&tenant("t"), None, 10, at.monotonic).rows;
    assert_eq!(listed.iter().map(|row| row.activation_id.as_str()).collect::<Vec<_>>(), ["last", "a"]);
    let audit = journal.audit().unwrap();
    assert_eq!((audit.active, audit.terminal), (1, 2), "those under way end as ever");
}

#[test]
fn a_time_before_the_latest_counts_as_the_latest() {
    let journal = standard();
    let at = moment();
    let early = reserve(&journal, "t", "early", at);
    let late = reserve(&journal, "t", "late", at);
    let after = later(at, Duration::from_secs(100));
    let _outcome = publish(late, returned(), after);
    let _outcome = publish(early, returned(), at);
    let retention = journal.config().terminal_retention;
    assert_eq!(state_of(&journal, "t", "early", later(at, retention)), Some(TerminalState::Completed));
    assert_eq!(state_of(&journal, "t", "early", later(after, retention)), None);
}
