//! Tenants and credentials.

use std::sync::Arc;

use latent_core::id::{self, ID_BYTES_MAX};
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, TenantId};
use latent_node::access::{Role, Tenant};

use super::pages::{self, List};
use super::{Api, CallContext, Refused};
use crate::convert::{field, tenants as convert};
use crate::proto;

impl Api {
    /// `ApplyTenant`.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn apply_tenant(
        &self,
        caller: &CallContext,
        request: proto::ApplyTenantRequest,
    ) -> Result<proto::Tenant, Refused> {
        caller.require(Role::Operate)?;
        let wanted = convert::wanted_tenant(request)?;
        let tenants = Arc::clone(&self.ports.tenants);
        let tenant = self.disk.run(move || tenants.apply_tenant(wanted)).await?;
        caller.audit("ApplyTenant", &tenant.name);
        Ok(self.described(&tenant))
    }

    /// `GetTenant`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn get_tenant(
        &self,
        caller: &CallContext,
        request: proto::GetTenantRequest,
    ) -> Result<proto::Tenant, Refused> {
        caller.require(Role::Operate)?;
        let tenant = self.ports.tenants.tenant(&name(request.name)?)?;
        Ok(self.described(&tenant))
    }

    /// `ListTenants`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn list_tenants(
        &self,
        caller: &CallContext,
        request: proto::ListTenantsRequest,
    ) -> Result<proto::ListTenantsResponse, Refused> {
        caller.require(Role::Operate)?;
        let list = List { tenant: caller.tenant(), name: "tenants", filter: "" };
        let after = list.text(&request.page_token)?;
        let page = self.ports.tenants.tenants(after.as_deref(), pages::rows(request.page_size));
        let next = page.next.map(|next| list.token(next.as_bytes()));
        Ok(proto::ListTenantsResponse {
            tenants: page.rows.iter().map(|tenant| self.described(tenant)).collect(),
            next_page_token: next.unwrap_or_default(),
        })
    }

    /// `DeleteTenant`.
    ///
    /// # Errors
    /// As [`Api`] says; `state-conflict` while the tenant has releases or deployments, or activations under way.
    pub async fn delete_tenant(
        &self,
        caller: &CallContext,
        request: proto::DeleteTenantRequest,
    ) -> Result<proto::DeleteTenantResponse, Refused> {
        caller.require(Role::Operate)?;
        let (tenants, name) = (Arc::clone(&self.ports.tenants), name(request.name)?);
        let live = self.ports.manager.parts().admission.ledger().tenant(&name).live();
        if live > 0 {
            return Err(under_way(&name, live).into());
        }
        let gone = name.clone();
        self.disk.run(move || tenants.delete_tenant(&name)).await?;
        caller.audit("DeleteTenant", gone);
        Ok(proto::DeleteTenantResponse {})
    }

    /// `CreateCredential`.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn create_credential(
        &self,
        caller: &CallContext,
        request: proto::CreateCredentialRequest,
    ) -> Result<proto::CreateCredentialResponse, Refused> {
        caller.require(Role::Operate)?;
        let new = convert::wanted_credential(request)?;
        let (tenants, now) = (Arc::clone(&self.ports.tenants), self.wall());
        let (credential, token) = self.disk.run(move || tenants.create_credential(new, now)).await?;
        caller.audit("CreateCredential", format_args!("{} of tenant {}", credential.id, credential.tenant));
        Ok(proto::CreateCredentialResponse {
            credential: Some(convert::credential(&credential)),
            token: token.unwrap_or_default(),
        })
    }

    /// `ListCredentials`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn list_credentials(
        &self,
        caller: &CallContext,
        request: proto::ListCredentialsRequest,
    ) -> Result<proto::ListCredentialsResponse, Refused> {
        caller.require(Role::Operate)?;
        let list = List { tenant: caller.tenant(), name: "credentials", filter: &request.tenant };
        let after = list.text(&request.page_token)?;
        let tenant = field::optional_id("tenant", request.tenant.clone(), TenantId::new)?;
        let rows = pages::rows(request.page_size);
        let page = self.ports.tenants.credentials(tenant.as_ref(), after.as_deref(), rows);
        let next = page.next.map(|next| list.token(next.as_bytes()));
        Ok(proto::ListCredentialsResponse {
            credentials: page.rows.iter().map(convert::credential).collect(),
            next_page_token: next.unwrap_or_default(),
        })
    }

    /// `RevokeCredential`.
    ///
    /// # Errors
    /// As [`Api`] says; `state-conflict` for the last credential with role `operate`.
    pub async fn revoke_credential(
        &self,
        caller: &CallContext,
        request: proto::RevokeCredentialRequest,
    ) -> Result<proto::RevokeCredentialResponse, Refused> {
        caller.require(Role::Operate)?;
        if id::check(&request.id, ID_BYTES_MAX).is_err() {
            return Err(field::invalid("id", "the id of a credential, as it is listed").into());
        }
        let (tenants, id) = (Arc::clone(&self.ports.tenants), request.id.clone());
        self.disk.run(move || tenants.revoke_credential(&request.id)).await?;
        caller.audit("RevokeCredential", id);
        Ok(proto::RevokeCredentialResponse {})
    }

    /// A tenant with what it uses now.
    fn described(&self, tenant: &Tenant) -> proto::Tenant {
        let quota = self.ports.manager.parts().admission.ledger().tenant(&tenant.name);
        let (releases, disk_bytes) = self.ports.releases.usage(&tenant.name);
        let held = proto::TenantUse { live: quota.live(), queued: quota.queued, releases, disk_bytes };
        convert::tenant(tenant, held)
    }
}

fn under_way(tenant: &TenantId, live: u64) -> PlatformError {
    let message = format_args!("tenant {tenant} has {live} activations under way; cancel them, or wait for their ends");
    let detail = ErrorDetail::new("access.tenant-active").with("tenant", tenant).with("live", live);
    PlatformError::new(PlatformErrorCode::StateConflict, message).with_detail(detail).retryable()
}

fn name(text: String) -> Result<TenantId, PlatformError> {
    field::id("name", text, TenantId::new)
}
