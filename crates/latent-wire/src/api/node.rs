//! The node itself: inventory, drain, backup, usage.

use std::path::PathBuf;
use std::sync::Arc;

use latent_core::TenantId;
use latent_node::access::Role;
use latent_node::operations::UsageQuery;

use super::{Api, CallContext, Refused};
use crate::convert::{field, node as convert, time};
use crate::proto;

impl Api {
    /// `GetInventory`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn get_inventory(
        &self,
        caller: &CallContext,
        request: proto::GetInventoryRequest,
    ) -> Result<proto::Inventory, Refused> {
        let proto::GetInventoryRequest {} = request;
        caller.require(Role::Operate)?;
        Ok(convert::inventory(&self.ports.operations.inventory()))
    }

    /// `Drain`. Dropping the future ends the wait, not the drain.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn drain(
        &self,
        caller: &CallContext,
        request: proto::DrainRequest,
    ) -> Result<proto::DrainResponse, Refused> {
        caller.require(Role::Operate)?;
        let wait = request.wait.map(|wait| time::non_negative("wait", wait)).transpose()?;
        caller.audit("Drain", "no activation is taken from now on");
        let live = self.ports.operations.drain(wait).await;
        Ok(proto::DrainResponse { drained: live == 0, live })
    }

    /// `Resume`.
    ///
    /// # Errors
    /// As [`Api`] says; `state-conflict` when the node is shutting down or failing.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn resume(
        &self,
        caller: &CallContext,
        request: proto::ResumeRequest,
    ) -> Result<proto::ResumeResponse, Refused> {
        let proto::ResumeRequest {} = request;
        caller.require(Role::Operate)?;
        self.ports.operations.resume()?;
        caller.audit("Resume", "activations are taken again");
        Ok(proto::ResumeResponse {})
    }

    /// `Backup`.
    ///
    /// # Errors
    /// As [`Api`] says; otherwise as the storage's.
    pub async fn backup(
        &self,
        caller: &CallContext,
        request: proto::BackupRequest,
    ) -> Result<proto::BackupResponse, Refused> {
        caller.require(Role::Operate)?;
        let directory = PathBuf::from(request.directory);
        if !directory.is_absolute() || directory.as_os_str().as_encoded_bytes().contains(&0) {
            return Err(field::invalid("directory", "an absolute path on the node's machine").into());
        }
        let (operations, to) = (Arc::clone(&self.ports.operations), directory.clone());
        let report = self.disk.run(move || operations.backup(directory)).await?;
        caller.audit("Backup", to.display());
        Ok(convert::backup(report))
    }

    /// `GetUsage`. Role `operate` for another tenant's or for everybody's; one's own needs no role.
    ///
    /// # Errors
    /// As [`Api`] says.
    pub async fn get_usage(
        &self,
        caller: &CallContext,
        request: proto::GetUsageRequest,
    ) -> Result<proto::GetUsageResponse, Refused> {
        let asked = field::optional_id("tenant", request.tenant, TenantId::new)?;
        let tenant = if caller.access.roles.has(Role::Operate) {
            asked
        } else {
            if asked.as_ref().is_some_and(|asked| asked != caller.tenant()) {
                caller.require(Role::Operate)?;
            }
            Some(caller.tenant().clone())
        };
        let query = UsageQuery {
            tenant,
            since: request.since.map(|at| time::system_time("since", at)).transpose()?,
            until: request.until.map(|at| time::system_time("until", at)).transpose()?,
        };
        let operations = Arc::clone(&self.ports.operations);
        let (sums, dropped) = self.disk.run(move || operations.usage(&query)).await?;
        Ok(proto::GetUsageResponse { sums: sums.into_iter().map(convert::usage).collect(), dropped })
    }
}
