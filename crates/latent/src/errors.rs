//! Errors of the platform as they are printed: a line for people, an object for programs. Pure.

use std::fmt::{self, Write as _};

use latent_core::{ErrorDetail, PlatformError};
use serde::Serialize;
use serde::ser::Serializer;

use crate::printable::{Printable, Quotable};

/// `code: message (kind key=value, …)`.
pub struct ErrorText<'a>(pub &'a PlatformError);

impl fmt::Display for ErrorText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code(), Printable(self.0.message()))?;
        for (at, detail) in self.0.details().iter().enumerate() {
            write!(f, "{}{}", if at == 0 { " (" } else { ", " }, Printable(detail.kind()))?;
            detail.fields().try_for_each(|(name, value)| write!(f, " {}={}", Printable(name), Quotable(value)))?;
        }
        if self.0.details().is_empty() { Ok(()) } else { f.write_char(')') }
    }
}

/// `{code, message, retryable, details [{kind, fields}]}`.
#[derive(Serialize)]
pub struct ErrorBody<'a> {
    code: &'static str,
    message: &'a str,
    retryable: bool,
    details: Vec<Detail<'a>>,
}

impl<'a> ErrorBody<'a> {
    /// The object of `error`.
    pub fn of(error: &'a PlatformError) -> Self {
        Self {
            code: error.code().as_str(),
            message: error.message(),
            retryable: error.is_retryable(),
            details: error.details().iter().map(Detail::of).collect(),
        }
    }
}

#[derive(Serialize)]
struct Detail<'a> {
    kind: &'a str,
    fields: Fields<'a>,
}

impl<'a> Detail<'a> {
    fn of(detail: &'a ErrorDetail) -> Self {
        Self { kind: detail.kind(), fields: Fields::of(detail.fields()) }
    }
}

/// An object of strings in the order given. Of a name that is there twice, the first value stays.
pub struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    /// The object of `fields`.
    pub fn of(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Self(fields.fold(Vec::new(), |mut kept, (name, value)| {
            if !kept.iter().any(|(known, _)| *known == name) {
                kept.push((name, value));
            }
            kept
        }))
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}
