//! The counters that show whether a backend still holds anything.

/// Live resources of one backend, read in constant time. After a completed workload all but the last three are
/// zero; the
/// prepared ones stay within their configured bounds (`activation-containment.md`, "Test fixtures and
/// observations").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RuntimeResourceSnapshot {
    /// Invocations between entry and result.
    pub running_invocations: u64,
    /// Live stores.
    pub stores: u64,
    /// Live host states: one a store.
    pub host_states: u64,
    /// Live component instances.
    pub component_instances: u64,
    /// Decoded parameters and encoded results that are held.
    pub temporary_buffers: u64,
    /// Cancellation probes that a running guest reads.
    pub cancellation_probes: u64,
    /// Requests of guests under way, until their responses have ended. They may outlast their activation by the moment
    /// that dropping them takes.
    pub outgoing_requests: u64,
    /// Permits of live instances, held by prepared uses too.
    pub instance_permits: u64,
    /// Pins on prepared code outside the cache.
    pub prepared_pins: u64,
    /// Pins on code that is ready and waits for a cell.
    pub ready_pins: u64,
    /// Bytes of compiled code under such pins, each component counted once.
    pub ready_bytes: u64,
    /// Preparations that are queued or under way.
    pub preparations: u64,
    /// Prepared components that the cache keeps.
    pub prepared_entries: u64,
    /// Bytes of compiled code that the cache keeps.
    pub prepared_bytes: u64,
}

impl RuntimeResourceSnapshot {
    /// Whether no invocation holds anything; cached code may remain.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let cached_only = Self {
            preparations: self.preparations,
            prepared_entries: self.prepared_entries,
            prepared_bytes: self.prepared_bytes,
            ..Self::default()
        };
        *self == cached_only
    }
}
