//! What must be so before a deployment is made, replaced or removed.

use std::sync::Arc;

use latent_core::{ContractSurface, DeploymentId};

use crate::deployment::Deployment;
use crate::manifest::DeploymentManifest;
use crate::refusal::ChangeRefusal;
use crate::release::Release;

/// The most functions that an error names of a release.
const EXPORTS_TOLD_MAX: usize = 8;

/// Whether the parts of an apply go together.
pub(super) fn check(manifest: &DeploymentManifest, release: &Release) -> Result<(), ChangeRefusal> {
    if manifest.deployment.as_str() == latent_core::id::DEFAULT_ROUTE {
        return Err(ChangeRefusal::ReservedId);
    }
    if manifest.release != release.digest() {
        return Err(ChangeRefusal::OtherRelease { named: manifest.release, given: release.digest() });
    }
    if !manifest.http.routes.is_empty() && release.surface().http_handler().is_none() {
        return Err(ChangeRefusal::NoHttpHandler { release: release.digest(), exports: exports(release.surface()) });
    }
    Ok(())
}

/// What a release offers, for an error: the first of its functions, with how many more there are.
fn exports(surface: &ContractSurface) -> Box<str> {
    let all = || surface.functions.iter().map(|(target, _)| target).chain(surface.refused.iter().map(|(t, _)| t));
    let mut text = all().take(EXPORTS_TOLD_MAX).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match all().count() {
        0 => "nothing at all".clone_into(&mut text),
        count if count > EXPORTS_TOLD_MAX => text = format!("{text} and {} more", count - EXPORTS_TOLD_MAX),
        _ => {}
    }
    text.into()
}

/// Whether a deployment is at the generation that a change expects.
pub(super) fn expect(
    expected: Option<u64>,
    found: Option<&Arc<Deployment>>,
    deployment: &DeploymentId,
) -> Result<(), ChangeRefusal> {
    let found = found.map_or(0, |deployment| deployment.generation);
    match expected {
        Some(expected) if expected != found => {
            Err(ChangeRefusal::GenerationConflict { deployment: deployment.clone(), expected, found })
        }
        _ => Ok(()),
    }
}
