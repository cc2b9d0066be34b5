//! What a decoding carries along: the bounds, what has been used of them, and the one failure with its path.
//!
//! Invariant: the first failure is kept, and the path is collected only while that failure travels outwards, so that
//! a payload without faults pays nothing for it. Strings and numbers of a payload never enter an error; names do, cut.

use std::fmt::{self, Write as _};

use latent_core::error::{ErrorDetail, PlatformError, PlatformErrorCode, cut};
use serde::de;

use super::super::ValueLimits;
use super::super::names::NameIndex;

/// The longest text of what was expected or found.
const TEXT_BYTES_MAX: usize = 200;
/// The longest name that an error repeats.
const NAME_BYTES_MAX: usize = 64;

/// The state of one decoding. `'t` is the life of the types.
pub(super) struct Context<'t> {
    limits: ValueLimits,
    nodes: u32,
    host_bytes: usize,
    pub(super) names: NameIndex<'t>,
    failure: Option<Failure>,
    /// From the failure outwards.
    path: Vec<Segment<'t>>,
}

enum Failure {
    Invalid { expected: String, found: String },
    Limit { limit: &'static str, max: usize },
}

/// One step of a path.
#[derive(Clone, Copy)]
pub(super) enum Segment<'t> {
    /// An array's element.
    Index(usize),
    /// An object's member.
    Name(&'t str),
}

impl<'t> Context<'t> {
    pub(super) fn new(limits: ValueLimits) -> Self {
        Self { limits, nodes: 0, host_bytes: 0, names: NameIndex::default(), failure: None, path: Vec::new() }
    }

    /// Charges one value at `depth`.
    pub(super) fn node<E: de::Error>(&mut self, depth: u32) -> Result<(), E> {
        if depth > self.limits.depth_max {
            return Err(self.limit("depth", self.limits.depth_max as usize));
        }
        if self.nodes >= self.limits.nodes_max {
            return Err(self.limit("nodes", self.limits.nodes_max as usize));
        }
        self.nodes += 1;
        Ok(())
    }

    /// Charges memory that is about to be allocated.
    pub(super) fn host_bytes<E: de::Error>(&mut self, bytes: usize) -> Result<(), E> {
        let room = self.limits.host_bytes_max - self.host_bytes;
        if bytes > room {
            return Err(self.limit("host-bytes", self.limits.host_bytes_max));
        }
        self.host_bytes += bytes;
        Ok(())
    }

    /// Charges and makes room for one more item, where every item weighs `weight` bytes in the end.
    pub(super) fn room_for_one<T, E: de::Error>(&mut self, items: &mut Vec<T>, weight: usize) -> Result<(), E> {
        if items.len() == items.capacity() {
            let more = items.capacity().max(4);
            self.host_bytes(more.saturating_mul(weight))?;
            items.reserve_exact(more);
        }
        Ok(())
    }

    /// A charged copy of a name or a text.
    pub(super) fn text<E: de::Error>(&mut self, text: &str) -> Result<String, E> {
        self.host_bytes(text.len())?;
        Ok(text.to_owned())
    }

    /// Records what is wrong; the error returned only unwinds.
    pub(super) fn invalid<E: de::Error>(&mut self, expected: &dyn fmt::Display, found: &dyn fmt::Display) -> E {
        let [expected, found] = [expected, found].map(|text| clipped(text, TEXT_BYTES_MAX));
        self.failure.get_or_insert(Failure::Invalid { expected, found });
        E::custom("")
    }

    fn limit<E: de::Error>(&mut self, limit: &'static str, max: usize) -> E {
        self.failure.get_or_insert(Failure::Limit { limit, max });
        E::custom("")
    }

    /// Passes `result` on; a failure in it happened at `segment`.
    pub(super) fn within<R, E>(&mut self, segment: Segment<'t>, result: Result<R, E>) -> Result<R, E> {
        if result.is_err() {
            self.path.push(segment);
        }
        result
    }

