//! Manifests: what a tenant says about a component and about a deployment of it, read from JSON.
//!
//! The schema is closed. An unknown or repeated key, a wrong type, and anything beyond a bound are refused before a
//! value is kept, and the error names the path, what was expected and what was found.

mod capsule;
mod ceilings;
mod deployment;
mod http;
mod json;
mod names;
mod read;

use std::fmt;

use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};

pub use capsule::{CapsuleManifest, ExportName};
pub use deployment::{DeploymentManifest, WEIGHT_DEFAULT, Weight};

/// Bounds of a manifest. Each is checked while reading; beyond it the manifest is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "every limit says that it is the most")]
pub struct ManifestLimits {
    /// Bytes of the whole document. Default 64 KiB. Checked before anything is read.
    pub document_bytes_max: usize,
    /// Levels of arrays and objects. Default 8; the schema itself needs three.
    pub depth_max: usize,
    /// Bytes of one string or key, after its escapes are read. Default 4 KiB.
    pub string_bytes_max: usize,
    /// Elements of one array, or keys of one object. Default 256.
    pub entries_max: usize,
}

impl Default for ManifestLimits {
    fn default() -> Self {
        Self { document_bytes_max: 64 << 10, depth_max: 8, string_bytes_max: 4 << 10, entries_max: 256 }
    }
}

/// The first thing about a manifest that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestError {
    path: Box<str>,
    expected: Box<str>,
    found: Box<str>,
}

impl ManifestError {
    /// At `path`, something other than `expected` was `found`.
    pub(crate) fn new(path: impl fmt::Display, expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self { path: path.to_string().into(), expected: expected.to_string().into(), found: found.to_string().into() }
    }

    /// Where, such as `$.ceilings.fuel`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the schema has there.
    #[must_use]
    pub fn expected(&self) -> &str {
        &self.expected
    }

    /// What the manifest has there: its kind or size, with a string cut and its odd characters escaped.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.found
    }
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "manifest at {}: expected {}, found {}", self.path, self.expected, self.found)
    }
}

impl std::error::Error for ManifestError {}

impl From<ManifestError> for PlatformError {
    fn from(error: ManifestError) -> Self {
        let message = format_args!("{error}; correct the manifest and send it again");
        Self::new(PlatformErrorCode::InvalidArgument, message).with_detail(
            ErrorDetail::new("manifest.invalid")
                .with("path", &error.path)
                .with("expected", &error.expected)
                .with("found", &error.found),
        )
    }
}
