//! Components of a tenant: publish, look, delete.

use bytes::{Bytes, BytesMut};
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode, Sha256Digest};
use latent_node::access::Role;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

use super::pages::{self, List};
use super::places::blocking;
use super::{Api, CallContext, Refused};
use crate::convert::{deploy as convert, field};
use crate::ports::ReleaseStore;
use crate::proto;
use latent_catalog::PageBounds;

/// A component on its way in, in one of the places for uploads. Dropping it stores nothing.
#[must_use = "nothing is stored before it is finished"]
pub struct PublishAdmission {
    caller: CallContext,
    releases: Arc<dyn ReleaseStore>,
    place: OwnedSemaphorePermit,
    manifest: String,
    expected: Option<Sha256Digest>,
    /// How many bytes were announced.
    size: Option<u64>,
    component: Gathered,
    bytes_max: u64,
}

/// The parts of a component that are there. One part stays where it is.
enum Gathered {
    One(Bytes),
    Several(BytesMut),
}

impl Api {
    /// `Publish` with the component in one piece.
    ///
    /// # Errors
    /// As [`admit_publish`](Self::admit_publish), [`PublishAdmission::push`] and [`PublishAdmission::finish`].
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
    /// As [`Api`] says; retryable `resource-exhausted`, detail `api.busy`, when no place comes free within the wait.
    pub async fn admit_publish(
        &self,
        caller: &CallContext,
        head: proto::PublishHead,
    ) -> Result<PublishAdmission, Refused> {
        caller.require(Role::Deploy)?;
        let digest = field::non_empty(head.expected_digest);
        let expected = digest.map(|text| field::digest("expected_digest", &text)).transpose()?;
        let size = (head.size > 0).then_some(head.size);
        let bytes_max = self.component_bytes_max();
        if size.is_some_and(|size| size > bytes_max) {
            return Err(too_large(head.size, bytes_max).into());
        }
        let place = self.uploads.take().await?;
        Ok(PublishAdmission {
            caller: caller.clone(),
            releases: Arc::clone(&self.ports.releases),
            place,
            manifest: head.manifest,
            expected,
            size,
            component: Gathered::One(Bytes::new()),
            bytes_max,
        })
    }

    /// `GetRelease`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn get_release(
        &self,
        caller: &CallContext,
        request: proto::GetReleaseRequest,
    ) -> Result<proto::Release, Refused> {
        caller.require(Role::Deploy)?;
        let digest = field::digest("digest", &request.digest)?;
        Ok(convert::release(&self.ports.releases.release(caller.tenant(), digest)?))
    }

    /// `ListReleases`.
    ///
    /// # Errors
    /// As [`Api`] says.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn list_releases(
        &self,
        caller: &CallContext,
        request: proto::ListReleasesRequest,
    ) -> Result<proto::ListReleasesResponse, Refused> {
        caller.require(Role::Deploy)?;
        let list = List { tenant: caller.tenant(), name: "releases", filter: "" };
        let after = list.text(&request.page_token)?.map(|text| field::digest("page_token", &text)).transpose()?;
        let bounds = PageBounds { rows_max: pages::rows(request.page_size), ..PageBounds::default() };
        let page = self.ports.releases.releases(caller.tenant(), after, bounds);
        let next = page.next.map(|next| list.token(next.to_string().as_bytes()));
        Ok(proto::ListReleasesResponse {
            releases: page.releases.iter().map(convert::release).collect(),
            next_page_token: next.unwrap_or_default(),
        })
    }

    /// `DeleteRelease`.
    ///
    /// # Errors
    /// As [`Api`] says; `state-conflict` while a deployment refers to it.
    pub async fn delete_release(
        &self,
        caller: &CallContext,
        request: proto::DeleteReleaseRequest,
    ) -> Result<proto::DeleteReleaseResponse, Refused> {
        caller.require(Role::Deploy)?;
        let digest = field::digest("digest", &request.digest)?;
        let (releases, tenant) = (Arc::clone(&self.ports.releases), caller.tenant().clone());
        self.disk.run(move || releases.delete(&tenant, digest)).await?;
        caller.audit("DeleteRelease", digest);
        Ok(proto::DeleteReleaseResponse {})
    }
}

impl PublishAdmission {
    /// Takes the next part of the component.
    ///
    /// # Errors
    /// `invalid-argument`, detail `api.component-size`, once there are more bytes than a component may have, or than were
    /// announced.
    pub fn push(&mut self, chunk: Bytes) -> Result<(), Refused> {
        let total = wide(self.component.len().saturating_add(chunk.len()));
        let bytes_max = self.size.unwrap_or(self.bytes_max);
        if total > bytes_max {
            return Err(too_large(total, bytes_max).into());
        }
        self.component.add(chunk);
        Ok(())
    }

    /// Checks size and digest, then stores the component, durably.
    ///
    /// # Errors
    /// `invalid-argument` for fewer bytes than were announced; `corrupt-artifact`, detail
    /// `api.digest-mismatch`, for another digest than the expected one; then as the storage's. Nothing is stored then.
    pub async fn finish(self) -> Result<proto::PublishResponse, Refused> {
        let Self { caller, releases, place, manifest, expected, size, component, .. } = self;
        let found = wide(component.len());
        if let Some(size) = size.filter(|size| *size != found) {
            let expected = format_args!("the number of bytes that follow, of which {found} came where it says {size}");
            return Err(field::invalid("size", expected).into());
        }
        let manifest = if manifest.is_empty() { "{}".to_owned() } else { manifest };
        let tenant = caller.tenant().clone();
        let stored = blocking(place, move || {
            let component = component.as_slice();
            check_digest(component, expected)?;
            releases.publish(&tenant, manifest.as_bytes(), component)
        });
        let (view, created) = stored.await?;
        let how = if created { "new" } else { "was there" };
        caller.audit("Publish", format_args!("{}, {how}", view.release.digest()));
        Ok(proto::PublishResponse { release: Some(convert::release(&view)), created })
    }
}

impl Gathered {
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::One(bytes) => bytes,
            Self::Several(bytes) => bytes,
        }
    }

    fn add(&mut self, chunk: Bytes) {
        match self {
            Self::One(first) if first.is_empty() => *first = chunk,
            Self::One(first) => {
                let mut several = BytesMut::from(&first[..]);
                several.extend_from_slice(&chunk);
                *self = Self::Several(several);
            }
            Self::Several(several) => several.extend_from_slice(&chunk),
        }
    }
}

fn check_digest(component: &[u8], expected: Option<Sha256Digest>) -> Result<(), PlatformError> {
    let Some(expected) = expected else { return Ok(()) };
    let found = Sha256Digest::of(component);
    if found == expected {
        return Ok(());
    }
    let message = format_args!("the component that came is {found}, and {expected} was expected; send that one");
    let detail = ErrorDetail::new("api.digest-mismatch").with("expected", expected).with("found", found);
    Err(PlatformError::new(PlatformErrorCode::CorruptArtifact, message).with_detail(detail))
}

fn too_large(found: u64, max: u64) -> PlatformError {
    let message = format_args!("the component has {found} bytes or more; {max} were announced or are allowed");
    let detail = ErrorDetail::new("api.component-size").with("found", found).with("max", max);
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

fn wide(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
