//! Which limit ended an activation, by the name that people know it by.
//!
//! Invariant: one place to change when limits get more names.

use latent_core::{PlatformError, PlatformErrorCode};

/// The names of the limits by the detail kinds that tell of them.
const BY_KIND: [(&str, &str); 10] = [
    ("activation.fuel-exhausted", "fuel"),
    ("activation.memory-exhausted", "memory"),
    ("activation.result-limit-exceeded", "result-size"),
    ("activation.table-exhausted", "table"),
    ("activation.handle-exhausted", "handles"),
    ("activation.host-resource-exhausted", "host-resources"),
    ("activation.host-call-exhausted", "host-call"),
    ("activation.random-exhausted", "random"),
    ("activation.core-instance-exhausted", "core-instances"),
    ("activation.deadline-exceeded", "deadline"),
];

/// The limit that `error` tells of, in kebab case.
pub(crate) fn fired(error: &PlatformError) -> Option<&'static str> {
    let known = BY_KIND.into_iter().find(|(kind, _)| error.has_detail(kind)).map(|(_, name)| name);
    known.or_else(|| match error.code() {
        PlatformErrorCode::DeadlineExceeded => Some("deadline"),
        PlatformErrorCode::ResourceExhausted if error.has_detail("scheduler.limit") => Some("queue"),
        PlatformErrorCode::ResourceExhausted if error.has_detail("admission.limit") => Some("quota"),
        _ => None,
    })
}
