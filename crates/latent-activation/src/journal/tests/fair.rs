//! What one tenant does takes nothing from another: neither its records nor its room for new ones.

use super::*;
use std::num::NonZeroUsize;

/// Ends the activations `numbers` of a tenant, each with that many bytes of a declared error.
fn run(journal: &Arc<LocalActivationJournal>, of: &str, numbers: std::ops::Range<usize>, bytes: usize, at: Moment) {
    for number in numbers {
        let declared = evidence(ExecutionOutcome::DeclaredError(Payload::octets(vec![0; bytes])));
        let _outcome = publish(reserve(journal, of, &number.to_string(), at), declared, at);
    }
}

/// Which of the activations `0..count` of a tenant are on record.
fn retained(journal: &LocalActivationJournal, of: &str, count: usize, at: Moment) -> Vec<usize> {
    let found = |number: &usize| state_of(journal, of, &number.to_string(), at).is_some();
    (0..count).filter(found).collect()
}

fn retaining(terminal_max: usize) -> Arc<LocalActivationJournal> {
    journal(LocalActivationJournalConfig { terminal_max, ..Default::default() })
}

/// Room for one reservation and some 100,000 bytes of ended records.
fn narrow() -> LocalActivationJournalConfig {
    let base = LocalActivationJournalConfig::default();
    LocalActivationJournalConfig { aggregate_bytes_max: base.reservation_bytes() + 100_000, ..base }
}

#[test]
fn a_tenant_that_ends_a_thousand_activations_evicts_its_own_records_and_no_id_of_another_comes_free() {
    let journal = standard();
    let at = moment();
    run(&journal, "u", 0..100, 0, at);
    run(&journal, "t", 0..3000, 0, at);
    assert_eq!(retained(&journal, "u", 100, at), (0..100).collect::<Vec<_>>());
    assert_eq!(retained(&journal, "t", 3000, at), (3000 - 924..3000).collect::<Vec<_>>(), "its own oldest went");
    for number in 0..100 {
        assert_eq!(refused(&journal, "u", &number.to_string(), at).code(), PlatformErrorCode::AlreadyExists);
    }
    assert_eq!(journal.audit().unwrap().terminal, 1024);
}

#[test]
fn a_tenant_alone_uses_all_there_is_and_gives_it_back_to_those_who_come() {
    let journal = retaining(6);
    let at = moment();
    run(&journal, "t", 0..8, 0, at);
    assert_eq!(retained(&journal, "t", 8, at), [2, 3, 4, 5, 6, 7]);
    run(&journal, "u", 0..2, 0, at);
    assert_eq!((retained(&journal, "t", 8, at), retained(&journal, "u", 2, at)), (vec![4, 5, 6, 7], vec![0, 1]));
    run(&journal, "u", 2..9, 0, at);
    assert_eq!((retained(&journal, "t", 8, at), retained(&journal, "u", 9, at)), (vec![5, 6, 7], vec![6, 7, 8]));
    assert_eq!(journal.audit().unwrap().terminal, 6);
}

#[test]
fn of_tenants_that_hold_as_much_the_one_with_the_oldest_record_gives_way() {
    let journal = retaining(4);
    let at = moment();
    for number in 0..2 {
        run(&journal, "t", number..number + 1, 0, at);
        run(&journal, "u", number..number + 1, 0, at);
    }
    run(&journal, "v", 0..1, 0, at);
    assert_eq!((retained(&journal, "t", 2, at), retained(&journal, "u", 2, at)), (vec![1], vec![0, 1]));
    run(&journal, "v", 1..2, 0, at);
    assert_eq!((retained(&journal, "u", 2, at), retained(&journal, "v", 2, at)), (vec![1], vec![0, 1]));
    run(&journal, "w", 0..1, 0, at);
    assert_eq!(retained(&journal, "v", 2, at), [1], "it alone has two");
    run(&journal, "x", 0..1, 0, at);
    assert_eq!(retained(&journal, "t", 2, at), [], "all have one, and its is the oldest");
    assert_eq!(journal.audit().unwrap().terminal, 4);
}

#[test]
fn bytes_are_taken_from_whoever_holds_most_bytes_however_few_its_records() {
    let journal = journal(narrow());
    let at = moment();
    run(&journal, "u", 0..10, 0, at);
    run(&journal, "t", 0..5, 30_000, at);
    assert_eq!(retained(&journal, "u", 10, at), (0..10).collect::<Vec<_>>());
    let _next = reserve(&journal, "u", "next", at);
    assert_eq!(retained(&journal, "t", 5, at), [3, 4]);
    assert_eq!(retained(&journal, "u", 10, at), (0..10).collect::<Vec<_>>());
    let audit = journal.audit().unwrap();
    assert!(audit.retained_bytes <= 100_000 && audit.terminal == 12, "{audit:?}");
}

