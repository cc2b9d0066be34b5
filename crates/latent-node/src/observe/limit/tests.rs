//! Names of limits against what is documented of errors.

use std::collections::BTreeSet;

use latent_core::Payload;

use super::*;

/// Kinds of `resource-exhausted` that no activation ends by: storing and changing the catalog are no activations.
const OF_NO_ACTIVATION: [&str; 8] = [
    "catalog.limit",
    "storage.disk-full",
    "storage.quota",
    "storage.release-count",
    "storage.record-size",
    "storage.read-only",
    "storage.document-size",
    "storage.document-count",
];

fn of(code: PlatformErrorCode, detail: ErrorDetail) -> Option<Limit> {
    Limit::of_error(&PlatformError::new(code, "reason").with_detail(detail))
}

/// The detail kinds that the page of `resource-exhausted` explains.
fn documented() -> BTreeSet<&'static str> {
    let page = include_str!("../../../../../docs/errors/resource-exhausted.md");
    let details = page.split("## Details").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("it has details");
    let areas = ["activation.", "admission.", "scheduler.", "cell-pool.", "compiler.", "catalog.", "storage."];
    let quoted = details.split('`').skip(1).step_by(2);
    quoted.filter(|text| areas.iter().any(|area| text.starts_with(area))).collect()
}

#[test]
fn every_documented_kind_of_resource_exhausted_has_a_limit_or_belongs_to_no_activation() {
    let kinds = documented();
    assert!(kinds.len() > 15, "{kinds:?}");
    for kind in kinds {
        let detail = match kind {
            "admission.limit" => ErrorDetail::new(kind).with("scope", "tenant").with("reason", "capacity-exhausted"),
            "scheduler.limit" => ErrorDetail::new(kind).with("reason", "queue-full"),
            _ => ErrorDetail::new(kind),
        };
        let limit = of(PlatformErrorCode::ResourceExhausted, detail);
        assert_eq!(limit.is_none(), OF_NO_ACTIVATION.contains(&kind), "{kind}: {limit:?}");
    }
}

#[test]
fn admissions_reasons_are_told_apart_by_reason_and_scope() {
    let denied = |scope: &str, reason: &str| {
        let detail = ErrorDetail::new("admission.limit").with("scope", scope).with("reason", reason);
        of(PlatformErrorCode::AdmissionRejected, detail)
    };
    assert_eq!(denied("tenant", "capacity-exhausted"), Some(Limit::Quota));
    assert_eq!(denied("trust-class", "capacity-exhausted"), Some(Limit::Quota));
    assert_eq!(denied("node", "capacity-exhausted"), Some(Limit::NodeCapacity));
    assert_eq!(denied("queue-class", "capacity-exhausted"), Some(Limit::NodeCapacity));
    assert_eq!(denied("tenant", "payload-too-large"), Some(Limit::PayloadSize));
    assert_eq!(denied("node", "node-overloaded"), Some(Limit::NodePressure));
    assert_eq!(denied("node", "queue-deadline-infeasible"), Some(Limit::QueueDeadline));
    assert_eq!(denied("node", "no-compatible-cell"), Some(Limit::CellSize));
    for reason in ["principal-not-authorized", "tenant-mismatch", "revision-not-available", "of-the-future"] {
        assert_eq!(denied("tenant", reason), None, "{reason}");
    }
}

#[test]
fn a_scheduler_that_shuts_down_is_no_limit_and_a_deadline_always_is() {
    let shut = ErrorDetail::new("scheduler.limit").with("reason", "shutting-down");
    assert_eq!(of(PlatformErrorCode::Unavailable, shut), None);
    assert_eq!(Limit::of_error(&PlatformError::deadline_exceeded()), Some(Limit::Deadline));
    let bare = PlatformError::new(PlatformErrorCode::DeadlineExceeded, "late");
    assert_eq!(Limit::of_error(&bare), Some(Limit::Deadline));
    assert_eq!(Limit::of_error(&PlatformError::cancelled()), None);
}

#[test]
fn what_returned_reached_no_limit_and_names_are_distinct() {
    let outcome = ActivationOutcome::Succeeded { output: Payload::json("1") };
    assert_eq!(Limit::of_outcome(&outcome), None);
    let names: BTreeSet<_> = Limit::ALL.iter().map(|limit| limit.as_str()).collect();
    assert_eq!(names.len(), Limit::ALL.len());
    let kebab = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    assert!(names.into_iter().all(kebab));
}
