//! What an end is, what is kept of it, and that there is exactly one.

use super::*;

pub(super) fn resolved() -> latent_core::ResolvedRevision {
    let digest = latent_core::Sha256Digest::of(b"component");
    latent_core::ResolvedRevision {
        tenant: tenant("t"),
        service: latent_core::ServiceName::new("s").unwrap(),
        route: latent_core::RouteName::new("default").unwrap(),
        deployment: latent_core::DeploymentId::new("d").unwrap(),
        revision: latent_core::RevisionId::new(digest),
        release: digest,
        route_generation: 7,
    }
}

fn terminal_of(journal: &LocalActivationJournal, text: &str, at: Moment) -> TerminalRecord {
    journal.status(&tenant("t"), &id(text), at.monotonic).found().unwrap().terminal.unwrap()
}

/// The record of an activation that ended so.
fn ended(execution: ExecutionOutcome) -> (ActivationOutcome, TerminalRecord) {
    let (journal, at) = (standard(), moment());
    let outcome = publish(reserve(&journal, "t", "a", at), evidence(execution), at);
    let terminal = terminal_of(&journal, "a", at);
    (outcome, terminal)
}

#[test]
fn a_record_goes_through_every_phase_and_is_pinned_to_its_revision() {
    let (journal, start) = (standard(), moment());
    let mut reservation = reserve(&journal, "t", "a", start);
    let step = |millis| start.monotonic + Duration::from_millis(millis);
    reservation.resolved(resolved(), step(1)).unwrap();
    let rest =
        [LifecyclePhase::Admitted, LifecyclePhase::Queued, LifecyclePhase::Materializing, LifecyclePhase::Running];
    for (phase, millis) in rest.into_iter().zip(2..) {
        reservation.advance(phase, step(millis)).unwrap();
        assert_eq!(reservation.status().phase, phase);
    }
    let published = reservation.publish(returned(), BudgetConsumption::default(), step(9));
    let events = journal.events(&tenant("t"), &id("a"), step(9)).found().unwrap();
    assert_eq!(events, published.progress.events().collect::<Vec<_>>());
    assert_eq!(events.len(), EVENTS_MAX);
    assert_eq!(events.iter().filter(|event| event.terminal.is_some()).count(), 1);
    assert_eq!(events.iter().map(|event| event.sequence).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    let status = journal.status(&tenant("t"), &id("a"), step(9)).found().unwrap();
    assert_eq!((status.resolved, status.phase, status.sequence), (Some(resolved()), LifecyclePhase::Running, 7));
    assert_eq!(status.terminal.unwrap().since_start, Duration::from_millis(9));
}

#[test]
fn a_revision_is_pinned_once_and_by_nothing_else() {
    let (journal, at) = (standard(), moment());
    let mut reservation = reserve(&journal, "t", "a", at);
    let by_phase = reservation.advance(LifecyclePhase::Resolved, at.monotonic);
    assert!(matches!(by_phase, Err(PhaseRefusal::OutOfOrder { .. })));
    reservation.resolved(resolved(), at.monotonic).unwrap();
    let later = latent_core::ResolvedRevision { route_generation: 8, ..resolved() };
    assert!(reservation.resolved(later, at.monotonic).is_err());
    assert_eq!(reservation.status().resolved, Some(resolved()));
}

#[test]
fn an_early_failure_has_no_revision_and_ends_where_it_was() {
    let (journal, at) = (standard(), moment());
    let error = PlatformError::new(PlatformErrorCode::RouteUnavailable, "no such route");
    let _outcome = publish(reserve(&journal, "t", "a", at), evidence(ExecutionOutcome::Failed(error)), at);
    let status = journal.status(&tenant("t"), &id("a"), at.monotonic).found().unwrap();
    assert_eq!((status.resolved, status.phase), (None, LifecyclePhase::Received));
    assert_eq!(status.terminal.unwrap().state, TerminalState::DependencyFailed);
}

#[test]
fn every_end_has_the_specifications_classification() {
    use ExecutionOutcome as E;
    use PlatformErrorCode as Code;
    use TerminalState as State;
    let failed = |code| E::Failed(PlatformError::new(code, "because"));
    let table = [
        (E::Returned(Payload::json("1")), State::Completed),
        (E::DeclaredError(Payload::json("1")), State::Completed),
        (E::Cancelled, State::Cancelled),
        (E::DeadlineExceeded, State::DeadlineExceeded),
        (E::FuelExhausted, State::ResourceExhausted),
        (E::MemoryExhausted, State::ResourceExhausted),
        (E::LimitExceeded { kind: "activation.table-exhausted", limit: 1 }, State::ResourceExhausted),
        (E::Trapped { category: "unreachable" }, State::GuestTrap),
        (failed(Code::StateConflict), State::StateConflict),
        (failed(Code::RouteUnavailable), State::DependencyFailed),
        (failed(Code::Unavailable), State::DependencyFailed),
        (failed(Code::DependencyFailed), State::DependencyFailed),
        (failed(Code::InvalidArgument), State::Rejected),
        (failed(Code::AdmissionRejected), State::Rejected),
        (failed(Code::IncompatibleContract), State::Rejected),
        (failed(Code::CorruptArtifact), State::Rejected),
        (failed(Code::Internal), State::PlatformFailed),
    ];
    for (execution, state) in table {
        let shown = format!("{execution:?}");
        let (outcome, terminal) = ended(execution);
        assert_eq!((outcome.terminal_state(), terminal.state), (state, state), "{shown}");
    }
}

#[test]
fn a_denied_activation_is_rejected_where_one_that_ran_out_is_exhausted() {
    let full = || PlatformError::new(PlatformErrorCode::ResourceExhausted, "the queue is full").retryable();
    let unavailable = || PlatformError::new(PlatformErrorCode::Unavailable, "no cell is left");
    let denied = |error: PlatformError, deadline_elapsed| {
        let (journal, at) = (standard(), moment());
        let denial = Evidence { deadline_elapsed, ..evidence(ExecutionOutcome::Failed(error)) };
        let published = reserve(&journal, "t", "a", at).publish_denial(denial, at.monotonic);
        assert_eq!(state_of(&journal, "t", "a", at), Some(published.outcome.terminal_state()));
        published.outcome
    };
    let rejected = ActivationOutcome::Failed { terminal_state: TerminalState::Rejected, error: full() };
    assert_eq!(denied(full(), false), rejected);
    assert_eq!(denied(full(), true).terminal_state(), TerminalState::DeadlineExceeded);
    assert_eq!(denied(unavailable(), false).terminal_state(), TerminalState::DependencyFailed);
    let (ran_out, _) = ended(ExecutionOutcome::Failed(full()));
    assert_eq!(ran_out.terminal_state(), TerminalState::ResourceExhausted);
}

#[test]
fn success_and_declared_error_stay_distinct_in_the_record() {
    let (_, success) = ended(ExecutionOutcome::Returned(Payload::json("{\"err\":1}")));
    let RetainedOutcome::Succeeded(summary) = success.outcome else { panic!("{:?}", success.outcome) };
    assert_eq!((summary.media_type, summary.output_bytes), (MediaType::Json, 9));
    let (_, declared) = ended(ExecutionOutcome::DeclaredError(Payload::json("1")));
    let expected = RetainedOutcome::DeclaredError(RetainedDeclaredError::Whole(Payload::json("1")));
    assert_eq!(declared.outcome, expected, "whatever the payload looks like");
}

#[test]
fn a_success_is_kept_without_its_output_and_without_state_or_effects() {
    let (journal, at) = (standard(), moment());
    let output = Payload::octets(vec![7; 1 << 20]);
    let execution = ExecutionOutcome::Returned(output.clone());
    let outcome = publish(reserve(&journal, "t", "a", at), evidence(execution), at);
    assert_eq!(outcome, ActivationOutcome::Succeeded { output }, "the caller gets all of it");
    let RetainedOutcome::Succeeded(summary) = terminal_of(&journal, "a", at).outcome else { panic!("not a success") };
    assert_eq!((summary.media_type, summary.output_bytes), (MediaType::OctetStream, 1 << 20));
    assert!(summary.state_version.is_none() && summary.effect_ids.is_empty());
    assert!(journal.audit().unwrap().retained_bytes < 4096);
}

#[test]
fn a_declared_error_is_kept_up_to_its_bound_and_told_by_its_size_beyond() {
    let config = LocalActivationJournalConfig { declared_error_bytes_max: 8, ..Default::default() };
    let (journal, at) = (journal(config), moment());
    for (text, bytes) in [("fits", 8_usize), ("does-not", 9)] {
        let execution = ExecutionOutcome::DeclaredError(Payload::octets(vec![1; bytes]));
        let outcome = publish(reserve(&journal, "t", text, at), evidence(execution), at);
        assert!(matches!(outcome, ActivationOutcome::DeclaredError { error } if error.bytes.len() == bytes));
    }
    let kept = |text| terminal_of(&journal, text, at).outcome;
    let whole = RetainedDeclaredError::Whole(Payload::octets(vec![1; 8]));
    assert_eq!(kept("fits"), RetainedOutcome::DeclaredError(whole));
    let too_large = RetainedDeclaredError::TooLarge { media_type: MediaType::OctetStream, bytes: 9 };
    assert_eq!(kept("does-not"), RetainedOutcome::DeclaredError(too_large));
}

#[test]
fn a_retained_error_does_not_keep_the_buffer_that_it_was_cut_from() {
    struct Buffer(Vec<u8>, Arc<AtomicUsize>);
    impl AsRef<[u8]> for Buffer {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    impl Drop for Buffer {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::Relaxed);
        }
    }
    let freed = Arc::new(AtomicUsize::new(0));
    let slice = Bytes::from_owner(Buffer(vec![0; 1 << 20], freed.clone())).slice(..4);
    let (journal, at) = (standard(), moment());
    let execution = ExecutionOutcome::DeclaredError(Payload::octets(slice));
    drop(publish(reserve(&journal, "t", "a", at), evidence(execution), at));
    assert_eq!(freed.load(Ordering::Relaxed), 1);
}

