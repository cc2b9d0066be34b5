//! Keeps one copy of each policy, so that a hundred thousand deployments with the same policy hold it once.
//!
//! Invariant: a policy that nobody else holds is let go when the number kept has doubled since the last look.

use std::collections::HashSet;
use std::sync::Arc;

use latent_core::RevisionPolicy;

/// Below this many policies nobody looks for unused ones.
const KEPT_MIN: usize = 64;

/// The policies in use.
#[derive(Debug)]
pub(crate) struct Policies {
    kept: HashSet<Arc<RevisionPolicy>, foldhash::quality::RandomState>,
    sweep_at: usize,
}

impl Policies {
    pub(crate) fn new() -> Self {
        Self { kept: HashSet::default(), sweep_at: KEPT_MIN }
    }

    /// These policies, each of which others hold.
    pub(crate) fn of<'a>(used: impl Iterator<Item = &'a Arc<RevisionPolicy>>) -> Self {
        let mut policies = Self::new();
        for policy in used {
            if !policies.kept.contains(policy) {
                policies.kept.insert(policy.clone());
            }
        }
        policies.sweep_at = KEPT_MIN.max(2 * policies.kept.len());
        policies
    }

    /// The one copy of `policy`.
    pub(crate) fn share(&mut self, policy: RevisionPolicy) -> Arc<RevisionPolicy> {
        if let Some(known) = self.kept.get(&policy) {
            return known.clone();
        }
        if self.kept.len() >= self.sweep_at {
            self.kept.retain(|policy| Arc::strong_count(policy) > 1);
            self.sweep_at = KEPT_MIN.max(2 * self.kept.len());
        }
        let policy = Arc::new(policy);
        self.kept.insert(policy.clone());
        policy
    }
}

#[cfg(test)]
mod tests {
    use latent_core::{AdmissionPolicy, BudgetCeilings};

    use super::*;

    fn policy(fuel: u64) -> RevisionPolicy {
        let deployment = BudgetCeilings { fuel: Some(fuel), ..BudgetCeilings::default() };
        let admission = AdmissionPolicy { deployment, ..AdmissionPolicy::default() };
        RevisionPolicy { admission, ..RevisionPolicy::default() }
    }

    #[test]
    fn equal_policies_are_held_once() {
        let mut policies = Policies::new();
        let first = policies.share(policy(1));
        assert!(Arc::ptr_eq(&first, &policies.share(policy(1))));
        assert!(!Arc::ptr_eq(&first, &policies.share(policy(2))));
    }

    #[test]
    fn unused_policies_are_let_go() {
        let mut policies = Policies::new();
        let used = policies.share(policy(0));
        for fuel in 1..10_000 {
            let _unused = policies.share(policy(fuel));
        }
        assert!(policies.kept.len() <= KEPT_MIN, "{} are kept", policies.kept.len());
        assert!(Arc::ptr_eq(&used, &policies.share(policy(0))), "one in use stays");
    }
}
