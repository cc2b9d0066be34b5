//! The journal under every interleaving of two or three threads. Only with `--cfg latent_loom`:
//!
//! `RUSTFLAGS="--cfg latent_loom" cargo test --release -p latent-activation --test loom --target-dir target/loom`
#![cfg(latent_loom)]
#![expect(clippy::disallowed_methods, reason = "tests make their own instants")]

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use latent_activation::journal::{JournalReservation, Lookup};
use latent_activation::{
    CancelDisposition, Evidence, LifecyclePhase, Lineage, LocalActivationJournal, LocalActivationJournalConfig, Moment,
};
use latent_core::{
    ActivationId, BudgetConsumption, DeploymentId, ExecutionOutcome, Payload, ResolvedRevision, RevisionId, RouteName,
    ServiceName, Sha256Digest, TenantId, TerminalState,
};
use loom::thread;

fn tenant() -> TenantId {
    TenantId::new("t").unwrap()
}

fn id() -> ActivationId {
    ActivationId::new("a").unwrap()
}

fn journal() -> Arc<LocalActivationJournal> {
    Arc::new(LocalActivationJournal::new(LocalActivationJournalConfig::default()).unwrap())
}

fn reserve(journal: &Arc<LocalActivationJournal>, at: Instant) -> Option<JournalReservation> {
    let received = Moment { monotonic: at, wall: SystemTime::UNIX_EPOCH };
    journal.reserve(tenant(), Lineage::root(id()), received).ok()
}

fn returned() -> Evidence {
    Evidence::of(ExecutionOutcome::Returned(Payload::json("1")))
}

fn publish(reservation: JournalReservation, at: Instant) -> TerminalState {
    reservation.publish(returned(), BudgetConsumption::default(), at).outcome.terminal_state()
}

fn terminal(journal: &LocalActivationJournal, at: Instant) -> Option<TerminalState> {
    let status = journal.status(&tenant(), &id(), at).found().expect("the record stays");
    status.terminal.map(|terminal| terminal.state)
}

fn resolved() -> ResolvedRevision {
    let digest = Sha256Digest::of(b"component");
    ResolvedRevision {
        tenant: tenant(),
        service: ServiceName::new("s").unwrap(),
        route: RouteName::new("default").unwrap(),
        deployment: DeploymentId::new("d").unwrap(),
        revision: RevisionId::new(digest),
        release: digest,
        route_generation: 1,
    }
}

/// What a cancel's answer and a published state have to agree on.
fn assert_agree(answer: CancelDisposition, published: TerminalState) {
    match answer {
        CancelDisposition::Accepted => assert_eq!(published, TerminalState::Cancelled),
        CancelDisposition::AlreadyTerminal(state) => assert_eq!(state, published),
        CancelDisposition::NotFound => panic!("the record is there all the time"),
    }
}

#[test]
fn cancel_against_publication() {
    let at = Instant::now();
    loom::model(move || {
        let journal = journal();
        let reservation = reserve(&journal, at).unwrap();
        let latch = reservation.latch().clone();
        let canceller = thread::spawn({
            let journal = journal.clone();
            move || journal.cancel(&tenant(), &id(), "", at)
        });
        let published = publish(reservation, at);
        let answer = canceller.join().unwrap();
        assert_agree(answer, published);
        assert_eq!(latch.cancel_requested(), answer == CancelDisposition::Accepted);
        assert_eq!(terminal(&journal, at), Some(published));
        journal.audit().unwrap();
    });
}

#[test]
fn two_cancels_against_publication() {
    let at = Instant::now();
    loom::model(move || {
        let journal = journal();
        let reservation = reserve(&journal, at).unwrap();
        let cancellers = ["one", "other"].map(|reason| {
            let journal = journal.clone();
            thread::spawn(move || journal.cancel(&tenant(), &id(), reason, at))
        });
        let published = publish(reservation, at);
        for canceller in cancellers {
            assert_agree(canceller.join().unwrap(), published);
        }
        let reason = journal.status(&tenant(), &id(), at).found().unwrap().cancel_reason;
        assert_eq!(reason.is_some(), published == TerminalState::Cancelled);
    });
}

