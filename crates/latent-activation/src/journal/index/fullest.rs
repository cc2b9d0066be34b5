//! Which tenant holds most: a heap that knows where each of them is in it.
//!
//! Invariant: every tenant that holds anything is in the heap once, `places` says where, and nobody above another holds
//! less. A change takes logarithmic time, and memory only for more tenants than there ever were.

use super::holdings::Tenant;

/// What a tenant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) amount: u64,
    /// The number of its oldest end: of two that hold as much, the older one's tenant gives way.
    pub(super) oldest: u64,
}

#[derive(Debug, Default)]
pub(super) struct Fullest {
    heap: Vec<(Share, Tenant)>,
    /// Where a tenant is in the heap, by its number.
    places: Vec<Option<usize>>,
}

impl Share {
    fn is_fuller(self, other: Self) -> bool {
        (self.amount, std::cmp::Reverse(self.oldest)) > (other.amount, std::cmp::Reverse(other.oldest))
    }
}

impl Fullest {
    pub(super) fn first(&self) -> Option<Tenant> {
        self.heap.first().map(|(_, tenant)| *tenant)
    }

    /// What the tenant holds from now on; `None` for nothing.
    pub(super) fn set(&mut self, tenant: Tenant, share: Option<Share>) {
        let place = self.places.get(tenant.0).copied().flatten();
        match (place, share) {
            (Some(place), Some(share)) => {
                self.heap[place].0 = share;
                self.settle(place);
            }
            (None, Some(share)) => {
                if self.places.len() <= tenant.0 {
                    self.places.resize(tenant.0 + 1, None);
                }
                self.heap.push((share, tenant));
                self.settle(self.heap.len() - 1);
            }
            (Some(place), None) => {
                self.heap.swap_remove(place);
                self.places[tenant.0] = None;
                if place < self.heap.len() {
                    self.settle(place);
                }
            }
            (None, None) => {}
        }
    }

    /// Whether everyone is where `places` says and nobody holds less than one below.
    pub(super) fn holds_together(&self) -> bool {
        let placed = self.places.iter().flatten().count();
        placed == self.heap.len()
            && self.heap.iter().enumerate().all(|(place, (share, tenant))| {
                let above = place.checked_sub(1).map(|below| self.heap[below / 2].0);
                self.places.get(tenant.0) == Some(&Some(place)) && above.is_none_or(|above| !share.is_fuller(above))
            })
    }

    /// What the heap says that the tenant holds.
    pub(super) fn get(&self, tenant: Tenant) -> Option<Share> {
        let place = self.places.get(tenant.0).copied().flatten()?;
        self.heap.get(place).map(|(share, _)| *share)
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    /// Moves what is in `place` up or down to where it belongs.
    fn settle(&mut self, mut place: usize) {
        let moved @ (share, tenant) = self.heap[place];
        while place > 0 && share.is_fuller(self.heap[(place - 1) / 2].0) {
            place = self.put(place, (place - 1) / 2);
        }
        while let Some(below) = self.fuller_below(place)
            && self.heap[below].0.is_fuller(share)
        {
            place = self.put(place, below);
        }
        self.heap[place] = moved;
        self.places[tenant.0] = Some(place);
    }

    /// Moves what is in `from` to `place`, and says which place is free now.
    fn put(&mut self, place: usize, from: usize) -> usize {
        self.heap[place] = self.heap[from];
        self.places[self.heap[place].1.0] = Some(place);
        from
    }

    fn fuller_below(&self, place: usize) -> Option<usize> {
        let (left, right) = (2 * place + 1, 2 * place + 2);
        let share = self.heap.get(left)?.0;
        let right_is_fuller = self.heap.get(right).is_some_and(|(other, _)| other.is_fuller(share));
        Some(if right_is_fuller { right } else { left })
    }
}

#[cfg(all(test, not(latent_loom)))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_fullest_is_the_one_that_a_search_finds(
            changes in proptest::collection::vec((0_usize..12, 0_u64..6), 1..200),
        ) {
            let mut fullest = Fullest::default();
            let mut shares = [None; 12];
            for (number, (tenant, amount)) in (0..).zip(changes) {
                shares[tenant] = (amount > 0).then_some(Share { amount, oldest: number });
                fullest.set(Tenant(tenant), shares[tenant]);
                let present = || shares.iter().enumerate().filter_map(|(tenant, share)| Some((tenant, (*share)?)));
                let first = present().max_by_key(|(_, share)| (share.amount, std::cmp::Reverse(share.oldest)));
                prop_assert_eq!(fullest.first(), first.map(|(tenant, _)| Tenant(tenant)));
                prop_assert!(fullest.holds_together() && fullest.len() == present().count());
                prop_assert!((0..12).all(|tenant| fullest.get(Tenant(tenant)) == shares[tenant]));
            }
        }
    }
}
