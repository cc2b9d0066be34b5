//! `POST /v1/releases`: the component as the body, its manifest beside it.
//!
//! Invariant: the head is checked, and a place taken, before a byte of the component is read.

use axum::body::Body;
use http::Response;

use super::Asked;
use super::body;
use super::calls::{created, message};
use super::text::{invalid, raw_header};
use crate::api::{Api, Refused};
use crate::proto;

pub(super) async fn publish(api: &Api, mut asked: Asked, body: &mut Body) -> Result<Response<Body>, Refused> {
    let headers = &asked.parts.headers;
    let size = body::announced(headers, api.component_bytes_max())?;
    let from_header = raw_header(headers, "latent-manifest")?.map(str::to_owned);
    let manifest = match (asked.query.take("manifest"), from_header) {
        (Some(_), Some(_)) => {
            return Err(invalid("http.query", "manifest", "is in the query and in a header; give it once").into());
        }
        (query, header) => query.or(header).unwrap_or_default(),
    };
    let head = proto::PublishHead {
        manifest,
        expected_digest: asked.query.take("expected_digest").unwrap_or_default(),
        size: size.unwrap_or_default(),
    };
    let mut admission = api.admit_publish(&asked.caller, head).await?;
    while let Some(part) = body::part(body).await? {
        admission.push(part)?;
    }
    let published = admission.finish().await?;
    Ok(if published.created { created(&published) } else { message(&published) })
}
