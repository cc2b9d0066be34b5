//! The bounds of a journal: how many records, how large, for how long.
//!
//! Invariant: a [`CheckedConfig`] can hold at least one record, and none of its sums can leave its type.

use std::num::NonZeroUsize;
use std::time::Duration;

use latent_core::error::{DETAILS_MAX, FIELDS_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
use latent_core::id::ID_BYTES_MAX;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

use crate::cancel::REASON_BYTES_MAX;
use crate::request::CORRELATION_BYTES_MAX;

/// The most records of a kind that can be configured.
const RECORDS_MAX: usize = 1 << 24;
/// The most bytes that can be configured.
const BYTES_MAX: u64 = 1 << 48;

/// What a record takes besides its texts: itself, and its places in the indexes.
pub(super) const RECORD_BYTES: u64 = 1536;
/// Ids and names that a record can have: tenant, activation, root, parent, service, route, deployment.
const NAMES: u64 = 7;
/// What a field of an error takes besides its texts.
pub(super) const FIELD_BYTES: u64 = 32;
/// What a detail of an error takes besides its kind and fields.
pub(super) const DETAIL_BYTES: u64 = 40;

/// The bounds of a journal (`activation-lifecycle.md`, "Bounded status and validation"). Ceilings, not a promise of
/// durability: a journal lives in memory and ends with its process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalActivationJournalConfig {
    /// Activations under way. The next is refused. 1 to 16,777,216; default 64.
    pub active_max: usize,
    /// Activations of one tenant under way. Its next is refused, whatever others have. At least 1; more than `active_max`
    /// is no bound of its own. Default `usize::MAX`, for a node with one tenant. A node with several sets it with
    /// [`shared_by`](Self::shared_by), or lower; otherwise one of them can take all of `active_max`.
    pub tenant_active_max: usize,
    /// Records of ended activations. Beyond it those of the tenant that has most give way, its oldest first. 1 to 16,777,216; default 1024.
    pub terminal_max: usize,
    /// Bytes that one record may reserve. A configuration that needs more is refused. Default 4 MiB.
    pub record_bytes_max: u64,
    /// Bytes of all reservations and ended records together. Ended records give way, the oldest of the tenant whose ended
    /// records take most; where that is not enough, the next activation is refused. Below `active_max` times
    /// [`reservation_bytes`](Self::reservation_bytes) it, and not `active_max`, says how many are under way at most. Up to 2^48; default 256 MiB.
    pub aggregate_bytes_max: u64,
    /// How long the record of an ended activation is kept, in monotonic time. Default 5 minutes.
    pub terminal_retention: Duration,
    /// Bytes of a declared error that are kept with its record; of a larger one only the size is. Each activation
    /// under way reserves that much, or what the longest platform error takes if that is more. Default 64 KiB.
    pub declared_error_bytes_max: u64,
    /// Ended activations whose ids are remembered after their records are gone, about 48 bytes each, so that a look-up
    /// tells an evicted record from an unknown id. The oldest is forgotten. Up to 16,777,216; default 4096.
    pub evicted_ids_max: usize,
    /// Watches of activations at once, each of which may keep one record beyond its eviction. The next is refused. Up to
    /// 16,777,216; default 1024.
    pub watchers_max: usize,
}

impl Default for LocalActivationJournalConfig {
    fn default() -> Self {
        Self {
            active_max: 64,
            tenant_active_max: usize::MAX,
            terminal_max: 1024,
            record_bytes_max: 4 << 20,
            aggregate_bytes_max: 256 << 20,
            terminal_retention: Duration::from_mins(5),
            declared_error_bytes_max: 64 << 10,
            evicted_ids_max: 4096,
            watchers_max: 1024,
        }
    }
}

impl LocalActivationJournalConfig {
    /// What one activation under way reserves: the most that its record can take once it has ended.
    #[must_use]
    pub fn reservation_bytes(&self) -> u64 {
        let names = NAMES * wide(ID_BYTES_MAX) + wide(REASON_BYTES_MAX) + wide(CORRELATION_BYTES_MAX);
        // What has not been checked may be beyond every bound.
        (RECORD_BYTES + names).saturating_add(self.declared_error_bytes_max.max(ERROR_BYTES_MAX))
    }

    /// The same, with `tenant_active_max` such that `tenants` tenants have an equal share of the activations under way
    /// and none of them can be refused for what the others hold: of `active_max`, or of what `aggregate_bytes_max` has
    /// room for if that is less. With more tenants than that each may have one, and they compete.
    #[must_use]
    pub fn shared_by(self, tenants: NonZeroUsize) -> Self {
        let room = usize::try_from(self.aggregate_bytes_max / self.reservation_bytes()).unwrap_or(usize::MAX);
        let tenant_active_max = (self.active_max.min(room) / tenants).max(1);
        Self { tenant_active_max, ..self }
    }

    pub(super) fn check(self) -> Result<CheckedConfig, PlatformError> {
        let records = |setting, value, min| within(setting, wide(value), min, wide(RECORDS_MAX));
        records("active_max", self.active_max, 1)?;
        within("tenant_active_max", wide(self.tenant_active_max), 1, u64::MAX)?;
        records("terminal_max", self.terminal_max, 1)?;
        records("evicted_ids_max", self.evicted_ids_max, 0)?;
        records("watchers_max", self.watchers_max, 0)?;
        within("declared_error_bytes_max", self.declared_error_bytes_max, 0, BYTES_MAX)?;
        let reservation = self.reservation_bytes();
        within("record_bytes_max", self.record_bytes_max, reservation, BYTES_MAX)?;
        within("aggregate_bytes_max", self.aggregate_bytes_max, reservation, BYTES_MAX)?;
        if self.terminal_retention.is_zero() {
            let message = "terminal_retention is zero, so that no end could be looked up; set a time above zero";
            return Err(refusal("terminal_retention", message));
        }
        Ok(CheckedConfig { reservation_bytes: reservation, config: self })
    }
}

/// The most that a platform error takes.
const ERROR_BYTES_MAX: u64 = {
    let field = NAME_BYTES_MAX + VALUE_BYTES_MAX;
    let fields = FIELDS_MAX as u64 * (field as u64 + FIELD_BYTES);
    MESSAGE_BYTES_MAX as u64 + DETAILS_MAX as u64 * (NAME_BYTES_MAX as u64 + DETAIL_BYTES + fields)
};

/// A configuration that holds together.
#[derive(Debug)]
pub(super) struct CheckedConfig {
    pub(super) config: LocalActivationJournalConfig,
    pub(super) reservation_bytes: u64,
}

fn within(setting: &'static str, value: u64, min: u64, max: u64) -> Result<(), PlatformError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(refusal(setting, format_args!("{setting} is {value}; it has to be from {min} to {max}")))
}

fn refusal(setting: &str, message: impl std::fmt::Display) -> PlatformError {
    PlatformError::new(PlatformErrorCode::InvalidArgument, message)
        .with_detail(ErrorDetail::new("activation.journal-config").with("setting", setting))
}

/// Sizes fit 64 bits on every platform that this builds for.
pub(super) fn wide(size: usize) -> u64 {
    u64::try_from(size).unwrap_or(u64::MAX)
}
