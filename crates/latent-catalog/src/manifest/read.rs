//! Typed access to a tree: each function takes what it expects, or says what it found instead.

use super::ManifestError;
use super::json::{Json, Path, Quoted};

/// An object whose keys were all checked against the schema when it was opened.
pub(super) struct Object<'a> {
    path: &'a Path<'a>,
    fields: Vec<(String, Json)>,
}

impl<'a> Object<'a> {
    /// Opens `json`, in which only the keys in `known` may occur.
    pub(super) fn open(json: Json, path: &'a Path<'a>, known: &[&str]) -> Result<Self, ManifestError> {
        let fields = entries(json, path)?;
        match fields.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, _)) => {
                let expected = format_args!("only the keys {}", known.join(", "));
                Err(ManifestError::new(path, expected, format_args!("the key {}", Quoted(key))))
            }
            None => Ok(Self { path, fields }),
        }
    }

    /// Reads the value under `key`, if there is one.
    pub(super) fn optional<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(Json, &Path<'_>) -> Result<T, ManifestError>,
    ) -> Result<Option<T>, ManifestError> {
        let Some(at) = self.fields.iter().position(|(known, _)| known == key) else { return Ok(None) };
        let (_, json) = self.fields.swap_remove(at);
        read(json, &Path::Key(self.path, key)).map(Some)
    }

    /// Reads the value under `key`, which must be there.
    pub(super) fn required<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(Json, &Path<'_>) -> Result<T, ManifestError>,
    ) -> Result<T, ManifestError> {
        let value = self.optional(key, read)?;
        value.ok_or_else(|| ManifestError::new(self.path, format_args!("the key {}", Quoted(key)), "none"))
    }
}

/// Keys and values of an object that may have any keys.
pub(super) fn entries(json: Json, path: &Path<'_>) -> Result<Vec<(String, Json)>, ManifestError> {
    match json {
        Json::Object(fields) => Ok(fields),
        other => Err(ManifestError::new(path, "an object", other.found())),
    }
}

/// A string.
pub(super) fn text(json: Json, path: &Path<'_>) -> Result<String, ManifestError> {
    match json {
        Json::Text(text) => Ok(text),
        other => Err(ManifestError::new(path, "a string", other.found())),
    }
}

/// An integer within bounds.
pub(super) fn integer(json: &Json, path: &Path<'_>, min: u64, max: u64) -> Result<u64, ManifestError> {
    match json {
        Json::Unsigned(value) if (min..=max).contains(value) => Ok(*value),
        other => {
            let expected = format_args!("a whole number from {min} to {max}");
            Err(ManifestError::new(path, expected, other.found()))
        }
    }
}

/// The elements of an array, each read by `read`.
pub(super) fn list<T>(
    json: Json,
    path: &Path<'_>,
    mut read: impl FnMut(Json, &Path<'_>) -> Result<T, ManifestError>,
) -> Result<Vec<T>, ManifestError> {
    match json {
        Json::List(elements) => {
            elements.into_iter().enumerate().map(|(at, element)| read(element, &Path::Index(path, at))).collect()
        }
        other => Err(ManifestError::new(path, "an array", other.found())),
    }
}
