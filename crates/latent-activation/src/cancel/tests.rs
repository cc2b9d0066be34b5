//! The registry's rules: bounds, scope, first reason, exact removal, and its order against racing cancels.

use super::*;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::thread;

fn tenant(text: &str) -> TenantId {
    TenantId::new(text).unwrap()
}

fn id(text: &str) -> ActivationId {
    ActivationId::new(text).unwrap()
}

fn registry(max: usize) -> Arc<CancellationRegistry> {
    Arc::new(CancellationRegistry::new(max))
}

#[test]
fn an_accepted_cancel_sets_the_latch_and_keeps_its_first_reason() {
    let registry = registry(1);
    let latch = Arc::new(StopLatch::new());
    let registration = registry.register(&tenant("t"), &id("a"), latch.clone()).unwrap();
    assert!(!registration.accepted() && registration.reason().is_none());
    assert_eq!(registry.cancel(&tenant("t"), &id("a"), "first"), CancelDisposition::Accepted);
    assert_eq!(registry.cancel(&tenant("t"), &id("a"), "second"), CancelDisposition::Accepted);
    assert!(registration.accepted() && latch.cancel_requested());
    assert_eq!(registration.reason().as_deref(), Some("first"));
}

#[test]
fn reasons_are_cut_between_characters() {
    let registry = registry(1);
    let registration = registry.register(&tenant("t"), &id("a"), Arc::default()).unwrap();
    let _accepted = registry.cancel(&tenant("t"), &id("a"), &"é".repeat(1000));
    assert_eq!(registration.reason().as_deref(), Some(&*"é".repeat(REASON_BYTES_MAX / 2)));
}

#[test]
fn a_foreign_tenant_an_unknown_id_and_a_removed_registration_are_not_found() {
    let registry = registry(2);
    let registration = registry.register(&tenant("t"), &id("a"), Arc::default()).unwrap();
    assert_eq!(registry.cancel(&tenant("u"), &id("a"), ""), CancelDisposition::NotFound);
    assert_eq!(registry.cancel(&tenant("t"), &id("b"), ""), CancelDisposition::NotFound);
    assert!(!registration.accepted());
    drop(registration);
    assert_eq!(registry.cancel(&tenant("t"), &id("a"), ""), CancelDisposition::NotFound);
    assert_eq!(registry.registrations(), 0);
}

#[test]
fn two_tenants_share_an_id_without_meeting() {
    let registry = registry(2);
    let one = registry.register(&tenant("t"), &id("a"), Arc::default()).unwrap();
    let other = registry.register(&tenant("u"), &id("a"), Arc::default()).unwrap();
    let _accepted = registry.cancel(&tenant("u"), &id("a"), "mine");
    assert!(!one.accepted() && other.accepted());
}

#[test]
fn a_duplicate_is_refused_and_leaves_the_first_alone() {
    let registry = registry(1);
    let first = registry.register(&tenant("t"), &id("a"), Arc::default()).unwrap();
    let error = registry.register(&tenant("t"), &id("a"), Arc::default()).unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::AlreadyExists);
    assert!(error.has_detail("activation.duplicate") && !error.is_retryable());
    assert_eq!(registry.cancel(&tenant("t"), &id("a"), ""), CancelDisposition::Accepted);
    assert!(first.accepted());
}

#[test]
fn a_full_registry_refuses_and_takes_the_next_after_a_removal() {
    let registry = registry(2);
    let one = registry.register(&tenant("t"), &id("a"), Arc::default()).unwrap();
    let two = registry.register(&tenant("t"), &id("b"), Arc::default()).unwrap();
    let error = registry.register(&tenant("t"), &id("c"), Arc::default()).unwrap_err();
    assert_eq!(error.code(), PlatformErrorCode::ResourceExhausted);
    assert!(error.is_retryable());
    assert_eq!(error.details()[0].kind(), "activation.registrations-exhausted");
    assert_eq!(error.details()[0].field("max"), Some("2"));
    drop(one);
    let three = registry.register(&tenant("t"), &id("c"), Arc::default()).unwrap();
    let _accepted = registry.cancel(&tenant("t"), &id("c"), "");
    assert!(three.accepted() && !two.accepted(), "a reused slot belongs to its new activation alone");
}

#[test]
fn a_reused_slot_starts_uncancelled() {
    let registry = registry(1);
    let first = registry.register(&tenant("t"), &id("a"), Arc::default()).unwrap();
    let _accepted = registry.cancel(&tenant("t"), &id("a"), "old");
    drop(first);
    let second = registry.register(&tenant("t"), &id("b"), Arc::default()).unwrap();
    assert!(!second.accepted() && second.reason().is_none());
}

#[test]
fn a_registry_of_zero_places_refuses_everything() {
    let error = registry(0).register(&tenant("t"), &id("a"), Arc::default()).unwrap_err();
    assert!(error.has_detail("activation.registrations-exhausted"));
}

#[test]
fn the_latch_is_woken_outside_the_lock() {
    struct CallsBack(Arc<CancellationRegistry>, AtomicUsize);
    impl Wake for CallsBack {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(self.0.registrations(), Ordering::Relaxed);
        }
    }
    let registry = registry(1);
    let latch = Arc::new(StopLatch::new());
    let woken = Arc::new(CallsBack(registry.clone(), AtomicUsize::new(0)));
    latch.register(&Waker::from(woken.clone()));
    let _registration = registry.register(&tenant("t"), &id("a"), latch).unwrap();
    let _accepted = registry.cancel(&tenant("t"), &id("a"), "");
    assert_eq!(woken.1.load(Ordering::Relaxed), 1, "the waker took the registry's lock itself");
}

#[test]
fn ten_thousand_racing_cancels_agree_with_the_one_removal() {
    let registry = registry(1);
    for _ in 0..100 {
        let registration = registry.register(&tenant("t"), &id("a"), Arc::default()).unwrap();
        let start = Barrier::new(5);
        let (accepted, seen) = thread::scope(|scope| {
            let cancels: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        let answers = (0..25).map(|_| registry.cancel(&tenant("t"), &id("a"), "race"));
                        answers.filter(|answer| *answer == CancelDisposition::Accepted).count()
                    })
                })
                .collect();
            start.wait();
            let seen = registration.accepted();
            drop(registration);
            (cancels.into_iter().map(|cancel| cancel.join().unwrap()).sum::<usize>(), seen)
        });
        assert!(!seen || accepted > 0, "a cancel that was seen was also answered as accepted");
        assert_eq!(registry.registrations(), 0);
    }
}
