//! Tenants' quotas as the policy of admission. Invariant: a tenant that is not listed is refused.

use latent_scheduler::admission::{AdmissionConfig, Quota, TenantPolicy};

use super::model::{Tenant, TenantQuota};

/// `base`, with exactly `tenants` in it. What a tenant's quota does not say is as `base` says of that tenant, or else of
/// `other_tenants`, or else unrestricted; so are trust and allowlists. Nobody else is admitted.
#[must_use]
pub fn policy(base: &AdmissionConfig, tenants: &[Tenant]) -> AdmissionConfig {
    let listed = tenants.iter().map(|tenant| {
        let template = base.tenants.get(&tenant.name).or(base.other_tenants.as_ref());
        let template = template.cloned().unwrap_or_else(TenantPolicy::open);
        let quota = quota(&template.quota, &tenant.quota);
        (tenant.name.clone(), TenantPolicy { quota, ..template })
    });
    AdmissionConfig { tenants: listed.collect(), other_tenants: None, ..base.clone() }
}

fn quota(template: &Quota, own: &TenantQuota) -> Quota {
    Quota {
        live: own.live.unwrap_or(template.live),
        queued: own.queued.unwrap_or(template.queued),
        fuel: own.fuel.unwrap_or(template.fuel),
        memory_bytes: own.memory_bytes.unwrap_or(template.memory_bytes),
        payload_bytes: own.payload_bytes.unwrap_or(template.payload_bytes),
        priority: own.priority.unwrap_or(template.priority),
    }
}
