//! The table, and that the page on the API has it.

use latent_core::ErrorDetail;

use super::*;

const PAGE: &str = include_str!("../../../../docs/api.md");

fn error(code: PlatformErrorCode) -> PlatformError {
    PlatformError::new(code, "said")
}

#[test]
fn a_timeout_a_limit_a_trap_overload_and_a_bad_request_differ_over_http() {
    let kinds = [
        error(PlatformErrorCode::DeadlineExceeded),
        error(PlatformErrorCode::ResourceExhausted),
        error(PlatformErrorCode::GuestTrap),
        error(PlatformErrorCode::ResourceExhausted).retryable(),
        error(PlatformErrorCode::InvalidArgument),
    ];
    let statuses: std::collections::BTreeSet<_> = kinds.iter().map(|error| of(error).http.as_u16()).collect();
    assert_eq!(statuses.len(), kinds.len(), "{statuses:?}");
}

#[test]
fn a_payload_that_is_too_large_is_told_apart_from_other_quotas() {
    let quota = |reason| {
        let detail = ErrorDetail::new("admission.limit").with("reason", reason);
        of(&error(PlatformErrorCode::ResourceExhausted).with_detail(detail)).http
    };
    assert_eq!(quota("payload-too-large"), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(quota("capacity-exhausted"), StatusCode::INSUFFICIENT_STORAGE);
    let request = |field| {
        let detail = ErrorDetail::new("activation.request-invalid").with("field", field).with("rule", "max");
        of(&error(PlatformErrorCode::InvalidArgument).with_detail(detail)).http
    };
    assert_eq!([request("payload"), request("metadata")].map(|status| status.as_u16()), [413, 400]);
}

/// The rows of the page's table, made from the code.
fn rows() -> String {
    let row = |code: PlatformErrorCode, retryable, name: String| {
        let Statuses { grpc, http } = statuses(code, retryable);
        format!("| {name} | `{grpc:?}` | {} |\n", http.as_u16())
    };
    let codes = PlatformErrorCode::ALL.iter().flat_map(|code| {
        let plain = row(*code, false, format!("`{code}`"));
        let differs = statuses(*code, true) != statuses(*code, false);
        let retryable = differs.then(|| row(*code, true, format!("`{code}`, retryable")));
        [Some(plain), retryable].into_iter().flatten()
    });
    codes.collect()
}

#[test]
fn the_page_has_the_table_of_the_code() {
    let rows = rows();
    assert!(PAGE.contains(&rows), "docs/api.md needs this table:\n{rows}");
}
