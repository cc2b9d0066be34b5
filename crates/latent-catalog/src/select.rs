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

/// Chooses one of the candidates, which come sorted by revision: the first whose cumulative weight is strictly
/// greater than the key's point. A single candidate is chosen without hashing; of none, none is. `candidates` answers
/// the same ones each time it is asked.
pub fn select<T, I>(key: &RouteRequest<'_>, candidates: impl Fn() -> I) -> Option<T>
where
    I: Iterator<Item = (Weight, T)>,
{
    let mut few = candidates();
    let (first, second) = (few.next()?.1, few.next());
    if second.is_none() {
        return Some(first);
    }
    let total = candidates().map(|(weight, _)| u64::from(weight.get())).sum();
    let point = point(key, total);
    let mut cumulative = 0;
    let beyond = |(weight, candidate): (Weight, T)| {
        cumulative += u64::from(weight.get());
        (cumulative > point).then_some(candidate)
    };
    candidates().find_map(beyond)
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
