//! The weighted choice between the candidates of a route: a pure function of a key and the candidates' weights.
//!
//! Invariant: the same key and the same candidates in the same order always give the same choice, on every node.
//! Reference, section 3.

use latent_core::{ActivationId, FunctionTarget, RouteName, ServiceName, Sha256Digest, TenantId};

use crate::manifest::Weight;
use crate::revision::Lengths;

/// Separates these digests from all others.
const DOMAIN: &[u8] = b"latent route selection";

/// What decides a choice besides the candidates.
#[derive(Debug, Clone, Copy)]
pub struct SelectionKey<'a> {
    /// Whose service is called.
    pub tenant: &'a TenantId,
    /// The service.
    pub service: &'a ServiceName,
    /// The route asked for.
    pub route: &'a RouteName,
    /// The function that is called.
    pub target: &'a FunctionTarget,
    /// The effective activation id. Equal keys choose equally; different ones spread over the weights.
    pub routing_key: &'a ActivationId,
}

impl SelectionKey<'_> {
    /// The key's place on the line from zero to `total`, which must not be zero.
    fn point(&self, total: u64) -> u64 {
        let mut text = Lengths(Vec::with_capacity(256));
        text.0.extend_from_slice(DOMAIN);
        text.put(self.tenant.as_str().as_bytes());
        text.put(self.service.as_str().as_bytes());
        text.put(self.route.as_str().as_bytes());
        text.put(self.target.contract.as_bytes());
        text.put(self.target.function.as_bytes());
        text.put(self.routing_key.as_str().as_bytes());
        let digest = Sha256Digest::of(&text.0);
        let first = digest.as_bytes().first_chunk().expect("a digest has more than eight bytes");
        u64::from_be_bytes(*first) % total
    }
}

/// Chooses one of the candidates, which come sorted by revision: the first whose cumulative weight is strictly
/// greater than the key's point. A single candidate is chosen without hashing; of none, none is. `candidates` answers
/// the same ones each time it is asked.
pub fn select<T, I>(key: &SelectionKey<'_>, candidates: impl Fn() -> I) -> Option<T>
where
    I: Iterator<Item = (Weight, T)>,
{
    let mut few = candidates();
    let (first, second) = (few.next()?.1, few.next());
    if second.is_none() {
        return Some(first);
    }
    let total = candidates().map(|(weight, _)| u64::from(weight.get())).sum();
    let point = key.point(total);
    let mut cumulative = 0;
    let beyond = |(weight, candidate): (Weight, T)| {
        cumulative += u64::from(weight.get());
        (cumulative > point).then_some(candidate)
    };
    candidates().find_map(beyond)
}