    /// The failure as the caller sees it; one that was not recorded is a fault of the JSON itself.
    pub(super) fn into_error(self, error: &serde_json::Error) -> PlatformError {
        let mut path = String::from("$");
        for segment in self.path.iter().rev() {
            let written = match segment {
                Segment::Index(at) => write!(path, "[{at}]"),
                Segment::Name(name) => write!(path, ".{}", cut(name, NAME_BYTES_MAX)),
            };
            written.expect("a string takes all that is written to it");
        }
        match self.failure {
            Some(Failure::Invalid { expected, found }) => invalid_error(&path, &expected, &found),
            Some(Failure::Limit { limit, max }) => limit_error(&path, limit, max),
            None => invalid_error(&path, "well-formed JSON", &error.to_string()),
        }
    }
}

/// The error for a payload that is not what it should be.
pub(super) fn invalid_error(path: &str, expected: &str, found: &str) -> PlatformError {
    let detail = ErrorDetail::new("values.invalid").with("path", tail(path));
    let detail = detail.with("expected", expected).with("found", found);
    let message = format!("the payload at {}: expected {expected}, found {found}", tail(path));
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

/// The error for a payload that exceeds a bound.
pub(super) fn limit_error(path: &str, limit: &'static str, max: usize) -> PlatformError {
    let detail = ErrorDetail::new("values.limit").with("limit", limit).with("max", max).with("path", tail(path));
    let unit = match limit {
        "depth" => "levels of nesting",
        "nodes" => "values",
        "host-bytes" => "bytes of decoded values",
        _ => "bytes of payload",
    };
    let message = format!("the payload at {} exceeds the limit of {max} {unit}: send less in one call", tail(path));
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

/// The end of a path: of a long one, the part that is near the fault.
fn tail(path: &str) -> String {
    const PATH_BYTES_MAX: usize = 120;
    if path.len() <= PATH_BYTES_MAX {
        return path.to_owned();
    }
    let start = path.ceil_char_boundary(path.len() - PATH_BYTES_MAX);
    format!("$…{}", &path[start..])
}

/// A name from the payload, quoted, escaped and cut.
pub(super) fn quoted(name: &str) -> String {
    let shown = cut(name, NAME_BYTES_MAX);
    let more = if shown.len() < name.len() { "…" } else { "" };
    format!("`{}{more}`", shown.escape_debug())
}

/// The text of `value` in at most `max` bytes, without ever writing more than that.
pub(super) fn clipped(value: &dyn fmt::Display, max: usize) -> String {
    struct Clip {
        text: String,
        max: usize,
    }
    impl fmt::Write for Clip {
        fn write_str(&mut self, more: &str) -> fmt::Result {
            let taken = cut(more, self.max - self.text.len());
            self.text.push_str(taken);
            if taken.len() < more.len() { Err(fmt::Error) } else { Ok(()) }
        }
    }
    let mut clip = Clip { text: String::new(), max };
    if write!(clip, "{value}").is_err() {
        let keep = cut(&clip.text, max - '…'.len_utf8()).len();
        clip.text.truncate(keep);
        clip.text.push('…');
    }
    clip.text
}

/// Writes the visitor methods for the kinds of JSON that a visitor does not take; each calls its `refuse`.
macro_rules! refuse_otherwise {
    ($($kind:ident)*) => {
        $(refuse_otherwise!(@ $kind);)*
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a value")
        }
    };
    (@ bool) => { refuse_otherwise!(@ visit_bool, bool, "a boolean"); };
    (@ number) => {
        refuse_otherwise!(@ visit_u64, u64, "a number");
        refuse_otherwise!(@ visit_i64, i64, "a number");
        refuse_otherwise!(@ visit_f64, f64, "a number");
    };
    (@ string) => { refuse_otherwise!(@ visit_str, &str, "a string"); };
    (@ null) => {
        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Err(self.refuse("null"))
        }
    };
    (@ array) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
            Err(self.refuse("an array"))
        }
    };
    (@ object) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
            Err(self.refuse("an object"))
        }
    };
    (@ $method:ident, $ty:ty, $found:literal) => {
        fn $method<E: serde::de::Error>(self, _: $ty) -> Result<Self::Value, E> {
            Err(self.refuse($found))
        }
    };
}
pub(super) use refuse_otherwise;
