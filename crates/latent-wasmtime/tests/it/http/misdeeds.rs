//! What a handler should not do: the failure has its own name, and the client never sees an end that was none.

use latent_core::{ExecutionOutcome, PlatformErrorCode};
use latent_executor::HttpBodyError;

use super::support::{Went, get};
use crate::support::{bench, failure};

const TRAPPED: ExecutionOutcome = ExecutionOutcome::Trapped { category: "unreachable" };

async fn went(path: &str) -> Went {
    let bench = bench();
    let went = bench.serve(get(path)).await;
    bench.assert_healthy().await;
    went
}

fn returned(went: &Went) -> bool {
    matches!(went.contained.report.outcome, ExecutionOutcome::Returned(_))
}

#[tokio::test]
async fn a_trap_before_the_answer_leaves_none() {
    let went = went("/trap-before").await;
    assert!(went.got.is_none());
    assert_eq!(went.contained.report.outcome, TRAPPED);
}

#[tokio::test]
async fn a_trap_after_the_head_cuts_the_body_off_visibly() {
    let went = went("/trap-after").await;
    assert_eq!(went.contained.report.outcome, TRAPPED);
    assert_eq!((went.got().text(), went.got().end), ("some of it", Err(HttpBodyError::Incomplete)));
}

#[tokio::test]
async fn a_return_without_a_response_is_a_failure_of_its_own() {
    let went = went("/no-response").await;
    let error = failure(&went.contained);
    assert!(went.got.is_none());
    assert_eq!((error.code(), error.details()[0].kind()), (PlatformErrorCode::GuestTrap, "activation.no-response"));
}

#[tokio::test]
async fn an_error_code_instead_of_a_response_is_a_failure_with_its_name() {
    let went = went("/error-code").await;
    let detail = &failure(&went.contained).details()[0];
    assert!(went.got.is_none());
    assert_eq!((detail.kind(), detail.field("error")), ("activation.http-error", Some("loop-detected")));
}

#[tokio::test]
async fn a_status_that_is_none_is_refused_to_the_guest() {
    for status in [0, 99, 1000] {
        let went = went(&format!("/bad-status?n={status}")).await;
        assert!(returned(&went));
        assert_eq!(went.got().text(), "refused", "{status}");
    }
    assert_eq!(went("/bad-status?n=299").await.got().status, 299);
    assert_eq!(went("/bad-status?n=999").await.got().status, 999);
}

#[tokio::test]
async fn an_informational_status_is_no_response() {
    for status in [100, 101, 199] {
        let went = went(&format!("/bad-status?n={status}")).await;
        let detail = &failure(&went.contained).details()[0];
        assert!(went.got.is_none());
        assert_eq!((detail.kind(), detail.field("part")), ("activation.malformed-response", Some("status")));
    }
}

#[tokio::test]
async fn headers_that_are_none_are_refused_to_the_guest() {
    let went = went("/bad-header").await;
    assert!(returned(&went));
    assert_eq!(went.got().text(), "refused");
}

#[tokio::test]
async fn a_length_that_is_no_number_is_refused_to_the_guest() {
    for value in ["abc", "-1", "+5", "99999999999999999999", ""] {
        let went = went(&format!("/bad-length?v={value}")).await;
        assert!(returned(&went));
        assert_eq!(went.got().text(), "refused", "{value}");
    }
}

#[tokio::test]
async fn a_body_that_is_longer_than_its_length_is_an_error_to_both() {
    let went = went("/long-body").await;
    assert!(returned(&went), "the guest was told: {:?}", went.contained.report);
    assert_eq!((went.got().text(), went.got().end), ("12345", Err(HttpBodyError::TooLarge { limit: 5 })));
    assert_eq!(went.bytes.1, 5);
}

#[tokio::test]
async fn a_body_that_is_shorter_than_its_length_is_an_error_to_both() {
    let went = went("/short-body").await;
    assert!(returned(&went), "the guest was told: {:?}", went.contained.report);
    assert_eq!((went.got().text(), went.got().end), ("123", Err(HttpBodyError::Incomplete)));
}

#[tokio::test]
async fn a_length_without_a_body_ends_as_an_error() {
    let went = went("/bad-length?v=5").await;
    assert!(returned(&went));
    assert_eq!((went.got().text(), went.got().end), ("", Err(HttpBodyError::Incomplete)));
    assert_eq!(self::went("/bad-length?v=0").await.got().end, Ok(()));
}

#[tokio::test]
async fn a_body_that_is_not_finished_never_seems_complete() {
    for path in ["/forget", "/drop-body"] {
        let went = went(path).await;
        assert!(returned(&went), "{path}");
        assert_eq!((went.got().text(), went.got().end), ("some of it", Err(HttpBodyError::Incomplete)), "{path}");
    }
}

#[tokio::test]
async fn a_handler_that_leaves_well_after_its_answer_has_answered() {
    let went = went("/exit").await;
    assert!(returned(&went), "{:?}", went.contained.report);
    assert_eq!((went.got().text(), went.got().end), ("bye\n", Ok(())));
}
