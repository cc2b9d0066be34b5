//! The calls whose answer is one message, and the streams of events.
//!
//! Invariant: what a call means is nowhere here; it is taken apart, made, and put together.

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};
use latent_core::PlatformError;
use serde::Serialize;

use super::body::message as read;
use super::failure::JSON;
use super::routes::{Call, Named};
use super::text::{as_json, invalid, number, raw_header};
use super::{Asked, body};
use crate::api::{Api, Refused};
use crate::{proto, sse};

/// A message as the answer of a call that worked.
pub(super) fn message<T: Serialize>(message: &T) -> Response<Body> {
    // Messages of the API always have a JSON form.
    let mut response = Response::new(Body::from(serde_json::to_vec(message).unwrap_or_default()));
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// The same, for something that was not there before.
pub(super) fn created<T: Serialize>(created: &T) -> Response<Body> {
    let mut response = message(created);
    *response.status_mut() = StatusCode::CREATED;
    response
}

/// Makes the call, which is neither an invocation nor a publication.
pub(super) async fn answer(api: &Api, asked: Asked, body: &mut Body) -> Result<Response<Body>, Refused> {
    match asked.call {
        Call::Cancel
        | Call::GetActivation
        | Call::WatchActivation
        | Call::ListActivations
        | Call::GetLogs
        | Call::FollowLogs => activations(api, asked, body).await,
        Call::ApplyTenant
        | Call::GetTenant
        | Call::ListTenants
        | Call::DeleteTenant
        | Call::CreateCredential
        | Call::ListCredentials
        | Call::RevokeCredential => tenants(api, asked, body).await,
        Call::GetInventory | Call::Drain | Call::Resume | Call::Backup | Call::GetUsage => node(api, asked, body).await,
        _ => releases(api, asked, body).await,
    }
}

async fn activations(api: &Api, mut asked: Asked, body: &mut Body) -> Result<Response<Body>, Refused> {
    let Asked { call, path, query, caller, parts } = &mut asked;
    let mut id = || path.take("id").unwrap_or_default();
    Ok(match *call {
        Call::Cancel => {
            let mut request: proto::CancelRequest = read(&parts.headers, body).await?;
            let ids = same("activation_id", &request.activation_id, id())?;
            request.activation_id = ids;
            if let Some(reason) = query.take("reason") {
                request.reason = same("reason", &request.reason, reason)?;
            }
            message(&api.cancel(caller, request).await?)
        }
        Call::GetActivation => {
            message(&api.get_activation(caller, proto::GetActivationRequest { activation_id: id() }).await?)
        }
        Call::WatchActivation => {
            let from_header = raw_header(&parts.headers, "last-event-id")?.map(str::to_owned);
            // A reader that was cut off sends the header beside the query that it began with; the header is newer.
            let after = from_header.or(query.take("after_sequence"));
            let after = after.map(|text| number("http.query", "after_sequence", &text)).transpose()?;
            let request =
                proto::WatchActivationRequest { activation_id: id(), after_sequence: after.unwrap_or_default() };
            sse::response(api.watch_activation(caller, request).await?)
        }
        Call::GetLogs => message(&api.get_logs(caller, proto::GetLogsRequest { activation_id: id() }).await?),
        Call::FollowLogs => {
            let tail = optional(query, "tail")?.unwrap_or_default();
            let service = query.take("service").unwrap_or_default();
            let tail_only = flag(query, "tail_only")?;
            sse::response(api.follow_logs(caller, proto::FollowLogsRequest { service, tail, tail_only }).await?)
        }
        _ => {
            let (page_size, page_token) = page(query)?;
            message(&api.list_activations(caller, proto::ListActivationsRequest { page_size, page_token }).await?)
        }
    })
}

async fn releases(api: &Api, mut asked: Asked, body: &mut Body) -> Result<Response<Body>, Refused> {
    let Asked { call, path, query, caller, parts } = &mut asked;
    let mut of = |name| path.take(name).unwrap_or_default();
    Ok(match *call {
        Call::GetRelease => message(&api.get_release(caller, proto::GetReleaseRequest { digest: of("digest") }).await?),
        Call::ListReleases => {
            let (page_size, page_token) = page(query)?;
            message(&api.list_releases(caller, proto::ListReleasesRequest { page_size, page_token }).await?)
        }
        Call::DeleteRelease => {
            message(&api.delete_release(caller, proto::DeleteReleaseRequest { digest: of("digest") }).await?)
        }
        Call::Apply => {
            let expected_generation = optional(query, "expected_generation")?;
            let dry_run = flag(query, "dry_run")?;
            let manifest = body::text(&parts.headers, body).await?;
            message(&api.apply(caller, proto::ApplyRequest { manifest, expected_generation, dry_run }).await?)
        }
        Call::GetDeployment => {
            let request = proto::GetDeploymentRequest { service: of("service"), deployment: of("deployment") };
            message(&api.get_deployment(caller, request).await?)
        }
        Call::ListDeployments => {
            let (page_size, page_token) = page(query)?;
            let service = query.take("service").unwrap_or_default();
            let request = proto::ListDeploymentsRequest { service, page_size, page_token };
            message(&api.list_deployments(caller, request).await?)
        }
        Call::DeleteDeployment => {
            let expected_generation = optional(query, "expected_generation")?;
            let (service, deployment) = (of("service"), of("deployment"));
            let request = proto::DeleteDeploymentRequest { service, deployment, expected_generation };
            message(&api.delete_deployment(caller, request).await?)
        }
        Call::Resolve => {
            let mut asks = |name| query.take(name).unwrap_or_default();
            let request = proto::ResolveRequest {
                service: of("service"),
                route: of("route"),
                contract: asks("contract"),
                function: asks("function"),
                activation_id: asks("activation_id"),
            };
            message(&api.resolve(caller, request).await?)
        }
        _ => {
            let request = proto::GetRouteRequest { service: of("service"), route: of("route") };
            message(&api.get_route(caller, request).await?)
        }
    })
}

async fn tenants(api: &Api, mut asked: Asked, body: &mut Body) -> Result<Response<Body>, Refused> {
    let Asked { call, path, query, caller, parts } = &mut asked;
    let mut of = |name| path.take(name).unwrap_or_default();
    Ok(match *call {
        Call::ApplyTenant => {
            let quota = read(&parts.headers, body).await?;
            let request = proto::ApplyTenantRequest { name: of("name"), quota: Some(quota) };
            message(&api.apply_tenant(caller, request).await?)
        }
        Call::GetTenant => message(&api.get_tenant(caller, proto::GetTenantRequest { name: of("name") }).await?),
        Call::DeleteTenant => {
            message(&api.delete_tenant(caller, proto::DeleteTenantRequest { name: of("name") }).await?)
        }
        Call::CreateCredential => created(&api.create_credential(caller, read(&parts.headers, body).await?).await?),
        Call::ListCredentials => {
            let (page_size, page_token) = page(query)?;
            let tenant = query.take("tenant").unwrap_or_default();
            let request = proto::ListCredentialsRequest { tenant, page_size, page_token };
            message(&api.list_credentials(caller, request).await?)
        }
        Call::RevokeCredential => {
            message(&api.revoke_credential(caller, proto::RevokeCredentialRequest { id: of("id") }).await?)
        }
        _ => {
            let (page_size, page_token) = page(query)?;
            message(&api.list_tenants(caller, proto::ListTenantsRequest { page_size, page_token }).await?)
        }
    })
}

async fn node(api: &Api, mut asked: Asked, body: &mut Body) -> Result<Response<Body>, Refused> {
    let Asked { call, query, caller, parts, .. } = &mut asked;
    Ok(match *call {
        Call::Drain => message(&api.drain(caller, read(&parts.headers, body).await?).await?),
        Call::Resume => message(&api.resume(caller, read(&parts.headers, body).await?).await?),
        Call::Backup => message(&api.backup(caller, read(&parts.headers, body).await?).await?),
        Call::GetUsage => {
            let tenant = query.take("tenant").unwrap_or_default();
            let (since, until) = (moment(query, "since")?, moment(query, "until")?);
            message(&api.get_usage(caller, proto::GetUsageRequest { tenant, since, until }).await?)
        }
        _ => message(&api.get_inventory(caller, proto::GetInventoryRequest {}).await?),
    })
}

fn page(query: &mut Named) -> Result<(u32, String), PlatformError> {
    Ok((optional(query, "page_size")?.unwrap_or_default(), query.take("page_token").unwrap_or_default()))
}

fn optional<T: std::str::FromStr>(query: &mut Named, name: &str) -> Result<Option<T>, PlatformError> {
    query.take(name).map(|text| number("http.query", name, &text)).transpose()
}

fn flag(query: &mut Named, name: &str) -> Result<bool, PlatformError> {
    match query.take(name).as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(invalid("http.query", name, "has to be true or false")),
    }
}

fn moment(query: &mut Named, name: &str) -> Result<Option<pbjson_types::Timestamp>, PlatformError> {
    let expected = "has to be a time such as 2030-01-31T12:00:00Z";
    query.take(name).map(|text| as_json("http.query", name, text, expected)).transpose()
}

/// What the address says, which the body may only repeat.
fn same(name: &str, in_body: &str, in_address: String) -> Result<String, PlatformError> {
    if !in_body.is_empty() && in_body != in_address {
        return Err(invalid("http.body", name, "differs from what the address says; leave it out of the body"));
    }
    Ok(in_address)
}
