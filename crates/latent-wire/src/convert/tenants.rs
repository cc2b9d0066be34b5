//! Tenants, quotas and credentials, both ways.

use latent_core::{PlatformError, ServiceName, TenantId};
use latent_node::access::{Credential, NewCredential, Role, Roles, Tenant, TenantQuota};

use super::{field, time};
use crate::proto;

pub(crate) fn tenant(tenant: &Tenant, held: proto::TenantUse) -> proto::Tenant {
    proto::Tenant { name: tenant.name.to_string(), quota: Some(quota(&tenant.quota)), r#use: Some(held) }
}

fn quota(quota: &TenantQuota) -> proto::Quota {
    proto::Quota {
        live: quota.live,
        queued: quota.queued,
        fuel: quota.fuel,
        memory_bytes: quota.memory_bytes,
        payload_bytes: quota.payload_bytes,
        priority: quota.priority.map(u32::from),
        disk_bytes: quota.disk_bytes,
    }
}

/// The tenant that a request asks for.
pub(crate) fn wanted_tenant(request: proto::ApplyTenantRequest) -> Result<Tenant, PlatformError> {
    let name = field::id("name", request.name, TenantId::new)?;
    let quota = request.quota.unwrap_or_default();
    let priority = quota.priority.map(|priority| byte("quota.priority", priority)).transpose()?;
    let quota = TenantQuota {
        live: quota.live,
        queued: quota.queued,
        fuel: quota.fuel,
        memory_bytes: quota.memory_bytes,
        payload_bytes: quota.payload_bytes,
        priority,
        disk_bytes: quota.disk_bytes,
    };
    Ok(Tenant { name, quota })
}

/// A priority.
pub(crate) fn byte(field: &str, value: u32) -> Result<u8, PlatformError> {
    u8::try_from(value).map_err(|_| field::invalid(field, "at most 255"))
}

pub(crate) fn credential(credential: &Credential) -> proto::Credential {
    proto::Credential {
        id: credential.id.to_string(),
        tenant: credential.tenant.to_string(),
        subject: credential.subject.to_string(),
        roles: credential.roles.iter().map(|role| role.to_string()).collect(),
        created_at: Some(time::timestamp(credential.created_at)),
        expires_at: credential.expires_at.map(time::timestamp),
    }
}

/// The credential that a request asks for.
pub(crate) fn wanted_credential(request: proto::CreateCredentialRequest) -> Result<NewCredential, PlatformError> {
    let certificate = field::non_empty(request.certificate_sha256);
    Ok(NewCredential {
        tenant: field::id("tenant", request.tenant, TenantId::new)?,
        subject: field::id("subject", request.subject, ServiceName::new)?,
        roles: roles(&request.roles)?,
        lifetime: request.lifetime.map(|lifetime| time::positive("lifetime", lifetime)).transpose()?,
        certificate: certificate.map(|digits| field::digest("certificate_sha256", &digits)).transpose()?,
    })
}

fn roles(names: &[String]) -> Result<Roles, PlatformError> {
    let known = names.iter().map(|name| Role::parse(name)).collect::<Option<Roles>>();
    known
        .filter(|roles| roles.iter().next().is_some())
        .ok_or_else(|| field::invalid("roles", "one or more of `invoke`, `deploy` and `operate`"))
}
