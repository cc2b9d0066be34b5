//! Live counts of what invocations hold. A count rises when its guard is made and falls when the guard drops, on
//! every way out.
//!
//! Counts are striped over cache lines: each thread counts on its own stripe and a guard gives back where it took, so
//! that threads do not contend for a line at every step of a run. Reading adds the stripes, whose number is fixed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Stripes of a gauge. More threads than this share stripes, which costs speed and nothing else.
const STRIPES: usize = 16;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Invocations between entry and result.
    Invocation,
    /// Live stores, each with its one host state and the live probe in it.
    Store,
    /// Live component instances.
    Instance,
    /// Decoded parameters and encoded results.
    Buffer,
    /// Pins on prepared code outside the cache.
    Pin,
    /// HTTP requests of guests under way.
    Outgoing,
}

const KINDS: usize = 6;

#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe([AtomicU64; KINDS]);

/// The counts of one backend.
#[derive(Debug, Default)]
pub struct Gauges {
    stripes: [Stripe; STRIPES],
    permits: AtomicU64,
}

/// One counted thing.
#[derive(Debug)]
pub struct Held<'a>(&'a AtomicU64);

/// One counted thing that leaves the backend.
#[derive(Debug)]
pub struct HeldOutside {
    gauges: Arc<Gauges>,
    stripe: usize,
    kind: Kind,
}

/// A pin and a permit that leave the backend with a prepared use.
#[derive(Debug)]
pub struct HeldUse(Arc<Gauges>);

impl Gauges {
    /// Counts one more of `kind` until the guard drops.
    #[must_use]
    pub fn hold(&self, kind: Kind) -> Held<'_> {
        let count = &self.stripes[own_stripe()].0[kind as usize];
        count.fetch_add(1, Ordering::Relaxed);
        Held(count)
    }

    /// Counts one more of `kind` for as long as the returned value lives.
    #[must_use]
    pub fn hold_outside(self: &Arc<Self>, kind: Kind) -> HeldOutside {
        let stripe = own_stripe();
        self.stripes[stripe].0[kind as usize].fetch_add(1, Ordering::Relaxed);
        HeldOutside { gauges: self.clone(), stripe, kind }
    }

    /// Takes one of `max` permits of live instances until the guard drops.
    #[must_use]
    pub fn permit(&self, max: u64) -> Option<Held<'_>> {
        let more = |held: u64| held.checked_add(1).filter(|more| *more <= max);
        self.permits.try_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Held(&self.permits))
    }

    /// Takes a pin and one of `max` permits for as long as the returned value lives.
    #[must_use]
    pub fn hold_use(self: &Arc<Self>, max: u64) -> Option<HeldUse> {
        std::mem::forget(self.permit(max)?);
        self.stripes[0].0[Kind::Pin as usize].fetch_add(1, Ordering::Relaxed);
        Some(HeldUse(self.clone()))
    }

    /// How many of `kind` are held. A moment's truth while threads run; exact once they have stopped.
    #[must_use]
    pub fn get(&self, kind: Kind) -> u64 {
        self.stripes.iter().map(|stripe| stripe.0[kind as usize].load(Ordering::Relaxed)).sum()
    }

    /// How many permits are taken.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits.load(Ordering::Relaxed)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for HeldOutside {
    fn drop(&mut self) {
        self.gauges.stripes[self.stripe].0[self.kind as usize].fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for HeldUse {
    fn drop(&mut self) {
        self.0.stripes[0].0[Kind::Pin as usize].fetch_sub(1, Ordering::Relaxed);
        self.0.permits.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The stripe of this thread, from where its thread-local storage lies. Two threads on one stripe are slower, not
/// wrong.
fn own_stripe() -> usize {
    thread_local! {
        static ANCHOR: u8 = const { 0 };
    }
    let place = ANCHOR.with(|anchor| std::ptr::from_ref(anchor).addr());
    // Multiplying by an odd constant spreads the few bits in which the places of threads differ.
    place.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (usize::BITS - STRIPES.trailing_zeros())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_stop_exactly_at_their_bound() {
        let gauges = Gauges::default();
        let held: Vec<_> = (0..5).map_while(|_| gauges.permit(3)).collect();
        assert_eq!((held.len(), gauges.permits()), (3, 3));
        drop(held);
        assert_eq!(gauges.permits(), 0);
    }

    #[test]
    fn a_guard_dropped_on_another_thread_gives_back_what_it_took() {
        let gauges = Gauges::default();
        let here = gauges.hold(Kind::Store);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _there = gauges.hold(Kind::Store);
                assert_eq!(gauges.get(Kind::Store), 2);
                drop(here);
            });
        });
        assert_eq!((gauges.get(Kind::Store), gauges.get(Kind::Instance)), (0, 0));
    }
}
