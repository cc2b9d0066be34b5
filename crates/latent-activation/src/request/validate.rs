//! The checks, cheapest and most telling first: who, then how much, then what.
//!
//! A refusal names the first thing that is wrong; the order is fixed, so the same request gets the same answer.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use latent_core::id::{ID_BYTES_MAX, check};
use latent_core::{ActivationId, Caller, IdError, Principal, PrincipalKind};

use super::limits::RequestLimits;
use super::refusal::{RequestField as Field, RequestRefusal as Refusal};
use super::valid::{Correlation, Lineage, ValidRequest};
use super::{ActivationRequest, CORRELATION_BYTES_MAX, RESERVED_METADATA_PREFIXES};
use crate::id_source::ActivationIdSource;

impl ActivationRequest {
    /// Checks the request. An absent activation id comes from `ids`; `received` is the wall time of its arrival, against
    /// which only absurd deadlines are weighed. A deadline that has passed is no fault of the request: whoever waits
    /// for the activation is told so.
    ///
    /// # Errors
    /// The first [`RequestRefusal`](Refusal) there is. Nothing has been reserved and no id taken.
    pub fn validate(
        mut self,
        limits: &RequestLimits,
        ids: &dyn ActivationIdSource,
        received: SystemTime,
    ) -> Result<ValidRequest, Refusal> {
        let principal =
            std::mem::replace(&mut self.caller, Caller::Anonymous).authenticated().map_err(Refusal::Caller)?;
        if principal.tenant != self.tenant {
            return Err(Refusal::ForeignTenant);
        }
        self.check_sizes(limits)?;
        self.check_names(&principal, limits)?;
        self.check_metadata(limits)?;
        self.check_wishes(limits, received)?;
        let correlation = correlation([self.trace.parent, self.trace.state, self.idempotency_key], self.retry_count)?;
        let mut lineage = lineage(
            [self.activation_id, self.root_activation_id, self.parent_activation_id],
            limits.id_bytes_max.min(ID_BYTES_MAX),
            ids,
        )?;
        lineage.correlation = correlation;
        // Collecting would keep the allocation that came, spare room and all.
        let mut metadata = Vec::with_capacity(self.metadata.len());
        metadata.extend(self.metadata.into_iter().map(|(key, value)| (key.into_boxed_str(), value.into_boxed_str())));
        Ok(ValidRequest {
            lineage,
            principal,
            service: self.service,
            route: self.route,
            target: self.target,
            payload: self.payload,
            budget: self.budget,
            deadline: self.deadline,
            metadata,
        })
    }

    /// Lengths, allocations and counts. What follows looks only at texts that passed here.
    fn check_sizes(&self, limits: &RequestLimits) -> Result<(), Refusal> {
        at_most(Field::Payload, "bytes", self.payload.bytes.len(), limits.payload_bytes_max)?;
        at_most(Field::Metadata, "entries", self.metadata.len(), limits.metadata_entries_max)?;
        let mut allocated = self.metadata.capacity().saturating_mul(size_of::<(String, String)>());
        let mut size = |field, text: &String, max| {
            at_most(field, "bytes", text.len(), max)?;
            at_most(field, "allocated bytes", text.capacity(), limits.allocation_bytes_max)?;
            allocated = allocated.saturating_add(text.capacity());
            Ok(())
        };
        let strings = [
            (Field::ActivationId, &self.activation_id, limits.id_bytes_max),
            (Field::RootActivationId, &self.root_activation_id, limits.id_bytes_max),
            (Field::ParentActivationId, &self.parent_activation_id, limits.id_bytes_max),
            (Field::TraceParent, &self.trace.parent, limits.trace_parent_bytes_max),
            (Field::TraceState, &self.trace.state, limits.trace_state_bytes_max),
            (Field::IdempotencyKey, &self.idempotency_key, limits.idempotency_key_bytes_max),
        ];
        for (field, text, max) in strings {
            text.as_ref().map_or(Ok(()), |text| size(field, text, max))?;
        }
        for (key, value) in &self.metadata {
            size(Field::MetadataKey, key, limits.metadata_key_bytes_max)?;
            size(Field::MetadataValue, value, limits.metadata_value_bytes_max)?;
        }
        for (field, text) in [(Field::Contract, &self.target.contract), (Field::Function, &self.target.function)] {
            at_most(field, "bytes", text.len(), limits.target_bytes_max)?;
            allocated = allocated.saturating_add(text.len());
        }
        at_most(Field::Context, "allocated bytes", allocated, limits.context_bytes_max)
    }

    /// The names that were ids before they came here, under this node's tighter bound, and those that were not.
    fn check_names(&self, principal: &Principal, limits: &RequestLimits) -> Result<(), Refusal> {
        let calling = match &principal.kind {
            PrincipalKind::User => None,
            PrincipalKind::Service(service) => Some((Field::CallingService, service.as_str())),
        };
        let names = [
            (Field::Tenant, self.tenant.as_str()),
            (Field::Subject, principal.subject.as_str()),
            (Field::Service, self.service.as_str()),
            (Field::Route, self.route.as_str()),
        ];
        for (field, name) in names.into_iter().chain(calling) {
            at_most(field, "bytes", name.len(), limits.id_bytes_max)?;
        }
        let text = |field, text: &str| match check(text, usize::MAX) {
            // A function of the world itself has no contract, and a trace or a key may be left empty.
            Err(IdError::Empty) if field != Field::Function => Ok(()),
            checked => checked.map_err(|reason| Refusal::Text { field, reason }),
        };
        text(Field::Function, &self.target.function)?;
        text(Field::Contract, &self.target.contract)?;
        let carried = [
            (Field::TraceParent, &self.trace.parent),
            (Field::TraceState, &self.trace.state),
            (Field::IdempotencyKey, &self.idempotency_key),
        ];
        for (field, carried) in carried {
            if let Some(offset) = carried.as_deref().and_then(|text| text.find(char::is_control)) {
                return Err(Refusal::Text { field, reason: IdError::ForbiddenCharacter { offset } });
            }
        }
        Ok(())
    }

