//! Names inside manifests: ids, interfaces, functions, environment variables and secrets.

use std::sync::Arc;

use latent_core::secret::SECRET_NAME_BYTES_MAX;
use latent_core::{IdError, is_secret_name};

use super::ManifestError;
use super::json::{Json, Path, Quoted};
use super::read;

/// The longest name of an interface or function, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// An id, checked by its own constructor.
pub(super) fn id<T>(
    json: Json,
    path: &Path<'_>,
    new: impl FnOnce(Arc<str>) -> Result<T, IdError>,
) -> Result<T, ManifestError> {
    let text = read::text(json, path)?;
    new(text.as_str().into()).map_err(|error| wrong_id(path, &text, &error))
}

fn wrong_id(path: &Path<'_>, text: &str, error: &IdError) -> ManifestError {
    let expected = format_args!(
        "an id of 1 to {} bytes without white space, control or formatting characters",
        latent_core::id::ID_BYTES_MAX
    );
    ManifestError::new(path, expected, format_args!("{}, which {error}", Quoted(text)))
}

/// The name of an interface, such as `wasi:io/streams`; with its version only where `versioned`.
pub(super) fn interface(text: &str, path: &Path<'_>, versioned: Versioned) -> Result<Box<str>, ManifestError> {
    let (name, version) = match text.split_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (text, None),
    };
    let well_formed = name.split_once(':').is_some_and(|(namespace, rest)| {
        rest.split_once('/')
            .is_some_and(|(package, interface)| [namespace, package, interface].into_iter().all(is_kebab))
    });
    let version_fits = match (version, versioned) {
        (None, _) => true,
        (Some(version), Versioned::Optional) => is_version(version),
        (Some(_), Versioned::Never) => false,
    };
    if well_formed && version_fits && text.len() <= NAME_BYTES_MAX {
        return Ok(text.into());
    }
    let expected = match versioned {
        Versioned::Optional => "an interface such as example:text/analyze@1.0.0",
        Versioned::Never => "an interface without a version, such as wasi:io/streams",
    };
    Err(ManifestError::new(path, expected, Quoted(text)))
}

/// Whether an interface's name may have a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Versioned {
    Optional,
    Never,
}

/// A function's name in kebab case; a method's or constructor's name does not occur, because it cannot be called.
pub(super) fn function(text: &str, path: &Path<'_>) -> Result<Box<str>, ManifestError> {
    if is_kebab(text) && text.len() <= NAME_BYTES_MAX {
        return Ok(text.into());
    }
    Err(ManifestError::new(path, "a function's name in kebab case", Quoted(text)))
}

/// Checks the name of an environment variable.
pub(super) fn variable(name: &str, path: &Path<'_>) -> Result<(), ManifestError> {
    let fits = !name.is_empty() && name.len() <= NAME_BYTES_MAX && !name.contains(|c: char| c == '=' || c.is_control());
    if fits {
        return Ok(());
    }
    let expected = format_args!("variables named with 1 to {NAME_BYTES_MAX} bytes, no = and no control characters");
    Err(ManifestError::new(path, expected, Quoted(name)))
}

/// The name of a secret. Anything else that is there is not repeated: it may be the secret itself.
pub(super) fn secret(json: Json, path: &Path<'_>) -> Result<Box<str>, ManifestError> {
    match json {
        Json::Text(name) if is_secret_name(&name) => Ok(name.into()),
        _ => {
            let expected = format_args!(
                "the name of a secret: 1 to {SECRET_NAME_BYTES_MAX} letters, digits, -, _ and ., no . at the beginning"
            );
            Err(ManifestError::new(path, expected, "something else"))
        }
    }
}

/// Words of letters and digits joined by single hyphens, each beginning with a letter; WIT allows a word in capitals.
fn is_kebab(text: &str) -> bool {
    text.split('-').all(|word| {
        word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

fn is_version(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'+'))
}
