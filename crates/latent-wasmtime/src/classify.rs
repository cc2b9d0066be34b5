//! What a failed run means: facts in, one outcome out.
//!
//! Precedence, after any recorded stop cause: memory denial, fuel, another limit, a stable trap category, a bounded
//! generic failure (`activation-containment.md`, "Wasmtime stop cause"). All string matching on the engine's
//! untyped errors is in this module.

use std::io;

use latent_core::{ErrorDetail, ExecutionOutcome, PlatformError, PlatformErrorCode, StopCause};
use rustix::io::Errno;
use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::{I32Exit, ResourceTableError};
use wasmtime_wasi_http::FieldMapError;

/// What is known about a run that did not return.
#[derive(Debug, Clone, Copy, Default)]
pub struct Facts {
    /// The sticky stop cause.
    pub stop: Option<StopCause>,
    /// A growth of linear memory was denied.
    pub memory_denied: bool,
    /// A growth of a table was denied.
    pub table_denied: bool,
    /// No fuel is left.
    pub fuel_spent: bool,
}

/// The bounds that an error may have run into, for its detail.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Table elements.
    pub table_elements: u64,
    /// Core instances.
    pub core_instances: u64,
    /// Component handles.
    pub handles: u64,
    /// Host resources.
    pub host_resources: u64,
    /// Bytes in one call towards the host.
    pub host_call_bytes: u64,
    /// Random bytes in one request.
    pub random_bytes: u64,
    /// Bytes of one set of headers.
    pub field_bytes: u64,
}

/// Classifies a run that ended with `error`.
#[must_use]
pub fn classify(facts: Facts, bounds: Bounds, error: &wasmtime::Error) -> ExecutionOutcome {
    if let Some(cause) = facts.stop {
        return stopped(cause);
    }
    if facts.memory_denied {
        return ExecutionOutcome::MemoryExhausted;
    }
    let trap = error.downcast_ref::<Trap>().copied();
    if facts.fuel_spent || trap == Some(Trap::OutOfFuel) {
        return ExecutionOutcome::FuelExhausted;
    }
    if facts.table_denied {
        return limit("activation.table-exhausted", bounds.table_elements);
    }
    if is_out_of_host_memory(error) {
        let error = PlatformError::new(
            PlatformErrorCode::ResourceExhausted,
            "the system gives the node no more memory or address space for a guest",
        );
        let detail = ErrorDetail::new("activation.host-memory-exhausted");
        return ExecutionOutcome::Failed(error.retryable().with_detail(detail));
    }
    if let Some(exceeded) = exceeded(bounds, error) {
        return exceeded;
    }
    if let Some(trap) = trap {
        return ExecutionOutcome::Trapped { category: category(trap) };
    }
    if let Some(I32Exit(status)) = error.downcast_ref::<I32Exit>() {
        return ExecutionOutcome::Exited { status: *status };
    }
    // The host's own refusal of what it was given, which no guest can make.
    if let Some(refusal) = error.downcast_ref::<PlatformError>() {
        return ExecutionOutcome::Failed(refusal.clone());
    }
    guest_fault(error)
}

/// The outcome of a stop.
#[must_use]
pub fn stopped(cause: StopCause) -> ExecutionOutcome {
    match cause {
        StopCause::Cancelled => ExecutionOutcome::Cancelled,
        StopCause::DeadlineExceeded => ExecutionOutcome::DeadlineExceeded,
        StopCause::TransportStopped => ExecutionOutcome::TransportStopped,
    }
}

const fn limit(kind: &'static str, limit: u64) -> ExecutionOutcome {
    ExecutionOutcome::LimitExceeded { kind, limit }
}

fn exceeded(bounds: Bounds, error: &wasmtime::Error) -> Option<ExecutionOutcome> {
    if matches!(error.downcast_ref::<ResourceTableError>(), Some(ResourceTableError::Full)) {
        return Some(limit("activation.host-resource-exhausted", bounds.host_resources));
    }
    if matches!(
        error.downcast_ref::<FieldMapError>(),
        Some(FieldMapError::TotalSizeTooBig | FieldMapError::TooManyFields)
    ) {
        return Some(limit("activation.http-fields-exhausted", bounds.field_bytes));
    }
    if error.downcast_ref::<PoolConcurrencyLimitError>().is_some() {
        let error = PlatformError::new(PlatformErrorCode::ResourceExhausted, "the engine's pool has no free slot")
            .retryable()
            .with_detail(ErrorDetail::new("activation.pool-exhausted"));
        return Some(ExecutionOutcome::Failed(error));
    }
    // The engine gives these no type of their own.
    let text = root_text(error);
    if text.starts_with("resource limit exceeded: instance count too high") {
        return Some(limit("activation.core-instance-exhausted", bounds.core_instances));
    }
    if text.contains("fuel allocated for hostcalls has been exhausted") {
        return Some(limit("activation.host-call-exhausted", bounds.host_call_bytes));
    }
    if text.contains("store handle limit exceeded") {
        return Some(limit("activation.handle-exhausted", bounds.handles));
    }
    if text.starts_with("requested len ") && text.contains(" exceeds limit ") {
        return Some(limit("activation.random-exhausted", bounds.random_bytes));
    }
    None
}

/// Whether the system refused the engine memory, which is nothing that the guest could help.
fn is_out_of_host_memory(error: &wasmtime::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<wasmtime::error::OutOfMemory>()
            || cause.downcast_ref::<Errno>() == Some(&Errno::NOMEM)
            || cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::OutOfMemory)
    })
}

