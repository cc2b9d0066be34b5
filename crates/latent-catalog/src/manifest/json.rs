//! A JSON document as a tree, read strictly.
//!
//! Invariant: no tree is deeper, wider or has longer strings than the limits, and no object has a key twice. Reading
//! stops at the first thing that is wrong, so hostile input costs no more than the bounds allow.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::{ManifestError, ManifestLimits};

/// The most bytes of foreign text that an error repeats.
const QUOTED_BYTES_MAX: usize = 48;

/// A value. Numbers other than unsigned integers have no place in a manifest, so their value is not kept.
#[derive(Debug)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Unsigned(u64),
    OtherNumber,
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// The way from the document's root to a value.
#[derive(Clone, Copy)]
pub(super) enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

/// Foreign text inside an error: cut, and without characters that could disturb a terminal or a log.
pub(super) struct Quoted<'a>(pub(super) &'a str);

/// Reads the whole of `bytes`.
pub(super) fn parse(bytes: &[u8], limits: &ManifestLimits) -> Result<Json, ManifestError> {
    if bytes.len() > limits.document_bytes_max {
        let expected = format_args!("at most {} bytes", limits.document_bytes_max);
        return Err(ManifestError::new(Path::Root, expected, format_args!("{} bytes", bytes.len())));
    }
    let refused = Cell::new(None);
    let reading = Reading { limits, depth: 0, path: &Path::Root, refused: &refused };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let read = reading.deserialize(&mut deserializer).and_then(|json| deserializer.end().map(|()| json));
    read.map_err(|error| {
        refused.take().unwrap_or_else(|| ManifestError::new(Path::Root, "one JSON object", Syntax(&error)))
    })
}

impl Json {
    /// The kind of value, as an error shows it.
    pub(super) fn found(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool(value) => value.to_string(),
            Self::Unsigned(value) => value.to_string(),
            Self::OtherNumber => "a number that is negative, fractional or too large".to_owned(),
            Self::Text(text) => Quoted(text).to_string(),
            Self::List(list) => format!("an array of {}", list.len()),
            Self::Object(fields) => format!("an object of {}", fields.len()),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("$"),
            Self::Index(parent, at) => write!(f, "{parent}[{at}]"),
            Self::Key(parent, key) => {
                let plain = key.len() <= QUOTED_BYTES_MAX
                    && !key.is_empty()
                    && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
                if plain { write!(f, "{parent}.{key}") } else { write!(f, "{parent}[{}]", Quoted(key)) }
            }
        }
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = latent_core::error::cut(self.0, QUOTED_BYTES_MAX);
        f.write_str("\"")?;
        for c in kept.chars() {
            // Escapes control characters; whatever else is invisible or turns the direction of text is escaped too.
            if c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ' {
                write!(f, "{}", c.escape_debug())?;
            } else {
                write!(f, "{}", c.escape_unicode())?;
            }
        }
        if kept.len() < self.0.len() { write!(f, "…\" ({} bytes)", self.0.len()) } else { f.write_str("\"") }
    }
}

/// What the JSON reader itself says, which is bounded and repeats no input.
struct Syntax<'a>(&'a serde_json::Error);

impl fmt::Display for Syntax<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = (self.0.line(), self.0.column());
        let what = if self.0.is_eof() { "an early end" } else { "something that is not JSON" };
        write!(f, "{what} at line {line}, column {column}")
    }
}

/// Reads one value at a place.
#[derive(Clone, Copy)]
struct Reading<'a> {
    limits: &'a ManifestLimits,
    /// Arrays and objects around the value.
    depth: usize,
    path: &'a Path<'a>,
    /// Where a refusal waits until the reader has unwound.
    refused: &'a Cell<Option<ManifestError>>,
}

impl<'a> Reading<'a> {
    /// Reads a value one level below this one.
    fn inside<'b>(&self, path: &'b Path<'b>) -> Reading<'b>
    where
        'a: 'b,
    {
        Reading { limits: self.limits, depth: self.depth + 1, path, refused: self.refused }
    }

    fn refuse<E: serde::de::Error>(&self, expected: impl fmt::Display, found: impl fmt::Display) -> E {
        self.refused.set(Some(ManifestError::new(self.path, expected, found)));
        E::custom("refused")
    }

    fn check_depth<E: serde::de::Error>(&self) -> Result<(), E> {
        let max = self.limits.depth_max;
        if self.depth < max { Ok(()) } else { Err(self.refuse(format_args!("at most {max} levels"), "one more")) }
    }

    fn check_entries<E: serde::de::Error>(&self, count: usize) -> Result<(), E> {
        let max = self.limits.entries_max;
        if count < max { Ok(()) } else { Err(self.refuse(format_args!("at most {max} entries"), "one more")) }
    }

    fn check_text<E: serde::de::Error>(&self, text: &str) -> Result<(), E> {
        let max = self.limits.string_bytes_max;
        if text.len() <= max {
            return Ok(());
        }
        Err(self.refuse(format_args!("a string of at most {max} bytes"), format_args!("{} bytes", text.len())))
    }
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(u64::try_from(value).map_or(Json::OtherNumber, Json::Unsigned))
    }

    fn visit_f64<E>(self, _value: f64) -> Result<Json, E> {
        Ok(Json::OtherNumber)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Json, E> {
        self.check_text(text)?;
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Json, A::Error> {
        self.check_depth()?;
        let mut list = Vec::new();
        loop {
            let path = Path::Index(self.path, list.len());
            let Some(element) = elements.next_element_seed(self.inside(&path))? else { return Ok(Json::List(list)) };
            self.check_entries(list.len())?;
            list.push(element);
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        self.check_depth()?;
        let mut fields: Vec<(String, Json)> = Vec::new();
        while let Some(key) = entries.next_key_seed(Key(self))? {
            self.check_entries(fields.len())?;
            let path = Path::Key(self.path, &key);
            let reading = self.inside(&path);
            if fields.iter().any(|(known, _)| *known == key) {
                return Err(reading.refuse("each key once", "a repeated key"));
            }
            let value = entries.next_value_seed(reading)?;
            fields.push((key, value));
        }
        Ok(Json::Object(fields))
    }
}

/// Reads a key of the object at a place.
struct Key<'a>(Reading<'a>);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
        self.0.check_text(text)?;
        Ok(text.to_owned())
    }
}
