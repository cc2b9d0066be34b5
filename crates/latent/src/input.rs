//! What the command reads: the component's file and the arguments. Nothing is read without a bound.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use bytes::Bytes;
use latent_core::{MediaType, Payload};
use latent_executor::ComponentArtifact;

use crate::ending::Failure;

/// The most text that is assembled, which takes thirty times as much memory.
const TEXT_BYTES_MAX: u64 = 2 << 20;

/// Arguments, and how the user named them.
#[derive(Debug, Clone)]
pub struct Arguments {
    /// The payload, at most one byte longer than what is allowed.
    pub payload: Payload,
    /// The flag as it was written, for sentences about it.
    pub named: String,
}

/// Reads a component of at most `bytes_max`; text in a `.wat` file, of at most 2 MiB, is assembled.
///
/// # Errors
/// One sentence with the path and what is wrong.
pub fn component(path: &Path, bytes_max: u64) -> Result<ComponentArtifact, Failure> {
    let shown = path.display();
    let file = File::open(path).map_err(|error| unreadable(&shown, &error))?;
    if file.metadata().is_ok_and(|about| about.is_dir()) {
        return Err(Failure::local(format!("{shown} is a directory; expected a component's .wasm or .wat file")));
    }
    let is_text = path.extension() == Some(OsStr::new("wat"));
    let bytes_max = if is_text { bytes_max.min(TEXT_BYTES_MAX) } else { bytes_max };
    let bytes = read_bounded(file, bytes_max).map_err(|error| unreadable(&shown, &error))?;
    if bytes.len() as u64 > bytes_max {
        let what = if is_text { "component text" } else { "a component" };
        return Err(Failure::local(format!("{shown} has more than {bytes_max} bytes, which is all {what} may have")));
    }
    if !is_text {
        return Ok(ComponentArtifact::new(bytes));
    }
    match wat::parse_bytes(&bytes) {
        Ok(binary) => Ok(ComponentArtifact::new(binary.into_owned())),
        Err(error) => Err(Failure::local(format!("{shown} is not component text: {}", one_line(&error.to_string())))),
    }
}

/// Reads the arguments: the text itself, `@FILE` or `-`. Without any, JSON has no parameters and bytes are empty.
///
/// Of more than `bytes_max` only one byte more is read, so that the node refuses it as too large.
///
/// # Errors
/// One sentence with the file and what is wrong.
pub fn arguments(given: Option<&str>, media_type: MediaType, bytes_max: usize) -> Result<Arguments, Failure> {
    let (bytes, named) = match (given, media_type) {
        (None, MediaType::Json) => (b"[]".to_vec(), "no --args".to_owned()),
        (None, MediaType::OctetStream) => (Vec::new(), "no --args".to_owned()),
        (Some("-"), _) => {
            let bytes = read_bounded(io::stdin().lock(), bytes_max as u64);
            (bytes.map_err(|error| unreadable(&"standard input, for --args -,", &error))?, "--args -".to_owned())
        }
        (Some(text), _) => match text.strip_prefix('@') {
            None => (text.as_bytes().to_vec(), "--args".to_owned()),
            Some(path) => {
                let bytes = File::open(path).and_then(|file| read_bounded(file, bytes_max as u64));
                (bytes.map_err(|error| unreadable(&path, &error))?, format!("--args @{path}"))
            }
        },
    };
    Ok(Arguments { payload: Payload { media_type, bytes: Bytes::from(bytes) }, named })
}

/// Reads a file of at most `bytes_max`.
///
/// # Errors
/// One sentence with the path and what is wrong.
pub fn file(path: &Path, bytes_max: u64) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let bytes = File::open(path).and_then(|file| read_bounded(file, bytes_max));
    let bytes = bytes.map_err(|error| unreadable(&shown, &error))?;
    if bytes.len() as u64 > bytes_max {
        return Err(Failure::local(format!(
            "{shown} has more than {bytes_max} bytes, which is all that is read of it"
        )));
    }
    Ok(bytes)
}

/// Reads at most one byte more than `bytes_max`.
fn read_bounded(from: impl Read, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is wrong with `what`, which could not be read.
pub fn unreadable(what: &dyn std::fmt::Display, error: &io::Error) -> Failure {
    let reason = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission is denied".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        _ => error.to_string(),
    };
    Failure::local(format!("cannot read {what}: {reason}"))
}

/// The assembler's complaint and its place, out of its drawing of the source.
fn one_line(drawing: &str) -> String {
    let mut lines = drawing.lines();
    let complaint = lines.next().unwrap_or_default().trim();
    let complaint = complaint.split(" at <anon>").next().unwrap_or_default();
    let place = lines.find_map(|line| line.trim().strip_prefix("--> ")).and_then(|place| {
        let mut parts = place.rsplitn(3, ':');
        let (column, line) = (parts.next()?, parts.next()?);
        Some(format!(" at line {line}, column {column}"))
    });
    format!("{complaint}{}", place.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_in_text_is_told_with_its_place() {
        let error = wat::parse_str("(component\n  (core modul))").unwrap_err();
        let line = one_line(&error.to_string());
        assert!(line.ends_with(" at line 2, column 4"), "{line}");
        assert!(!line.contains('\n') && !line.contains("-->"), "{line}");
    }

    #[test]
    fn arguments_are_text_unless_they_name_a_file() {
        let read = |given, media_type| arguments(given, media_type, 4).map(|read| read.payload.bytes);
        assert_eq!(read(None, MediaType::Json).unwrap(), "[]");
        assert_eq!(read(None, MediaType::OctetStream).unwrap(), "");
        assert_eq!(read(Some("[1]"), MediaType::Json).unwrap(), "[1]");
        let failure = read(Some("@/no/such/file"), MediaType::Json).unwrap_err().to_string();
        assert_eq!(failure, "cannot read /no/such/file: there is no such file");
    }

    #[test]
    fn no_more_than_one_byte_over_the_bound_is_read() {
        assert_eq!(read_bounded(io::repeat(1), 4).unwrap().len(), 5);
        assert_eq!(read_bounded(&[1, 2][..], u64::MAX).unwrap().len(), 2);
    }
}