#[test]
fn an_end_keeps_outcome_consumption_and_both_times() {
    let (journal, start) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", start);
    let used = BudgetConsumption {
        fuel: 5,
        peak_memory_bytes: 6,
        wall_time: Duration::from_secs(1),
        log_bytes: 7,
        outbound_requests: 8,
    };
    let trapped = evidence(ExecutionOutcome::Trapped { category: "unreachable" });
    let end = later(start, Duration::from_secs(2));
    let published = reservation.publish(trapped, used, end.monotonic);
    let terminal = terminal_of(&journal, "a", end);
    let ActivationOutcome::Failed { error, .. } = published.outcome else { panic!("a trap is a failure") };
    assert_eq!(terminal.outcome, RetainedOutcome::Failed(error));
    assert_eq!((terminal.consumption, terminal.since_start, terminal.at), (used, Duration::from_secs(2), end.wall));
}

#[test]
fn precedence_is_cancel_then_deadline_then_transport_then_result() {
    let end = |cancelled: bool, deadline_elapsed: bool, execution: ExecutionOutcome| {
        let (journal, at) = (standard(), moment());
        let reservation = reserve(&journal, "t", "a", at);
        if cancelled {
            let _accepted = journal.cancel(&tenant("t"), &id("a"), "stop", at.monotonic);
        }
        publish(reservation, Evidence { deadline_elapsed, ..evidence(execution) }, at)
    };
    let result = || ExecutionOutcome::Returned(Payload::json("1"));
    let failed = |error| ActivationOutcome::failed(error);
    assert_eq!(end(true, true, result()), failed(PlatformError::cancelled()));
    assert_eq!(end(true, true, ExecutionOutcome::TransportStopped), failed(PlatformError::cancelled()));
    assert_eq!(end(false, true, ExecutionOutcome::TransportStopped), failed(PlatformError::deadline_exceeded()));
    assert_eq!(end(false, true, result()), failed(PlatformError::deadline_exceeded()));
    let ActivationOutcome::Failed { error, .. } = end(false, false, ExecutionOutcome::TransportStopped) else {
        panic!("a transport stop is a failure")
    };
    assert!(error.has_detail("activation.transport-stopped"));
    assert!(matches!(end(false, false, result()), ActivationOutcome::Succeeded { .. }));
}

