//! Manifests: what is read is read again from its canonical form, and what is refused is refused with its place.

use std::fmt::Debug;

use latent_catalog::{CapsuleManifest, DeploymentManifest, ManifestError, ManifestLimits};
use latent_core::{PlatformError, TenantId};

use crate::refusal;

/// The longest that what an error repeats may be, in bytes: it is cut, but may be escaped.
const TOLD_BYTES_MAX: usize = 8 << 10;

/// Reads `data` as either manifest, within the usual limits and within narrow ones.
///
/// # Panics
/// When a manifest does not come back from its canonical form, a limit does not hold, or a refusal says nothing.
pub fn check(data: &[u8]) {
    let usual = ManifestLimits::default();
    let narrow = ManifestLimits { document_bytes_max: 512, depth_max: 3, string_bytes_max: 40, entries_max: 4 };
    let capsule = round(data, usual, CapsuleManifest::from_json, CapsuleManifest::to_json);
    let narrowly = round(data, narrow, CapsuleManifest::from_json, CapsuleManifest::to_json);
    assert!(narrowly.is_none() || narrowly == capsule, "narrow limits change what is read");
    let deployment = round(data, usual, DeploymentManifest::from_json, DeploymentManifest::to_json);
    let narrowly = round(data, narrow, DeploymentManifest::from_json, DeploymentManifest::to_json);
    assert!(narrowly.is_none() || narrowly == deployment, "narrow limits change what is read");
    let tenant = TenantId::new("someone").expect("a name");
    let of_tenant = DeploymentManifest::from_json_of(data, &usual, &tenant);
    if let Some(deployment) = deployment {
        assert_eq!(of_tenant.as_ref(), Ok(&deployment), "a tenant that is named is the one");
        kept_apart(&deployment, &usual);
    } else if let Ok(manifest) = of_tenant {
        assert_eq!(manifest.tenant, tenant, "nothing but the tenant may be missing");
    }
}

/// What is kept of HTTP is kept apart from the rest.
fn kept_apart(manifest: &DeploymentManifest, limits: &ManifestLimits) {
    let Some(kept) = manifest.http_json() else { return };
    let again = manifest.clone().with_http_json(&kept, limits);
    assert_eq!(again.as_ref(), Ok(manifest), "{kept}");
}

fn round<T: PartialEq + Debug>(
    data: &[u8],
    limits: ManifestLimits,
    read: impl Fn(&[u8], &ManifestLimits) -> Result<T, ManifestError>,
    write: impl Fn(&T) -> String,
) -> Option<T> {
    match read(data, &limits) {
        Ok(manifest) => {
            assert!(data.len() <= limits.document_bytes_max, "{} bytes were read", data.len());
            let canonical = write(&manifest);
            // Defaults that are written out may make it longer than what was sent.
            let again = read(canonical.as_bytes(), &ManifestLimits::default());
            assert_eq!(again.as_ref(), Ok(&manifest), "{canonical}");
            assert_eq!(again.map(|again| write(&again)), Ok(canonical), "the canonical form is its own");
            Some(manifest)
        }
        Err(error) => {
            told(&error);
            None
        }
    }
}

fn told(error: &ManifestError) {
    assert!(error.path().starts_with('$') && !error.expected().is_empty() && !error.found().is_empty(), "{error:?}");
    assert!(error.to_string().len() <= TOLD_BYTES_MAX, "{error}");
    refusal::sentence(&error.to_string());
    refusal::tells(&PlatformError::from(error.clone()));
}
