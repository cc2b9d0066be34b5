//! What is deployed: apply, look, delete.

use std::sync::Arc;

use latent_catalog::{Apply, Delete, DeploymentCursor, DeploymentManifest, ManifestLimits, PageBounds};
use latent_core::{DeploymentId, ErrorDetail, PlatformError, PlatformErrorCode, ServiceName};
use latent_node::access::Role;

use super::pages::{self, List};
use super::{Api, CallContext, Refused};
use crate::convert::{deploy as convert, field};
use crate::proto;

/// Between the names of a page token; no name has it.
const BETWEEN: char = '\n';

impl Api {
    /// `Apply`. With `dry_run` the same checks are made on the catalog as it is now, and nothing is changed.
    ///
    /// # Errors
    /// As [`Api`] says; `not-found`, detail `api.foreign-tenant`, for a manifest of another tenant; `state-conflict` where
    /// the deployment is at another generation than expected.
    pub async fn apply(
        &self,
        caller: &CallContext,
        request: proto::ApplyRequest,
    ) -> Result<proto::ApplyResponse, Refused> {
        caller.require(Role::Deploy)?;
        let bytes = request.manifest.as_bytes();
        let manifest = DeploymentManifest::from_json_of(bytes, &ManifestLimits::default(), caller.tenant())
            .map_err(PlatformError::from)?;
        if manifest.tenant != *caller.tenant() {
            return Err(foreign_tenant().into());
        }
        let expected_generation = request.expected_generation;
        let applied = if request.dry_run {
            let release = self.ports.releases.release(caller.tenant(), manifest.release)?.release;
            let view = self.ports.deployments.view();
            let apply = Apply { manifest, release, expected_generation };
            view.preview(apply).map_err(PlatformError::from)?
        } else {
            let deployments = Arc::clone(&self.ports.deployments);
            let applied = self.disk.run(move || deployments.apply(manifest, expected_generation)).await?;
            let (service, id) = (applied.deployment.service(), applied.deployment.id());
            caller.audit("Apply", format_args!("{service}/{id} at generation {}", applied.deployment.generation()));
            applied
        };
        Ok(proto::ApplyResponse {
            deployment: Some(convert::deployment(&applied.deployment)),
            replaced: applied.replaced.as_deref().map(convert::deployment),
        })
    }

    /// `GetDeployment`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn get_deployment(
        &self,
        caller: &CallContext,
        request: proto::GetDeploymentRequest,
    ) -> Result<proto::Deployment, Refused> {
        caller.require(Role::Deploy)?;
        let service = field::id("service", request.service, ServiceName::new)?;
        let deployment = field::id("deployment", request.deployment, DeploymentId::new)?;
        let view = self.ports.deployments.view();
        match view.get(caller.tenant(), &service, &deployment) {
            Some(found) => Ok(convert::deployment(found)),
            None => Err(PlatformError::from(latent_catalog::ChangeRefusal::NotFound { service, deployment }).into()),
        }
    }

    /// `ListDeployments`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn list_deployments(
        &self,
        caller: &CallContext,
        request: proto::ListDeploymentsRequest,
    ) -> Result<proto::ListDeploymentsResponse, Refused> {
        caller.require(Role::Deploy)?;
        let list = List { tenant: caller.tenant(), name: "deployments", filter: &request.service };
        let after = list.text(&request.page_token)?.map(|text| cursor(&text)).transpose()?;
        let service = field::optional_id("service", request.service.clone(), ServiceName::new)?;
        let bounds = PageBounds { rows_max: pages::rows(request.page_size), ..PageBounds::default() };
        let page = self.ports.deployments.view().list(caller.tenant(), service.as_ref(), after.as_ref(), bounds);
        let next = page.next.map(|next| {
            let DeploymentCursor { service, deployment } = next;
            list.token(format!("{service}{BETWEEN}{deployment}").as_bytes())
        });
        Ok(proto::ListDeploymentsResponse {
            deployments: page.deployments.iter().map(|deployment| convert::deployment(deployment)).collect(),
            next_page_token: next.unwrap_or_default(),
            generation: page.generation,
        })
    }

    /// `DeleteDeployment`.
    ///
    /// # Errors
    /// As [`Api`] says; `state-conflict` where the deployment is at another generation than expected.
    pub async fn delete_deployment(
        &self,
        caller: &CallContext,
        request: proto::DeleteDeploymentRequest,
    ) -> Result<proto::DeleteDeploymentResponse, Refused> {
        caller.require(Role::Deploy)?;
        let delete = Delete {
            tenant: caller.tenant().clone(),
            service: field::id("service", request.service, ServiceName::new)?,
            deployment: field::id("deployment", request.deployment, DeploymentId::new)?,
            expected_generation: request.expected_generation,
        };
        let deployments = Arc::clone(&self.ports.deployments);
        let deleted = self.disk.run(move || deployments.delete(&delete)).await?;
        let (service, id) = (deleted.deployment.service(), deleted.deployment.id());
        caller.audit("DeleteDeployment", format_args!("{service}/{id}"));
        Ok(proto::DeleteDeploymentResponse {
            deployment: Some(convert::deployment(&deleted.deployment)),
            generation: deleted.generation,
        })
    }
}

fn cursor(text: &str) -> Result<DeploymentCursor, PlatformError> {
    let names = text.split_once(BETWEEN).and_then(|(service, deployment)| {
        let (service, deployment) = (ServiceName::new(service), DeploymentId::new(deployment));
        Some(DeploymentCursor { service: service.ok()?, deployment: deployment.ok()? })
    });
    names.ok_or_else(pages::refused)
}

/// The same for a tenant that exists and for one that does not.
fn foreign_tenant() -> PlatformError {
    let message = "the manifest is of a tenant that is not the credential's; leave the key tenant out";
    PlatformError::new(PlatformErrorCode::NotFound, message).with_detail(ErrorDetail::new("api.foreign-tenant"))
}