#[test]
fn a_failed_disposition_wins_over_an_accepted_cancel_and_keeps_its_reason_on_record() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let _accepted = journal.cancel(&tenant("t"), &id("a"), "stop", at.monotonic);
    let cause = PlatformError::new(PlatformErrorCode::Internal, "lost");
    let failure = DispositionFailure::Release { cell: CellId::new("c"), cause };
    let _outcome = publish(reservation, Evidence { disposition_failure: Some(failure), ..returned() }, at);
    let status = journal.status(&tenant("t"), &id("a"), at.monotonic).found().unwrap();
    assert_eq!(status.terminal.unwrap().state, TerminalState::PlatformFailed);
    assert_eq!(status.cancel_reason.as_deref(), Some("stop"));
}

#[test]
fn only_the_journal_says_whether_a_cancel_was_accepted() {
    let (journal, at) = (standard(), moment());
    let claimed = Evidence { cancel_accepted: true, ..returned() };
    let outcome = publish(reserve(&journal, "t", "a", at), claimed, at);
    assert!(matches!(outcome, ActivationOutcome::Succeeded { .. }), "nobody cancelled");
}

#[test]
fn a_dropped_reservation_leaves_an_abandoned_record_with_what_was_used() {
    let (journal, at) = (standard(), moment());
    let mut reservation = reserve(&journal, "t", "a", at);
    let ledger = Arc::new(BudgetLedger::new(ResourceBudget::default()));
    reservation.account(ledger.clone());
    ledger.observe_fuel(99);
    drop(reservation);
    let terminal = terminal_of(&journal, "a", at);
    let RetainedOutcome::Failed(error) = terminal.outcome else { panic!("abandonment is a failure") };
    assert!(error.has_detail("activation.abandoned"));
    assert_eq!((terminal.state, terminal.consumption.fuel), (TerminalState::Cancelled, 99));
    let audit = journal.audit().unwrap();
    assert_eq!((audit.active, audit.terminal, audit.reserved_bytes), (0, 1, 0));
}

