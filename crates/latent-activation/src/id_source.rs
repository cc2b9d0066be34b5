//! Where the ids of activations come from that their callers did not name.
//!
//! Invariant: a source never gives the same id twice in its life; when it has none left it says so, for good.

use std::fmt;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use latent_core::{ActivationId, ErrorDetail, PlatformError, PlatformErrorCode};

/// Names activations that came without a name (`activation-lifecycle.md`, "Start and identity").
pub trait ActivationIdSource: Send + Sync {
    /// An id that this source has not given before.
    ///
    /// # Errors
    /// [`IdsExhausted`] when there is none left.
    fn next_id(&self) -> Result<ActivationId, IdsExhausted>;
}

/// A source has no id left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdsExhausted;

impl fmt::Display for IdsExhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the node has no activation id left to give; name the activation, or restart the node")
    }
}

impl std::error::Error for IdsExhausted {}

impl From<IdsExhausted> for PlatformError {
    fn from(exhausted: IdsExhausted) -> Self {
        Self::new(PlatformErrorCode::Unavailable, exhausted).with_detail(ErrorDetail::new("activation.ids-exhausted"))
    }
}

/// The node's own source: a counter, scrambled one to one under a key that is drawn at random when the source is made.
/// No id repeats in the source's life; two sources meet with odds of one in 2^45 a pair of processes at worst. An id tells
/// nobody how many came before it. It is no secret: knowing an id gives no right.
#[derive(Debug)]
pub struct RandomActivationIdSource {
    next: AtomicU64,
    /// The upper half of each id.
    process: u64,
    key: [u64; 2],
}

/// Characters of an id: 9 for the process, 13 for the scrambled count. Short enough to be kept in place.
const ID_CHARS: usize = 22;
const PROCESS_CHARS: usize = 9;
/// Five bits a character; no letter that is easily taken for another.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl Default for RandomActivationIdSource {
    fn default() -> Self {
        Self::new()
    }
}

impl RandomActivationIdSource {
    /// A source with a key of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(0)
    }

    /// A source that has given `given` ids already.
    fn starting_at(given: u64) -> Self {
        // The standard library seeds each of these from the operating system's randomness.
        let random = std::hash::RandomState::new();
        let [process, one, two] = [0_u8, 1, 2].map(|purpose| random.hash_one(purpose));
        Self { next: AtomicU64::new(given), process, key: [one, two] }
    }

    /// Different counts give different results: every step can be undone.
    fn scramble(&self, count: u64) -> u64 {
        self.key.iter().fold(count, |value, key| {
            let mixed = (value ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(29)
        })
    }
}

impl ActivationIdSource for RandomActivationIdSource {
    fn next_id(&self) -> Result<ActivationId, IdsExhausted> {
        let taken = self.next.try_update(Ordering::Relaxed, Ordering::Relaxed, |next| next.checked_add(1));
        let count = self.scramble(taken.map_err(|_last| IdsExhausted)?);
        let mut text = [0_u8; ID_CHARS];
        let (process, counted) = text.split_at_mut(PROCESS_CHARS);
        spell(self.process, process);
        spell(count, counted);
        let text = str::from_utf8(&text).expect("the alphabet is ASCII");
        Ok(ActivationId::new(text).expect("letters and digits make an id"))
    }
}

/// Writes the lowest bits of `value`, five a character.
fn spell(mut value: u64, into: &mut [u8]) {
    for character in into.iter_mut().rev() {
        *character = ALPHABET[usize::try_from(value & 31).expect("five bits fit any word")];
        value >>= 5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::thread;

    #[test]
    fn ids_are_unique_within_the_process_across_threads_and_sources() {
        let sources = [RandomActivationIdSource::new(), RandomActivationIdSource::new()];
        let taken: Vec<Vec<ActivationId>> = thread::scope(|scope| {
            let taking: Vec<_> = (0..4)
                .map(|n| {
                    scope.spawn({
                        let source = &sources[n % 2];
                        move || (0..25_000).map(|_| source.next_id().unwrap()).collect()
                    })
                })
                .collect();
            taking.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let unique: HashSet<_> = taken.iter().flatten().collect();
        assert_eq!(unique.len(), 100_000);
    }

    #[test]
    fn an_id_does_not_show_how_many_came_before() {
        let source = RandomActivationIdSource::new();
        let ids: Vec<_> = (0..64).map(|_| source.next_id().unwrap()).collect();
        assert!(!ids.is_sorted() && !ids.iter().rev().is_sorted());
        assert!(ids.iter().all(|id| id.as_str().len() == ID_CHARS));
    }

    #[test]
    fn the_last_id_is_given_and_then_none_ever_again() {
        let source = RandomActivationIdSource::starting_at(u64::MAX - 2);
        assert_ne!(source.next_id().unwrap(), source.next_id().unwrap());
        for _ in 0..3 {
            assert_eq!(source.next_id(), Err(IdsExhausted));
        }
        let error = PlatformError::from(IdsExhausted);
        assert!(error.has_detail("activation.ids-exhausted") && !error.is_retryable());
    }
}
