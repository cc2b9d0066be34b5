//! What a revision allows: ceilings for admission, grants for execution.
//!
//! Immutable values, shared by every activation of a revision. A ceiling that is absent adds no restriction of its
//! own; a grant that is absent is not given.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::budget::earlier as lower;
use crate::http::OutgoingGrant;
use crate::secret::SecretReferences;

/// The most that one layer (a capsule, a deployment, a node) lets an activation have. `None` adds no restriction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct BudgetCeilings {
    /// Units of fuel.
    pub fuel: Option<u64>,
    /// Bytes of linear memory, over all memories together.
    pub memory_bytes: Option<u64>,
    /// Bytes of accepted log records. Zero accepts none.
    pub log_bytes: Option<u64>,
    /// Time from admission to the deadline. Manifests give it in whole milliseconds.
    pub wall_limit: Option<Duration>,
}

impl BudgetCeilings {
    /// What is left when both layers have their say: the lower ceiling in each dimension.
    #[must_use]
    pub fn lower(self, other: Self) -> Self {
        Self {
            fuel: lower(self.fuel, other.fuel),
            memory_bytes: lower(self.memory_bytes, other.memory_bytes),
            log_bytes: lower(self.log_bytes, other.log_bytes),
            wall_limit: lower(self.wall_limit, other.wall_limit),
        }
    }
}

/// How many threads a capsule runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Threading {
    /// One: what every cell can carry.
    #[default]
    Single,
    /// Several, with shared memory. A cell must offer it.
    Shared,
}

impl Threading {
    /// The name in kebab case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Shared => "shared",
        }
    }
}

/// Which of the interfaces that a component declares are bound for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum ImportGrant {
    /// What every guest may have on this node, because it reaches nothing outside the activation.
    #[default]
    Standard,
    /// Of these, only the listed interfaces, named without a version (`wasi:clocks/monotonic-clock`), sorted. An
    /// empty list grants none.
    Only(Box<[Box<str>]>),
}

impl ImportGrant {
    /// Whether the interface called `import`, with or without a version, is granted.
    #[must_use]
    pub fn allows(&self, import: &str) -> bool {
        let interface = import.split_once('@').map_or(import, |(name, _)| name);
        match self {
            Self::Standard => true,
            Self::Only(names) => names.iter().any(|name| &**name == interface),
        }
    }
}

/// Environment variables of a guest, ordered by name. Values may be secrets, so debug output shows names alone.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Environment(BTreeMap<Box<str>, Box<str>>);

impl Environment {
    /// The variables of `pairs`; of one name twice, the last.
    #[must_use]
    pub fn new(pairs: impl IntoIterator<Item = (Box<str>, Box<str>)>) -> Self {
        Self(pairs.into_iter().collect())
    }

    /// Names and values, ordered by name.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of the variable called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| &**value)
    }

    /// How many variables there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// What admission weighs for a revision, before anything is reserved.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct AdmissionPolicy {
    /// What the capsule's manifest allows.
    pub capsule: BudgetCeilings,
    /// What the deployment allows.
    pub deployment: BudgetCeilings,
    /// What the cell must offer.
    pub threading: Threading,
}

/// What a running guest of a revision may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ExecutionPolicy {
    /// Which declared interfaces are bound.
    pub imports: ImportGrant,
    /// What the guest sees as its environment.
    pub environment: Environment,
    /// Which secrets it sees beside that. What they hold is read for each activation and kept nowhere.
    pub secrets: SecretReferences,
    /// Which HTTP requests it may make. None: every one is refused.
    pub outgoing: Box<[OutgoingGrant]>,
}

/// All that a revision allows. Pinned with the revision, for the life of an activation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct RevisionPolicy {
    /// For admission.
    pub admission: AdmissionPolicy,
    /// For execution.
    pub execution: ExecutionPolicy,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_ceiling_holds_and_an_absent_one_restricts_nothing() {
        let capsule = BudgetCeilings { fuel: Some(10), memory_bytes: Some(5), ..BudgetCeilings::default() };
        let deployment = BudgetCeilings { fuel: Some(7), log_bytes: Some(0), ..BudgetCeilings::default() };
        let both = BudgetCeilings { fuel: Some(7), memory_bytes: Some(5), log_bytes: Some(0), wall_limit: None };
        assert_eq!(capsule.lower(deployment), both);
        assert_eq!(deployment.lower(capsule), both);
    }

    #[test]
    fn a_list_grants_its_interfaces_in_any_version_and_an_empty_one_none() {
        let only = ImportGrant::Only(["wasi:io/streams".into()].into());
        assert!(only.allows("wasi:io/streams@0.2.6") && only.allows("wasi:io/streams"));
        assert!(!only.allows("wasi:io/streams-more@0.2.6") && !only.allows("wasi:io"));
        assert!(!ImportGrant::Only([].into()).allows("wasi:io/streams"));
        assert!(ImportGrant::Standard.allows("wasi:io/streams"));
    }

    #[test]
    fn debug_output_of_an_environment_shows_no_values() {
        let environment = Environment::new([("TOKEN".into(), "hunter2".into())]);
        assert_eq!(format!("{environment:?}"), "{\"TOKEN\"}");
        assert_eq!(environment.get("TOKEN"), Some("hunter2"));
    }
}
