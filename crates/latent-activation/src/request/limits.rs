//! How large a request may be: one named bound a field, each with its default and what is refused beyond it.

use std::time::Duration;

use latent_core::id::ID_BYTES_MAX;

/// The bounds of a request. A request beyond any of them is refused, whole, before anything is reserved for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "each is a maximum, and says so where it is set")]
pub struct RequestLimits {
    /// Bytes of any id or name: 1 to [`ID_BYTES_MAX`], which also holds where more is set. Default 256.
    pub id_bytes_max: usize,
    /// Bytes of the contract's name and of the function's, each. Default 512.
    pub target_bytes_max: usize,
    /// Bytes of the payload. A payload that is a slice keeps the whole buffer it was cut from, which cannot be seen here:
    /// whoever reads payloads from a transport gives each a buffer of its own. Default 8 MiB.
    pub payload_bytes_max: usize,
    /// Bytes of `traceparent`. Default 256.
    pub trace_parent_bytes_max: usize,
    /// Bytes of `tracestate`. Default 512, which is what every participant of a trace has to carry.
    pub trace_state_bytes_max: usize,
    /// Bytes of the idempotency key. Default 256.
    pub idempotency_key_bytes_max: usize,
    /// The highest retry count. Default 10,000.
    pub retry_count_max: u32,
    /// Entries of metadata. Default 64.
    pub metadata_entries_max: usize,
    /// Bytes of one metadata key. Default 128.
    pub metadata_key_bytes_max: usize,
    /// Bytes of one metadata value. Default 4 KiB.
    pub metadata_value_bytes_max: usize,
    /// Bytes that one string may have allocated, spare capacity included. Default 8 KiB.
    pub allocation_bytes_max: usize,
    /// Bytes of everything besides the payload together, as allocated, spare capacity included. Default 64 KiB.
    pub context_bytes_max: usize,
    /// Units of fuel that can be asked for. Default 2^63 - 1, which is what an engine can count.
    pub fuel_max: u64,
    /// Bytes of guest memory that can be asked for. Default 1 TiB.
    pub memory_bytes_max: u64,
    /// Bytes of log that can be asked for. Default 1 TiB.
    pub log_bytes_max: u64,
    /// How far ahead a deadline, or how long a wall limit, may be. Default 366 days.
    pub deadline_ahead_max: Duration,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            id_bytes_max: ID_BYTES_MAX,
            target_bytes_max: 512,
            payload_bytes_max: 8 << 20,
            trace_parent_bytes_max: 256,
            trace_state_bytes_max: 512,
            idempotency_key_bytes_max: 256,
            retry_count_max: 10_000,
            metadata_entries_max: 64,
            metadata_key_bytes_max: 128,
            metadata_value_bytes_max: 4 << 10,
            allocation_bytes_max: 8 << 10,
            context_bytes_max: 64 << 10,
            fuel_max: i64::MAX.unsigned_abs(),
            memory_bytes_max: 1 << 40,
            log_bytes_max: 1 << 40,
            deadline_ahead_max: Duration::from_hours(366 * 24),
        }
    }
}
