//! What activations are under way or were: cancel, status, lists.

use latent_activation::CancelDisposition;
use latent_activation::journal::{Lookup, PageCursor};
use latent_core::{ActivationId, ErrorDetail, PlatformError, PlatformErrorCode, RevisionId, Sha256Digest};
use latent_node::access::Role;

use super::pages::{self, List};
use super::{About, Api, CallContext, Refused};
use crate::convert::{activation as convert, field};
use crate::proto;

impl Api {
    /// `Cancel`. Accepted also when an earlier cancel was; an activation that had ended is no error.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn cancel(
        &self,
        caller: &CallContext,
        request: proto::CancelRequest,
    ) -> Result<proto::CancelResponse, Refused> {
        caller.require(Role::Invoke)?;
        let id = activation_id(request.activation_id)?;
        let manager = &self.ports.manager;
        let (disposition, terminal) = match manager.cancel_for(caller.tenant(), &id, &request.reason) {
            CancelDisposition::Accepted => (proto::CancelDisposition::Accepted, String::new()),
            CancelDisposition::AlreadyTerminal(state) => (proto::CancelDisposition::AlreadyTerminal, state.to_string()),
            CancelDisposition::NotFound => return Err(missing(&manager.status(caller.tenant(), &id), &id).into()),
        };
        Ok(proto::CancelResponse { disposition: disposition.into(), terminal })
    }

    /// `GetActivation`.
    ///
    /// # Errors
    /// As [`Api`] says; of an activation whose record is gone, detail `activation.evicted`.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn get_activation(
        &self,
        caller: &CallContext,
        request: proto::GetActivationRequest,
    ) -> Result<proto::Activation, Refused> {
        caller.require(Role::Invoke)?;
        let id = activation_id(request.activation_id)?;
        let status = match self.ports.manager.status(caller.tenant(), &id) {
            Lookup::Found(status) => status,
            gone => return Err(missing(&gone, &id).into()),
        };
        let events = self.ports.manager.events(caller.tenant(), &id).found().unwrap_or_default();
        Ok(convert::status(&status, &events))
    }

    /// `ListActivations`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn list_activations(
        &self,
        caller: &CallContext,
        request: proto::ListActivationsRequest,
    ) -> Result<proto::ListActivationsResponse, Refused> {
        caller.require(Role::Invoke)?;
        let list = List { tenant: caller.tenant(), name: "activations", filter: "" };
        let from = list.cursor(&request.page_token)?.map(|bytes| number(&bytes)).transpose()?;
        let page = self.ports.manager.list(caller.tenant(), from, pages::rows(request.page_size));
        let next = page.next.map(|next| list.token(&next.number().to_be_bytes()));
        Ok(proto::ListActivationsResponse {
            activations: page.rows.iter().map(convert::summary).collect(),
            next_page_token: next.unwrap_or_default(),
        })
    }
}

impl About {
    /// What a message says of its activation.
    #[must_use]
    pub fn of_message(activation: &proto::Activation) -> Self {
        let revision = activation.revision.as_ref().and_then(|revision| Sha256Digest::parse(&revision.id));
        let consumption = activation.terminal.as_ref().and_then(|terminal| terminal.consumption.as_ref());
        Self {
            activation_id: ActivationId::new(activation.activation_id.as_str()).ok(),
            revision: revision.map(RevisionId::new),
            consumption: consumption.and_then(convert::used),
        }
    }
}

pub(super) fn activation_id(text: String) -> Result<ActivationId, PlatformError> {
    field::id("activation_id", text, ActivationId::new)
}

/// That there is no such activation, or none any more.
pub(super) fn missing<T>(lookup: &Lookup<T>, id: &ActivationId) -> PlatformError {
    let (kind, message) = match lookup {
        Lookup::Evicted => ("activation.evicted", "it has ended, and its record is kept no more"),
        Lookup::Found(_) | Lookup::Unknown => {
            ("activation.unknown", "check the id; records are kept for a bounded time")
        }
    };
    let detail = ErrorDetail::new(kind).with("activation_id", id);
    let message = format_args!("there is no activation {id}: {message}");
    PlatformError::new(PlatformErrorCode::NotFound, message).with_detail(detail)
}

fn number(bytes: &[u8]) -> Result<PageCursor, PlatformError> {
    let bytes: [u8; 8] = bytes.try_into().map_err(|_| pages::refused())?;
    Ok(PageCursor::from_number(u64::from_be_bytes(bytes)))
}
