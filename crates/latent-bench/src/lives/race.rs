//! How far all tenants are when the first has its share done.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::house::{TENANTS, tenant_index};

/// One part's race between tenants with equal shares.
#[derive(Debug)]
pub struct Race {
    share: u64,
    done: [AtomicU64; TENANTS],
    at_first_finish: OnceLock<[u64; TENANTS]>,
}

impl Race {
    /// A race over `share` activations for each tenant, at least one.
    #[must_use]
    pub fn over(share: u64) -> Self {
        Self { share, done: Default::default(), at_first_finish: OnceLock::new() }
    }

    /// The activation of this number has ended.
    pub fn ended(&self, number: u64) {
        let done = self.done[tenant_index(number)].fetch_add(1, Ordering::Relaxed) + 1;
        if done == self.share {
            self.at_first_finish.get_or_init(|| self.done.each_ref().map(|done| done.load(Ordering::Relaxed)));
        }
    }

    /// How much of its share each tenant had done, in percent, when the first had done all.
    #[must_use]
    pub fn percent(&self) -> [u64; TENANTS] {
        self.at_first_finish.get().map_or([0; TENANTS], |done| done.map(|done| done * 100 / self.share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_tells_where_the_others_were_at_the_first_finish_and_not_later() {
        let race = Race::over(2);
        race.ended(1);
        for _ in 0..2 {
            race.ended(0);
        }
        for _ in 0..2 {
            race.ended(2);
        }
        assert_eq!(race.percent(), [100, 50, 0, 0, 0, 0, 0, 0]);
    }
}