#[test]
fn a_drop_after_an_accepted_cancel_is_a_cancelled_end() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let _accepted = journal.cancel(&tenant("t"), &id("a"), "stop", at.monotonic);
    drop(reservation);
    let RetainedOutcome::Failed(error) = terminal_of(&journal, "a", at).outcome else { panic!("not a failure") };
    assert!(error.has_detail("activation.cancelled"));
}

#[test]
fn a_panic_of_the_owner_leaves_a_terminal_record() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let panicked = thread::spawn(move || {
        let _held = reservation;
        panic!("the owner fails");
    });
    assert!(panicked.join().is_err());
    assert_eq!(state_of(&journal, "t", "a", at), Some(TerminalState::Cancelled));
    assert_eq!(journal.audit().unwrap().active, 0);
}

#[test]
fn a_drop_counts_from_the_latest_time_that_the_journal_was_told() {
    let (journal, start) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", start);
    let seen = later(start, Duration::from_mins(1));
    assert_eq!(journal.sweep(seen.monotonic), 0);
    drop(reservation);
    assert_eq!(terminal_of(&journal, "a", seen).since_start, Duration::from_mins(1));
}

#[test]
fn abandoning_is_an_end_at_a_given_time_with_given_consumption() {
    let (journal, start) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", start);
    let used = BudgetConsumption { log_bytes: 3, ..BudgetConsumption::default() };
    reservation.abandon(used, start.monotonic + Duration::from_secs(1));
    let terminal = terminal_of(&journal, "a", start);
    assert_eq!((terminal.consumption, terminal.since_start), (used, Duration::from_secs(1)));
}

#[test]
fn an_end_gives_the_latch_back() {
    let (journal, at) = (standard(), moment());
    let reservation = reserve(&journal, "t", "a", at);
    let latch = Arc::downgrade(reservation.latch());
    let _outcome = publish(reservation, returned(), at);
    assert_eq!(latch.strong_count(), 0, "a retained record holds no waker");
}