    fn check_metadata(&self, limits: &RequestLimits) -> Result<(), Refusal> {
        for (key, _) in &self.metadata {
            check(key, limits.metadata_key_bytes_max)
                .map_err(|reason| Refusal::Text { field: Field::MetadataKey, reason })?;
            let starts_with = |prefix: &&str| {
                key.as_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
            };
            if let Some(prefix) = RESERVED_METADATA_PREFIXES.into_iter().find(starts_with) {
                return Err(Refusal::ReservedMetadata { prefix });
            }
        }
        Ok(())
    }

    /// Budget and deadline. Asking for no log is a wish like any other; asking for no fuel is none.
    fn check_wishes(&self, limits: &RequestLimits, received: SystemTime) -> Result<(), Refusal> {
        let budget = &self.budget;
        let amounts = [
            (Field::Fuel, "units", budget.fuel, 1, limits.fuel_max),
            (Field::MemoryBytes, "bytes", budget.memory_bytes, 1, limits.memory_bytes_max),
            (Field::LogBytes, "bytes", budget.log_bytes, 0, limits.log_bytes_max),
            (Field::RetryCount, "retries", Some(self.retry_count.into()), 0, limits.retry_count_max.into()),
        ];
        for (field, unit, asked, min, max) in amounts {
            match asked {
                Some(asked) if asked < min => return Err(Refusal::TooSmall { field }),
                Some(found) if found > max => return Err(Refusal::TooLarge { field, unit, found, max }),
                _ => {}
            }
        }
        let ahead_max = limits.deadline_ahead_max;
        if let Some(limit) = budget.wall_limit {
            if limit.is_zero() {
                return Err(Refusal::TooSmall { field: Field::WallLimit });
            }
            within(Field::WallLimit, limit, ahead_max)?;
        }
        if let Some(deadline) = self.deadline {
            if deadline <= SystemTime::UNIX_EPOCH {
                return Err(Refusal::TooSmall { field: Field::Deadline });
            }
            within(Field::Deadline, deadline.duration_since(received).unwrap_or_default(), ahead_max)?;
        }
        Ok(())
    }
}

/// The identity of `[activation, root, parent]` as they were given.
/// What is kept of the texts that accompany a call: nothing, where nothing came.
fn correlation(
    [trace_parent, trace_state, idempotency_key]: [Option<String>; 3],
    retry_count: u32,
) -> Result<Option<Arc<Correlation>>, Refusal> {
    if trace_parent.is_none() && trace_state.is_none() && idempotency_key.is_none() && retry_count == 0 {
        return Ok(None);
    }
    let boxed = |text: Option<String>| text.map(String::into_boxed_str);
    let correlation = Correlation {
        trace_parent: boxed(trace_parent),
        trace_state: boxed(trace_state),
        idempotency_key: boxed(idempotency_key),
        retry_count,
    };
    at_most(Field::Context, "bytes of correlation", correlation.text_bytes(), CORRELATION_BYTES_MAX)?;
    Ok(Some(Arc::new(correlation)))
}

fn lineage(given: [Option<String>; 3], max: usize, ids: &dyn ActivationIdSource) -> Result<Lineage, Refusal> {
    let [activation, root, parent] = given;
    let id = |field, text: Option<String>| {
        let checked = text.map(|text| check(&text, max).and_then(|()| ActivationId::new(text)));
        checked.transpose().map_err(|reason| Refusal::Text { field, reason })
    };
    let activation = id(Field::ActivationId, activation)?;
    let root = id(Field::RootActivationId, root)?;
    let parent = id(Field::ParentActivationId, parent)?;
    if parent.is_some() && root.is_none() {
        return Err(Refusal::ParentWithoutRoot);
    }
    let activation_id = match activation {
        Some(given) => given,
        None => ids.next_id().map_err(Refusal::IdsExhausted)?,
    };
    Ok(Lineage { root: root.unwrap_or_else(|| activation_id.clone()), activation_id, parent, correlation: None })
}

fn at_most(field: Field, unit: &'static str, found: usize, max: usize) -> Result<(), Refusal> {
    if found <= max {
        return Ok(());
    }
    let wide = |size| u64::try_from(size).unwrap_or(u64::MAX);
    Err(Refusal::TooLarge { field, unit, found: wide(found), max: wide(max) })
}

/// Both spans are told in whole seconds, the found one rounded up so that it is beyond the bound as told.
fn within(field: Field, span: Duration, max: Duration) -> Result<(), Refusal> {
    if span <= max {
        return Ok(());
    }
    let found = span.as_secs().saturating_add(u64::from(span.subsec_nanos() > 0));
    Err(Refusal::TooLarge { field, unit: "seconds ahead", found, max: max.as_secs() })
}
