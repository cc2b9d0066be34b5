//! One denial of each reason that a manager can meet, and of more than one scope.

use std::time::Duration;

use latent_core::{PlatformErrorCode as Code, Threading};
use latent_scheduler::admission::{AdmissionConfig, Allowlist, PressureLimits, PressurePolicy, Quota, TenantPolicy};

/// A configuration, or a threading of the capsule, and how it denies a plain call.
pub struct Denial {
    pub config: fn(&mut AdmissionConfig),
    pub threading: Threading,
    pub code: Code,
    pub fields: [&'static str; 3],
    pub retryable: bool,
}

const fn denial(config: fn(&mut AdmissionConfig), code: Code, fields: [&'static str; 3], retryable: bool) -> Denial {
    Denial { config, threading: Threading::Single, code, fields, retryable }
}

fn tenants(config: &mut AdmissionConfig, change: impl FnOnce(&mut TenantPolicy)) {
    let mut open = TenantPolicy::open();
    change(&mut open);
    config.other_tenants = Some(open);
}

/// One denial of each reason that a manager can meet, and more than one scope.
pub fn denials() -> Vec<Denial> {
    let unsupported = "unsupported-execution-requirement";
    vec![
        denial(
            |config| config.other_tenants = None,
            Code::PermissionDenied,
            ["node", "tenant", "principal-not-authorized"],
            false,
        ),
        denial(
            |config| tenants(config, |tenant| tenant.subjects = Allowlist::default()),
            Code::PermissionDenied,
            ["tenant", "subject", "principal-not-authorized"],
            false,
        ),
        denial(
            |config| tenants(config, |tenant| tenant.callers = Allowlist::default()),
            Code::PermissionDenied,
            ["tenant", "principal-kind", "principal-not-authorized"],
            false,
        ),
        denial(
            |config| tenants(config, |tenant| tenant.queue_classes = Allowlist::default()),
            Code::PermissionDenied,
            ["tenant", "queue-class", "principal-not-authorized"],
            false,
        ),
        denial(|config| config.ceilings.fuel = 0, Code::AdmissionRejected, ["node", "fuel", unsupported], false),
        Denial {
            threading: Threading::Shared,
            ..denial(|_| {}, Code::AdmissionRejected, ["node", "threading", unsupported], false)
        },
        denial(
            |config| config.classes[0].memory_bytes = 1,
            Code::AdmissionRejected,
            ["cell-class", "memory-bytes", "no-compatible-cell"],
            false,
        ),
        denial(
            |config| config.node.payload_bytes = 5,
            Code::ResourceExhausted,
            ["node", "payload-bytes", "payload-too-large"],
            false,
        ),
        denial(
            |config| config.classes[0].quota.fuel = 1,
            Code::ResourceExhausted,
            ["cell-class", "fuel", "capacity-exhausted"],
            false,
        ),
        denial(
            |config| config.queue = [Quota { queued: 0, ..Quota::UNLIMITED }; 3],
            Code::ResourceExhausted,
            ["queue-class", "queued-reservations", "capacity-exhausted"],
            false,
        ),
        denial(
            |config| config.trust[0].quota = Quota::NOTHING,
            Code::ResourceExhausted,
            ["trust-class", "payload-bytes", "payload-too-large"],
            false,
        ),
        denial(
            |config| config.pressure = PressurePolicy::Linux(PressureLimits::default()),
            Code::ResourceExhausted,
            ["node", "pressure-sample", "node-overloaded"],
            true,
        ),
        denial(
            |config| config.margins.margin = Duration::from_hours(1),
            Code::ResourceExhausted,
            ["cell-class", "deadline", "queue-deadline-infeasible"],
            true,
        ),
    ]
}
