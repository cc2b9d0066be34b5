//! Components that cannot be prepared, remembered so that asking again costs no compiler. Pure.
//!
//! Invariant: only what another attempt could not change is remembered, and no more than a fixed number.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::RandomState;
use latent_core::{PlatformError, PlatformErrorCode};
use latent_executor::PreparationKey;

/// The most refusals that are remembered; the oldest is forgotten first. A few hundred bytes each.
const REFUSED_MAX: usize = 1_024;

/// The refusals.
#[derive(Default)]
pub struct Refused {
    errors: HashMap<PreparationKey, PlatformError, RandomState>,
    order: VecDeque<PreparationKey>,
}

impl Refused {
    /// Why `key` cannot be prepared, if that is known.
    pub fn get(&self, key: PreparationKey) -> Option<&PlatformError> {
        self.errors.get(&key)
    }

    /// Remembers `error` if it lies in the component itself and would be the same again.
    pub fn remember(&mut self, key: PreparationKey, error: &PlatformError) {
        if error.is_retryable() || !lies_in_the_component(error.code()) {
            return;
        }
        if self.errors.insert(key, error.clone()).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REFUSED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.errors.remove(&oldest);
        }
    }
}

/// Codes that say something about the bytes, or about what compiling them takes. What a repository answers is not among
/// them: the next upload may mend it.
fn lies_in_the_component(code: PlatformErrorCode) -> bool {
    use PlatformErrorCode as Code;
    matches!(code, Code::InvalidArgument | Code::IncompatibleContract | Code::ResourceExhausted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::Sha256Digest;

    fn key(at: usize) -> PreparationKey {
        PreparationKey::new(Sha256Digest::of(&at.to_le_bytes()), 0)
    }

    fn error(code: PlatformErrorCode) -> PlatformError {
        PlatformError::new(code, "no")
    }

    #[test]
    fn what_lies_in_the_component_is_remembered_and_what_may_pass_is_not() {
        let mut refused = Refused::default();
        refused.remember(key(0), &error(PlatformErrorCode::InvalidArgument));
        refused.remember(key(1), &error(PlatformErrorCode::ResourceExhausted).retryable());
        refused.remember(key(2), &error(PlatformErrorCode::CorruptArtifact));
        refused.remember(key(3), &error(PlatformErrorCode::NotFound));
        let known: Vec<_> = (0..4).map(|at| refused.get(key(at)).is_some()).collect();
        assert_eq!(known, [true, false, false, false]);
    }

    #[test]
    fn the_oldest_is_forgotten_at_the_bound() {
        let mut refused = Refused::default();
        for at in 0..=REFUSED_MAX {
            refused.remember(key(at), &error(PlatformErrorCode::IncompatibleContract));
            refused.remember(key(at), &error(PlatformErrorCode::IncompatibleContract));
        }
        assert!(
            refused.get(key(0)).is_none() && refused.get(key(1)).is_some() && refused.get(key(REFUSED_MAX)).is_some()
        );
        assert_eq!(refused.errors.len(), REFUSED_MAX);
    }
}
