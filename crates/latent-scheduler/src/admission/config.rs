//! What an operator allows: the policy view of admission.
//!
//! Invariant: nothing is allowed that is not said. A zero grants nothing, an empty list denies, a tenant that is
//! neither listed nor covered by `other_tenants` is refused. The view holds no counters, so it can be replaced.

use std::collections::HashMap;
use std::time::Duration;

use latent_core::{
    CellClass, ErrorDetail, PlatformError, PlatformErrorCode, ResourceBudget, ServiceName, TenantId, Threading,
};

use super::classes::{CallerKind, QueueClass, TrustClass};
use super::feasibility::FeasibilityMargins;
use super::ledger::LIVE_MAX;
use super::pressure::PressurePolicy;

/// The longest wall time that a node may grant: 366 days.
pub const WALL_LIMIT_MAX: Duration = Duration::from_hours(366 * 24);

/// The most that one scope may have at once, queued and running together. Zero grants nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    /// Activations between admission and refund.
    pub live: u64,
    /// Of those, activations that have no cell yet. Every admission starts as one.
    pub queued: u64,
    /// Units of fuel, granted and not yet refunded.
    pub fuel: u64,
    /// Bytes of guest memory, granted and not yet refunded.
    pub memory_bytes: u64,
    /// Bytes of one payload.
    pub payload_bytes: u64,
    /// The highest priority granted; a request for more gets this much.
    pub priority: u8,
}

impl Quota {
    /// Grants nothing.
    pub const NOTHING: Self = Self { live: 0, queued: 0, fuel: 0, memory_bytes: 0, payload_bytes: 0, priority: 0 };
    /// Restricts nothing that another scope does not.
    pub const UNLIMITED: Self = Self {
        live: u64::MAX,
        queued: u64::MAX,
        fuel: u64::MAX,
        memory_bytes: u64::MAX,
        payload_bytes: u64::MAX,
        priority: u8::MAX,
    };
}

/// Which members of a set are allowed. The default denies all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowlist<T> {
    /// Every one.
    Any,
    /// These. An empty list allows none.
    Only(Box<[T]>),
}

impl<T> Default for Allowlist<T> {
    fn default() -> Self {
        Self::Only(Box::new([]))
    }
}

impl<T: PartialEq> Allowlist<T> {
    /// Whether `member` is allowed.
    #[must_use]
    pub fn allows(&self, member: &T) -> bool {
        match self {
            Self::Any => true,
            Self::Only(members) => members.contains(member),
        }
    }
}

/// What one tenant may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantPolicy {
    /// What all of the tenant's activations may have together.
    pub quota: Quota,
    /// How far its code is trusted.
    pub trust: TrustClass,
    /// Which authenticated subjects may call.
    pub subjects: Allowlist<ServiceName>,
    /// Which kinds of principals may call.
    pub callers: Allowlist<CallerKind>,
    /// Which kinds of waiting it may ask for.
    pub queue_classes: Allowlist<QueueClass>,
    /// In which cells its code may run.
    pub cell_classes: Allowlist<CellClass>,
}

impl TenantPolicy {
    /// Allows everything, as untrusted code, within what the other scopes allow.
    #[must_use]
    pub fn open() -> Self {
        Self {
            quota: Quota::UNLIMITED,
            trust: TrustClass::Untrusted,
            subjects: Allowlist::Any,
            callers: Allowlist::Any,
            queue_classes: Allowlist::Any,
            cell_classes: Allowlist::Any,
        }
    }
}

/// What all tenants of one trust class may do together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustPolicy {
    /// What they may have together.
    pub quota: Quota,
    /// In which cells code of this class may run.
    pub cell_classes: Allowlist<CellClass>,
}

/// The cells of one class as admission sees them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClassOffer {
    /// Which class. Offered at most once.
    pub class: CellClass,
    /// How many cells there are: the parallelism of the class. At least 1.
    pub cells: u64,
    /// The most guest memory that an activation in such a cell may be granted, in bytes.
    pub memory_bytes: u64,
    /// What the cells can carry; `Shared` carries single-threaded guests as well.
    pub threading: Threading,
    /// How long one activation keeps a cell, as far as can be estimated. Zero turns the estimate of the wait off.
    pub service_time: Duration,
    /// What all activations in such cells may have together.
    pub quota: Quota,
}

