//! Values at the activation boundary: JSON in, JSON out, for any function whose types are plain values.
//!
//! Owns the mapping of reference section 7 and its bounds. Invariant: nothing here needs a store, input is decoded
//! straight into engine values while nodes, depth and host bytes are counted, and output is checked before it grows.

mod decode;
mod encode;
mod kinds;
mod names;
mod types;
mod writer;

#[cfg(test)]
mod tests;

pub use decode::{decode_params, decode_single_bytes, decode_single_string};
pub use encode::{EncodeError, encode, encode_bytes, encode_string};
pub(crate) use types::{Function, Shape, Typed, signature_of};
pub use types::{TypeBudget, UnsupportedType, signature, value_type};

/// The bounds of one decoding or encoding. Each is a refusal, never a truncation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "a bound says so in its name")]
pub struct ValueLimits {
    /// How deep values nest: a parameter or a result is at depth 1, what it contains is one deeper. Default 64.
    /// Bounds the stack that a decoding takes.
    pub depth_max: u32,
    /// How many values a payload or a result holds, each `list<u8>` counted as one and absent options counted too.
    /// Default 200,000. Bounds the time that decoding and encoding take.
    pub nodes_max: u32,
    /// The longest payload in bytes. Default 8 MiB.
    pub bytes_in_max: usize,
    /// The longest encoded result in bytes. Default 8 MiB. The buffer of a result is never larger than this.
    pub bytes_out_max: usize,
    /// How many bytes the decoded parameters occupy on the host, buffers counted by capacity. Default 64 MiB.
    /// A `list<u8>` that is decoded as a dynamic value costs [`std::mem::size_of::<wasmtime::component::Val>()`]
    /// a byte; the typed paths cost one.
    pub host_bytes_max: usize,
}

impl Default for ValueLimits {
    fn default() -> Self {
        Self {
            depth_max: 64,
            nodes_max: 200_000,
            bytes_in_max: 8 << 20,
            bytes_out_max: 8 << 20,
            host_bytes_max: 64 << 20,
        }
    }
}