#[test]
fn what_has_expired_gives_way_before_any_record_that_has_not() {
    let config = LocalActivationJournalConfig { active_max: 4, terminal_max: 3, ..Default::default() };
    let journal = journal(config);
    let at = moment();
    let late = ["0", "1", "2"].map(|text| reserve(&journal, "t", text, at));
    run(&journal, "u", 0..1, 0, at);
    let after = later(at, journal.config().terminal_retention);
    for reservation in late {
        let _outcome = publish(reservation, returned(), after);
    }
    assert_eq!(retained(&journal, "t", 3, after), [0, 1, 2]);
    assert_eq!(journal.audit().unwrap().terminal, 3);
}

#[test]
fn counts_are_exact_after_evictions_and_expiry() {
    let journal = retaining(5);
    let at = moment();
    let half = later(at, journal.config().terminal_retention / 2);
    run(&journal, "t", 0..4, 0, at);
    run(&journal, "u", 0..3, 0, half);
    assert_eq!((retained(&journal, "t", 4, half), retained(&journal, "u", 3, half)), (vec![2, 3], vec![0, 1, 2]));
    let after = later(at, journal.config().terminal_retention);
    assert_eq!(journal.sweep(after.monotonic), 2);
    assert_eq!(journal.audit().unwrap().terminal, 3);
    run(&journal, "t", 0..2, 0, after);
    assert_eq!(journal.audit().unwrap().terminal, 5);
    run(&journal, "t", 2..4, 0, after);
    assert_eq!((retained(&journal, "t", 4, after), retained(&journal, "u", 3, after)), (vec![1, 2, 3], vec![1, 2]));
    let end = later(after, journal.config().terminal_retention);
    assert_eq!(journal.sweep(end.monotonic), 5);
    let audit = journal.audit().unwrap();
    assert_eq!((audit.terminal, audit.retained_bytes), (0, 0));
}

#[test]
fn a_tenant_that_holds_all_it_may_under_way_leaves_room_for_the_others() {
    let shared = LocalActivationJournalConfig::default().shared_by(NonZeroUsize::new(4).unwrap());
    let journal = journal(shared);
    let at = moment();
    let mut held: Vec<_> = (0..16).map(|number| reserve(&journal, "t", &number.to_string(), at)).collect();
    let error = refused(&journal, "t", "next", at);
    assert!(error.is_retryable() && error.has_detail("activation.journal-full"));
    assert_eq!(error.details()[0].field("bound"), Some("tenant_active_max"));
    assert_eq!(error.details()[0].field("max"), Some("16"));
    for of in ["u", "v", "w"] {
        held.extend((0..16).map(|number| reserve(&journal, of, &number.to_string(), at)));
    }
    assert_eq!(journal.audit().unwrap().active, 64);
    assert_eq!(refused(&journal, "t", "next", at), error, "what it is told says nothing of the others");
    assert_eq!(refused(&journal, "x", "next", at).details()[0].field("bound"), Some("active_max"));
    drop(held.swap_remove(0));
    let _next = reserve(&journal, "t", "next", at);
}

#[test]
fn ended_records_do_not_count_as_under_way() {
    let journal = journal(LocalActivationJournalConfig { tenant_active_max: 1, ..Default::default() });
    let at = moment();
    run(&journal, "t", 0..3, 0, at);
    let _one = reserve(&journal, "t", "a", at);
    let error = refused(&journal, "t", "b", at);
    assert_eq!(error.details()[0].field("bound"), Some("tenant_active_max"));
    assert_eq!(refused(&journal, "t", "a", at).code(), PlatformErrorCode::AlreadyExists, "the same as ever");
}

#[test]
fn a_share_is_of_what_there_is_room_for_and_never_nothing() {
    let shared = |config: LocalActivationJournalConfig, tenants| {
        config.shared_by(NonZeroUsize::new(tenants).unwrap()).tenant_active_max
    };
    let base = LocalActivationJournalConfig::default;
    assert_eq!([1, 3, 64, 1000].map(|tenants| shared(base(), tenants)), [64, 21, 1, 1]);
    let narrow = LocalActivationJournalConfig { aggregate_bytes_max: 10 * base().reservation_bytes(), ..base() };
    assert_eq!(shared(narrow, 2), 5);
}