#[test]
fn a_query_against_publication_sees_one_state_or_the_other_and_never_goes_back() {
    let at = Instant::now();
    loom::model(move || {
        let journal = journal();
        let reservation = reserve(&journal, at).unwrap();
        let asker = thread::spawn({
            let journal = journal.clone();
            move || {
                let first = terminal(&journal, at);
                (first, terminal(&journal, at), journal.audit())
            }
        });
        let published = publish(reservation, at);
        let (first, second, audit) = asker.join().unwrap();
        assert!(first.is_none() || first == second);
        assert!(second.is_none() || second == Some(published));
        audit.unwrap();
        journal.audit().unwrap();
    });
}

#[test]
fn a_query_against_an_advance_sees_a_phase_with_its_time() {
    let at = Instant::now();
    loom::model(move || {
        let journal = journal();
        let mut reservation = reserve(&journal, at).unwrap();
        let asker = thread::spawn({
            let journal = journal.clone();
            move || journal.events(&tenant(), &id(), at).found().unwrap()
        });
        reservation.resolved(resolved(), at + Duration::from_secs(1)).unwrap();
        reservation.advance(LifecyclePhase::Admitted, at + Duration::from_secs(2)).unwrap();
        for event in asker.join().unwrap() {
            assert_eq!(event.since_start, Duration::from_secs(event.sequence - 1), "{event:?}");
        }
    });
}

#[test]
fn cancel_against_a_dropped_reservation() {
    let at = Instant::now();
    loom::model(move || {
        let journal = journal();
        let reservation = reserve(&journal, at).unwrap();
        let canceller = thread::spawn({
            let journal = journal.clone();
            move || journal.cancel(&tenant(), &id(), "why", at)
        });
        drop(reservation);
        let answer = canceller.join().unwrap();
        assert_agree(answer, TerminalState::Cancelled);
        let status = journal.status(&tenant(), &id(), at).found().unwrap();
        assert_eq!(status.cancel_reason.is_some(), answer == CancelDisposition::Accepted);
        assert_eq!(journal.audit().unwrap().active, 0);
    });
}

#[test]
fn of_two_reservations_of_one_id_one_is_made() {
    let at = Instant::now();
    loom::model(move || {
        let journal = journal();
        let racer = thread::spawn({
            let journal = journal.clone();
            move || reserve(&journal, at)
        });
        let mine = reserve(&journal, at);
        let theirs = racer.join().unwrap();
        assert!(mine.is_some() != theirs.is_some());
        assert_eq!(journal.audit().unwrap().active, 1);
    });
}

#[test]
fn publication_against_an_eviction_for_room() {
    let at = Instant::now();
    loom::model(move || {
        let config = LocalActivationJournalConfig { terminal_max: 1, ..LocalActivationJournalConfig::default() };
        let journal = Arc::new(LocalActivationJournal::new(config).unwrap());
        let other = ActivationId::new("b").unwrap();
        let received = Moment { monotonic: at, wall: SystemTime::UNIX_EPOCH };
        let second = journal.reserve(tenant(), Lineage::root(other.clone()), received).unwrap();
        let first = reserve(&journal, at).unwrap();
        let racer = thread::spawn(move || publish(second, at));
        assert_eq!(publish(first, at), TerminalState::Completed);
        assert_eq!(racer.join().unwrap(), TerminalState::Completed);
        let answers = [id(), other].map(|id| journal.status(&tenant(), &id, at).map(|_| ()));
        assert!(answers.contains(&Lookup::Found(())) && answers.contains(&Lookup::Evicted));
        assert_eq!(journal.audit().unwrap().terminal, 1);
    });
}
