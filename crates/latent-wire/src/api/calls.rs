//! The calls, in the order of the proto file. This is the interface alone: each is refused until its meaning is here.

use bytes::Bytes;
use latent_core::{PlatformError, PlatformErrorCode};

use super::{Api, CallContext, EventStream, Invoked, LogStream, PublishAdmission, Refused};
use crate::proto;

#[expect(clippy::unused_async, reason = "the interface comes first")]
impl Api {
    /// `Invoke`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn invoke(&self, caller: &CallContext, request: proto::InvokeRequest) -> Result<Invoked, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `Cancel`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn cancel(
        &self,
        caller: &CallContext,
        request: proto::CancelRequest,
    ) -> Result<proto::CancelResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `GetActivation`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_activation(
        &self,
        caller: &CallContext,
        request: proto::GetActivationRequest,
    ) -> Result<proto::Activation, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `WatchActivation`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn watch_activation(
        &self,
        caller: &CallContext,
        request: proto::WatchActivationRequest,
    ) -> Result<EventStream, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `ListActivations`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn list_activations(
        &self,
        caller: &CallContext,
        request: proto::ListActivationsRequest,
    ) -> Result<proto::ListActivationsResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `GetRelease`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_release(
        &self,
        caller: &CallContext,
        request: proto::GetReleaseRequest,
    ) -> Result<proto::Release, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `ListReleases`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn list_releases(
        &self,
        caller: &CallContext,
        request: proto::ListReleasesRequest,
    ) -> Result<proto::ListReleasesResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `DeleteRelease`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn delete_release(
        &self,
        caller: &CallContext,
        request: proto::DeleteReleaseRequest,
    ) -> Result<proto::DeleteReleaseResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `Apply`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn apply(
        &self,
        caller: &CallContext,
        request: proto::ApplyRequest,
    ) -> Result<proto::ApplyResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `GetDeployment`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_deployment(
        &self,
        caller: &CallContext,
        request: proto::GetDeploymentRequest,
    ) -> Result<proto::Deployment, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `ListDeployments`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn list_deployments(
        &self,
        caller: &CallContext,
        request: proto::ListDeploymentsRequest,
    ) -> Result<proto::ListDeploymentsResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `DeleteDeployment`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn delete_deployment(
        &self,
        caller: &CallContext,
        request: proto::DeleteDeploymentRequest,
    ) -> Result<proto::DeleteDeploymentResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `GetRoute`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_route(
        &self,
        caller: &CallContext,
        request: proto::GetRouteRequest,
    ) -> Result<proto::Route, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `Resolve`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn resolve(
        &self,
        caller: &CallContext,
        request: proto::ResolveRequest,
    ) -> Result<proto::ResolveResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `GetLogs`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_logs(
        &self,
        caller: &CallContext,
        request: proto::GetLogsRequest,
    ) -> Result<proto::GetLogsResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `FollowLogs`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn follow_logs(
        &self,
        caller: &CallContext,
        request: proto::FollowLogsRequest,
    ) -> Result<LogStream, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `ApplyTenant`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn apply_tenant(
        &self,
        caller: &CallContext,
        request: proto::ApplyTenantRequest,
    ) -> Result<proto::Tenant, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `GetTenant`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_tenant(
        &self,
        caller: &CallContext,
        request: proto::GetTenantRequest,
    ) -> Result<proto::Tenant, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `ListTenants`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn list_tenants(
        &self,
        caller: &CallContext,
        request: proto::ListTenantsRequest,
    ) -> Result<proto::ListTenantsResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `DeleteTenant`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn delete_tenant(
        &self,
        caller: &CallContext,
        request: proto::DeleteTenantRequest,
    ) -> Result<proto::DeleteTenantResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `CreateCredential`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn create_credential(
        &self,
        caller: &CallContext,
        request: proto::CreateCredentialRequest,
    ) -> Result<proto::CreateCredentialResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `ListCredentials`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn list_credentials(
        &self,
        caller: &CallContext,
        request: proto::ListCredentialsRequest,
    ) -> Result<proto::ListCredentialsResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `RevokeCredential`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn revoke_credential(
        &self,
        caller: &CallContext,
        request: proto::RevokeCredentialRequest,
    ) -> Result<proto::RevokeCredentialResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `GetInventory`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_inventory(
        &self,
        caller: &CallContext,
        request: proto::GetInventoryRequest,
    ) -> Result<proto::Inventory, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `Drain`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn drain(
        &self,
        caller: &CallContext,
        request: proto::DrainRequest,
    ) -> Result<proto::DrainResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `Resume`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn resume(
        &self,
        caller: &CallContext,
        request: proto::ResumeRequest,
    ) -> Result<proto::ResumeResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `Backup`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn backup(
        &self,
        caller: &CallContext,
        request: proto::BackupRequest,
    ) -> Result<proto::BackupResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `GetUsage`, as the proto file says.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_usage(
        &self,
        caller: &CallContext,
        request: proto::GetUsageRequest,
    ) -> Result<proto::GetUsageResponse, Refused> {
        let _ = (caller, request);
        Err(unserved())
    }

    /// `Publish` with the component in one piece.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn publish(
        &self,
        caller: &CallContext,
        head: proto::PublishHead,
        component: Bytes,
    ) -> Result<proto::PublishResponse, Refused> {
        let mut admission = self.admit_publish(caller, head).await?;
        admission.push(component)?;
        admission.finish().await
    }

    /// The first half of `Publish`: the head is checked and one of the places for uploads taken, before any byte of the
    /// component is read.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn admit_publish(
        &self,
        caller: &CallContext,
        head: proto::PublishHead,
    ) -> Result<PublishAdmission, Refused> {
        let _ = (caller, head);
        Err(unserved())
    }
}

#[expect(clippy::unused_async, reason = "the interface comes first")]
impl PublishAdmission {
    /// Takes the next part of the component.
    ///
    /// # Errors
    /// `invalid-argument` once there are more bytes than a component may have.
    pub fn push(&mut self, chunk: Bytes) -> Result<(), Refused> {
        self.chunks.push(chunk);
        Ok(())
    }

    /// Checks the digest, then stores the component.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn finish(self) -> Result<proto::PublishResponse, Refused> {
        Err(unserved())
    }
}

fn unserved() -> Refused {
    PlatformError::new(PlatformErrorCode::Unavailable, "the call is not served yet").into()
}