/// What one activation may have at most on this node. Finite, so that every activation has a deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCeilings {
    /// Units of fuel. Default 100 M.
    pub fuel: u64,
    /// Bytes of guest memory. Default 64 MiB.
    pub memory_bytes: u64,
    /// Bytes of log records. Default 256 KiB.
    pub log_bytes: u64,
    /// Time from admission to the deadline, up to [`WALL_LIMIT_MAX`]. Default one minute.
    pub wall_limit: Duration,
}

impl Default for NodeCeilings {
    fn default() -> Self {
        let ResourceBudget { fuel, memory_bytes, log_bytes, .. } = ResourceBudget::default();
        Self { fuel, memory_bytes, log_bytes, wall_limit: Duration::from_mins(1) }
    }
}

/// All that admission goes by (reference, section 4). Memory: about 200 bytes a listed tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// What one activation may have.
    pub ceilings: NodeCeilings,
    /// What all activations may have together. `live` is at most [`LIVE_MAX`].
    pub node: Quota,
    /// What listed tenants may do.
    pub tenants: HashMap<TenantId, TenantPolicy>,
    /// What each tenant that is not listed may do. `None` refuses them.
    pub other_tenants: Option<TenantPolicy>,
    /// What each trust class may do, in the order of [`TrustClass::ALL`].
    pub trust: [TrustPolicy; TrustClass::ALL.len()],
    /// What each queue class may have, in the order of [`QueueClass::ALL`].
    pub queue: [Quota; QueueClass::ALL.len()],
    /// The cells there are. None admits nothing.
    pub classes: Vec<ClassOffer>,
    /// What must be left of the time for an admission to make sense.
    pub margins: FeasibilityMargins,
    /// When the node counts as overloaded.
    pub pressure: PressurePolicy,
}

impl AdmissionConfig {
    /// Everybody may use `classes` alike, `live` activations at once, without a look at the node's pressure.
    #[must_use]
    pub fn open(classes: Vec<ClassOffer>, live: u64) -> Self {
        let trust = TrustPolicy { quota: Quota::UNLIMITED, cell_classes: Allowlist::Any };
        Self {
            ceilings: NodeCeilings::default(),
            node: Quota { live, queued: live, ..Quota::UNLIMITED },
            tenants: HashMap::new(),
            other_tenants: Some(TenantPolicy::open()),
            trust: [trust.clone(), trust.clone(), trust],
            queue: [Quota::UNLIMITED; QueueClass::ALL.len()],
            classes,
            margins: FeasibilityMargins::default(),
            pressure: PressurePolicy::None,
        }
    }

    pub(super) fn tenant(&self, tenant: &TenantId) -> Option<&TenantPolicy> {
        self.tenants.get(tenant).or(self.other_tenants.as_ref())
    }

    /// Checks the bounds that the fields' documentation gives.
    pub(super) fn check(&self) -> Result<(), PlatformError> {
        let mut offered: Vec<_> = self.classes.iter().map(|offer| offer.class).collect();
        offered.sort_unstable();
        match () {
            () if self.node.live > LIVE_MAX => Err(out_of_bounds("node.live", self.node.live, LIVE_MAX)),
            () if self.ceilings.wall_limit > WALL_LIMIT_MAX => Err(out_of_bounds(
                "ceilings.wall_limit seconds",
                self.ceilings.wall_limit.as_secs(),
                WALL_LIMIT_MAX.as_secs(),
            )),
            () if self.classes.iter().any(|offer| offer.cells == 0) => Err(invalid("classes.cells", "0", "at least 1")),
            () if offered.windows(2).any(|pair| pair[0] == pair[1]) => {
                Err(invalid("classes", "a class twice", "each class at most once"))
            }
            () => Ok(()),
        }
    }
}

fn out_of_bounds(field: &str, found: u64, max: u64) -> PlatformError {
    invalid(field, &found.to_string(), &format!("at most {max}"))
}

fn invalid(field: &str, found: &str, expected: &str) -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::InvalidArgument,
        format_args!("the admission setting {field} is {found}; set {expected}"),
    )
    .with_detail(
        ErrorDetail::new("admission.invalid-config")
            .with("field", field)
            .with("found", found)
            .with("expected", expected),
    )
}
