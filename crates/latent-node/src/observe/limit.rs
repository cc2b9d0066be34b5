//! Which limit ended an activation: one closed set of names for what the error codes and detail kinds say.
//!
//! Invariant: a pure function of the error, so that status, metrics, usage and the API agree.

use std::fmt;

use latent_core::{ActivationOutcome, ErrorDetail, PlatformError, PlatformErrorCode};

macro_rules! limits {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// A limit that an activation can end by. Names are stable; the pages in `docs/errors/` describe the errors.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Limit {
            $($(#[$doc])* $variant,)*
        }

        impl Limit {
            /// Every limit, in the order of the enum.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The limit in kebab case.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

limits! {
    /// The fuel that was granted.
    Fuel = "fuel",
    /// The guest memory that was granted.
    Memory = "memory",
    /// The effective deadline.
    Deadline = "deadline",
    /// Table elements.
    TableElements = "table-elements",
    /// Component handles.
    Handles = "handles",
    /// Resources that the host keeps for the guest.
    HostResources = "host-resources",
    /// Bytes in one call towards the host.
    HostCallBytes = "host-call-bytes",
    /// Random bytes in one request.
    RandomBytes = "random-bytes",
    /// Bytes of one set of HTTP headers that the guest makes.
    HttpFields = "http-fields",
    /// Core instances.
    CoreInstances = "core-instances",
    /// Bytes, values or levels of the encoded result.
    ResultSize = "result-size",
    /// Bytes, values or levels of the payload.
    PayloadSize = "payload-size",
    /// How much a component may declare.
    ComponentSize = "component-size",
    /// The largest cell that the activation may have.
    CellSize = "cell-size",
    /// What a tenant, a trust class or a deployment may have at once.
    Quota = "quota",
    /// What the node, a class of cells or of waiting may have at once.
    NodeCapacity = "node-capacity",
    /// How hard the node may be pressed.
    NodePressure = "node-pressure",
    /// Places in the queue for a cell.
    Queue = "queue",
    /// A deadline that the queue would not have left time for.
    QueueDeadline = "queue-deadline",
    /// Instances of the engine.
    Instances = "instances",
    /// Prepared code that may wait for a cell.
    PreparedCode = "prepared-code",
    /// Components that may wait for the compiler.
    CompilerQueue = "compiler-queue",
    /// Time and room of one compilation.
    Compilation = "compilation",
    /// Activations that may read their secrets at once.
    SecretReads = "secret-reads",
    /// Activations on record.
    Journal = "journal",
    /// Activations that can outlive their transport.
    Continuations = "continuations",
    /// Activations that a runner without a journal registers.
    Registrations = "registrations",
    /// Watchers of activations.
    Watchers = "watchers",
    /// The time that a cleanup may take.
    Cleanup = "cleanup",
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Limit {
    /// Which limit `error` says was reached: by its code, else by its first detail that speaks of one.
    #[must_use]
    pub fn of_error(error: &PlatformError) -> Option<Self> {
        if error.code() == PlatformErrorCode::DeadlineExceeded {
            return Some(Self::Deadline);
        }
        error.details().iter().find_map(Self::of_detail)
    }

    /// Which limit ended an activation with this outcome.
    #[must_use]
    pub fn of_outcome(outcome: &ActivationOutcome) -> Option<Self> {
        match outcome {
            ActivationOutcome::Failed { error, .. } => Self::of_error(error),
            ActivationOutcome::Succeeded { .. } | ActivationOutcome::DeclaredError { .. } => None,
        }
    }

    fn of_detail(detail: &ErrorDetail) -> Option<Self> {
        Some(match detail.kind() {
            "activation.fuel-exhausted" => Self::Fuel,
            "activation.memory-exhausted" => Self::Memory,
            "activation.deadline-exceeded" | "cell-pool.deadline-exceeded" => Self::Deadline,
            "activation.table-exhausted" => Self::TableElements,
            "activation.handle-exhausted" => Self::Handles,
            "activation.host-resource-exhausted" => Self::HostResources,
            "activation.host-call-exhausted" => Self::HostCallBytes,
            "activation.random-exhausted" => Self::RandomBytes,
            "activation.http-fields-exhausted" => Self::HttpFields,
            "activation.core-instance-exhausted" => Self::CoreInstances,
            "activation.result-limit-exceeded" => Self::ResultSize,
            "values.limit" => Self::PayloadSize,
            "component.limit" => Self::ComponentSize,
            "admission.limit" => return of_admission(detail),
            "cell-pool.queue-full" => Self::Queue,
            "scheduler.limit" => return (detail.field("reason") == Some("queue-full")).then_some(Self::Queue),
            "activation.pool-exhausted" | "activation.instance-permits-exhausted" => Self::Instances,
            "activation.host-memory-exhausted" => Self::NodeCapacity,
            "activation.ready-pins-exhausted" => Self::PreparedCode,
            "compiler.queue-full" => Self::CompilerQueue,
            "compiler.limit" => Self::Compilation,
            "activation.secret-reads-exhausted" => Self::SecretReads,
            "activation.journal-full" => Self::Journal,
            "activation.continuations-exhausted" => Self::Continuations,
            "activation.registrations-exhausted" => Self::Registrations,
            "activation.watchers-exhausted" => Self::Watchers,
            "cell-disposition.cleanup-overrun" => Self::Cleanup,
            _ => return None,
        })
    }
}

fn of_admission(detail: &ErrorDetail) -> Option<Limit> {
    Some(match (detail.field("reason")?, detail.field("scope")) {
        ("payload-too-large", _) => Limit::PayloadSize,
        ("no-compatible-cell", _) => Limit::CellSize,
        ("node-overloaded", _) => Limit::NodePressure,
        ("queue-deadline-infeasible", _) => Limit::QueueDeadline,
        ("capacity-exhausted", Some("node" | "cell-class" | "queue-class")) => Limit::NodeCapacity,
        ("capacity-exhausted", _) => Limit::Quota,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
