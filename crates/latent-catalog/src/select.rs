//! The weighted choice between the candidates of a route: a pure function of a key and the candidates' weights.
//!
//! Invariant: the same key and the same candidates in the same order always give the same choice, on every node.
//! Reference, section 3.

use latent_core::Sha256Digest;

use crate::manifest::Weight;
use crate::port::RouteRequest;
use crate::revision::Lengths;

/// Separates these digests from all others.
const DOMAIN: &[u8] = b"latent route selection";

/// A choice, and how it came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<T> {
    /// The candidate that was chosen.
    pub chosen: T,
    /// The weights of all candidates together.
    pub total_weight: u64,
    /// Where the key came out, from zero on; `None` where there was one candidate, and no hash.
    pub ticket: Option<u64>,
    /// The weights of the candidates before the chosen one together: it has the tickets from here on, one for each unit
    /// of its weight.
    pub weight_before: u64,
}

/// Chooses one of the candidates, which come sorted by revision: the first whose cumulative weight is strictly
/// greater than the key's point. A single candidate is chosen without hashing; of none, none is. `candidates` answers
/// the same ones each time it is asked.
pub fn select<T, I>(key: &RouteRequest<'_>, candidates: impl Fn() -> I) -> Option<T>
where
    I: Iterator<Item = (Weight, T)>,
{
    select_explained(key, candidates).map(|choice| choice.chosen)
}

/// As [`select`], with how it came about.
pub fn select_explained<T, I>(key: &RouteRequest<'_>, candidates: impl Fn() -> I) -> Option<Choice<T>>
where
    I: Iterator<Item = (Weight, T)>,
{
    let mut few = candidates();
    let ((weight, first), second) = (few.next()?, few.next());
    if second.is_none() {
        return Some(Choice { chosen: first, total_weight: weight.get().into(), ticket: None, weight_before: 0 });
    }
    let total_weight = candidates().map(|(weight, _)| u64::from(weight.get())).sum();
    let ticket = point(key, total_weight);
    let mut weight_before = 0;
    for (weight, chosen) in candidates() {
        let cumulative = weight_before + u64::from(weight.get());
        if cumulative > ticket {
            return Some(Choice { chosen, total_weight, ticket: Some(ticket), weight_before });
        }
        weight_before = cumulative;
    }
    None
}

/// The key's place on the line from zero to `total`, which must not be zero. The routing key is the activation id: equal ids
/// choose equally, different ones spread over the weights.
fn point(key: &RouteRequest<'_>, total: u64) -> u64 {
    let mut text = Lengths(Vec::with_capacity(256));
    text.0.extend_from_slice(DOMAIN);
    text.put(key.tenant.as_str().as_bytes());
    text.put(key.service.as_str().as_bytes());
    text.put(key.route.as_str().as_bytes());
    text.put(key.target.contract.as_bytes());
    text.put(key.target.function.as_bytes());
    text.put(key.activation_id.as_str().as_bytes());
    let digest = Sha256Digest::of(&text.0);
    let first = digest.as_bytes().first_chunk().expect("a digest has more than eight bytes");
    u64::from_be_bytes(*first) % total
}
