//! `latent:context/context`: who the activation is and what it may still use.

use std::time::Instant;

use wasmtime::component::LinkerInstance;

use crate::host::HostState;

/// The prefix of caller metadata that a guest may read; the node's own metadata stays out of its sight.
const GUEST_PREFIX: &str = "guest.";

/// Defines `latent:context/context`.
pub(super) fn bind(instance: &mut LinkerInstance<'_, HostState>) -> wasmtime::Result<()> {
    instance.func_wrap("activation-id", |store, (): ()| {
        Ok((store.data().run.context.activation_id.as_str().to_owned(),))
    })?;
    instance
        .func_wrap("tenant", |store, (): ()| Ok((store.data().run.context.principal.tenant.as_str().to_owned(),)))?;
    instance
        .func_wrap("subject", |store, (): ()| Ok((store.data().run.context.principal.subject.as_str().to_owned(),)))?;
    instance.func_wrap("remaining-fuel", |store, (): ()| Ok((store.get_fuel()?,)))?;
    instance.func_wrap("deadline-millis", |store, (): ()| {
        #[expect(clippy::disallowed_methods, reason = "the guest asks for the time that is left now")]
        let now = Instant::now();
        let left = store.data().run.cancellation.deadline().map(|deadline| deadline.saturating_duration_since(now));
        Ok((left.map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),))
    })?;
    instance.func_wrap("metadata", |store, (key,): (String,)| {
        let named = |name: &str| name.strip_prefix(GUEST_PREFIX) == Some(&*key);
        let metadata = &store.data().run.context.metadata;
        Ok((metadata.iter().find(|(name, _)| named(name)).map(|(_, value)| value.to_string()),))
    })?;
    instance.func_wrap("trace-parent", |store, (): ()| {
        Ok((store.data().run.context.trace_parent.as_ref().map(ToString::to_string),))
    })
}