/// The innermost message of an error chain, bounded.
fn root_text(error: &wasmtime::Error) -> String {
    let text = error.root_cause().to_string();
    latent_core::error::cut(&text, latent_core::error::MESSAGE_BYTES_MAX).to_owned()
}

/// Phrases of the engine's untyped errors about values that it could not lift or lower.
const LIFTING: &[&str] = &[
    "realloc return",
    "not aligned",
    "out of bounds",
    "pointer size overflow",
    "byte length too large",
    "invalid option discriminant",
    "invalid expected discriminant",
    " out of range [0..",
];

/// Errors that a guest causes without a trap code: results that cannot be lifted, a `realloc` that misbehaves,
/// entering an instance again. They are the guest's doing, so they count as traps.
fn guest_fault(error: &wasmtime::Error) -> ExecutionOutcome {
    if error.downcast_ref::<std::str::Utf8Error>().is_some()
        || error.downcast_ref::<std::char::CharTryFromError>().is_some()
    {
        return ExecutionOutcome::Trapped { category: "invalid-result" };
    }
    let text = root_text(error);
    if LIFTING.iter().any(|known| text.contains(known)) {
        return ExecutionOutcome::Trapped { category: "invalid-result" };
    }
    let error = PlatformError::of_activation(
        PlatformErrorCode::GuestTrap,
        "activation.runtime-failure",
        format_args!("the guest failed: {text}"),
    );
    ExecutionOutcome::Failed(error)
}

/// Stable names of the engine's trap codes.
#[must_use]
pub fn category(trap: Trap) -> &'static str {
    match trap {
        Trap::StackOverflow => "stack-overflow",
        Trap::MemoryOutOfBounds => "memory-out-of-bounds",
        Trap::TableOutOfBounds => "table-out-of-bounds",
        Trap::IndirectCallToNull => "indirect-call-to-null",
        Trap::BadSignature => "indirect-call-type-mismatch",
        Trap::IntegerOverflow => "integer-overflow",
        Trap::IntegerDivisionByZero => "integer-division-by-zero",
        Trap::BadConversionToInteger => "bad-conversion-to-integer",
        Trap::UnreachableCodeReached => "unreachable",
        Trap::OutOfFuel => "out-of-fuel",
        Trap::Interrupt => "interrupt",
        Trap::CannotEnterComponent => "cannot-enter-component",
        Trap::CannotLeaveComponent => "cannot-leave-component",
        Trap::StringOutOfBounds
        | Trap::ListOutOfBounds
        | Trap::InvalidDiscriminant
        | Trap::InvalidChar
        | Trap::UnalignedPointer => "invalid-result",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        table_elements: 1,
        core_instances: 6,
        handles: 2,
        host_resources: 3,
        host_call_bytes: 4,
        random_bytes: 5,
        field_bytes: 7,
    };

    fn trap() -> wasmtime::Error {
        wasmtime::Error::from(Trap::UnreachableCodeReached)
    }

    #[test]
    fn memory_wins_over_fuel_and_fuel_over_a_trap() {
        let all = Facts { memory_denied: true, fuel_spent: true, table_denied: true, stop: None };
        assert_eq!(classify(all, BOUNDS, &trap()), ExecutionOutcome::MemoryExhausted);
        let fuel = Facts { memory_denied: false, ..all };
        assert_eq!(classify(fuel, BOUNDS, &trap()), ExecutionOutcome::FuelExhausted);
        let table = Facts { fuel_spent: false, ..fuel };
        assert_eq!(classify(table, BOUNDS, &trap()), limit("activation.table-exhausted", 1));
        assert_eq!(classify(Facts::default(), BOUNDS, &trap()), ExecutionOutcome::Trapped { category: "unreachable" });
    }

    #[test]
    fn a_recorded_stop_wins_over_everything() {
        let facts =
            Facts { memory_denied: true, fuel_spent: true, table_denied: true, stop: Some(StopCause::Cancelled) };
        assert_eq!(classify(facts, BOUNDS, &trap()), ExecutionOutcome::Cancelled);
        let facts = Facts { stop: Some(StopCause::DeadlineExceeded), ..facts };
        assert_eq!(classify(facts, BOUNDS, &trap()), ExecutionOutcome::DeadlineExceeded);
    }

    #[test]
    fn memory_that_the_system_refuses_is_no_fault_of_the_guest() {
        let refused = || io::Error::from_raw_os_error(Errno::NOMEM.raw_os_error());
        for error in [Errno::NOMEM.into(), refused().into(), wasmtime::Error::from(refused()).context("a memory")] {
            match classify(Facts::default(), BOUNDS, &error) {
                ExecutionOutcome::Failed(error) => {
                    assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::ResourceExhausted, true));
                    assert!(error.has_detail("activation.host-memory-exhausted"), "{error:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        let denied = Facts { memory_denied: true, ..Facts::default() };
        assert_eq!(classify(denied, BOUNDS, &Errno::NOMEM.into()), ExecutionOutcome::MemoryExhausted);
        let said = wasmtime::Error::msg("a guest says: Cannot allocate memory");
        match classify(Facts::default(), BOUNDS, &said) {
            ExecutionOutcome::Failed(error) => assert_eq!(error.code(), PlatformErrorCode::GuestTrap),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_unknown_failure_is_bounded() {
        let error = wasmtime::Error::msg("x".repeat(5000));
        match classify(Facts::default(), BOUNDS, &error) {
            ExecutionOutcome::Failed(error) => assert!(error.message().len() <= latent_core::error::MESSAGE_BYTES_MAX),
            other => panic!("{other:?}"),
        }
    }
}
