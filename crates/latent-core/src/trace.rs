//! The trace that an activation belongs to, as `traceparent` says it (W3C Trace Context).
//!
//! Invariant: a span that is read or made is valid: neither its trace nor its own id is zero.

use std::fmt;

use crate::digest::Sha256Digest;
use crate::id::ActivationId;

/// Separates these digests from all others.
const DOMAIN: &str = "latent span ";
/// The one flag that is passed on: the caller keeps its span.
const SAMPLED: u8 = 1;

/// One span of a trace. Written as `traceparent` of version 00.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    trace: u128,
    span: u64,
    is_sampled: bool,
}

impl TraceParent {
    /// Reads the text of version 00, and what later versions begin with. `None` for one that names no span: whoever
    /// has it then begins a trace.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let is_whole = is_hex(version, 2) && is_hex(trace, 32) && is_hex(span, 16) && is_hex(flags, 2);
        if !is_whole || version == "ff" || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let (trace, span) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(span, 16).ok()?);
        let is_sampled = u8::from_str_radix(flags, 16).ok()? & SAMPLED != 0;
        (trace != 0 && span != 0).then_some(Self { trace, span, is_sampled })
    }

    /// The span of activation `id` in the same trace. What a guest calls is its child, and so the child of the span that the
    /// node reports.
    #[must_use]
    pub fn of_activation(self, id: &ActivationId) -> Self {
        Self { span: span_of(id), ..self }
    }

    /// The trace.
    #[must_use]
    pub const fn trace(&self) -> [u8; 16] {
        self.trace.to_be_bytes()
    }

    /// The span.
    #[must_use]
    pub const fn span(&self) -> [u8; 8] {
        self.span.to_be_bytes()
    }

    /// Whether the caller keeps its span.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.is_sampled
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.is_sampled))
    }
}

/// The id of an activation's span, which follows from the activation's id: whoever knows the one knows the other, without asking.
#[must_use]
pub fn span_of(id: &ActivationId) -> u64 {
    let digest = Sha256Digest::of(format!("{DOMAIN}{id}").as_bytes());
    let first = digest.as_bytes().first_chunk().expect("a digest has more than eight bytes");
    // Zero is no span.
    u64::from_be_bytes(*first).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn a_span_is_read_as_the_standard_has_it() {
        let text = format!("00-{TRACE}-00f067aa0ba902b7-01");
        let span = TraceParent::read(&text).unwrap();
        assert_eq!(u128::from_be_bytes(span.trace()), 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!(u64::from_be_bytes(span.span()), 0x00f0_67aa_0ba9_02b7);
        assert!(span.is_sampled());
        assert_eq!(span.to_string(), text);
        assert!(!TraceParent::read(&format!("00-{TRACE}-00f067aa0ba902b7-00")).unwrap().is_sampled());
        assert!(TraceParent::read(&format!("cc-{TRACE}-00f067aa0ba902b7-01-more")).is_some());
    }

    #[test]
    fn what_is_no_span_is_none() {
        for text in [
            String::new(),
            "00".to_owned(),
            format!("ff-{TRACE}-00f067aa0ba902b7-01"),
            format!("00-{TRACE}-00f067aa0ba902b7-01-more"),
            format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32)),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-00f067aa0ba902b7-01", TRACE.to_uppercase()),
            format!("00-{TRACE}-00f067aa0ba902b-01"),
            format!("00-{TRACE}-00f067aa0ba902b7-é"),
        ] {
            assert_eq!(TraceParent::read(&text), None, "{text}");
        }
    }

    #[test]
    fn an_activation_has_a_span_of_its_own_in_the_trace_of_its_caller() {
        let caller = TraceParent::read(&format!("00-{TRACE}-00f067aa0ba902b7-01")).unwrap();
        let [one, other] = ["one", "other"].map(|id| caller.of_activation(&ActivationId::new(id).unwrap()));
        assert_eq!((one.trace(), one.is_sampled()), (caller.trace(), true));
        assert!(one.span() != caller.span() && one.span() != other.span());
        assert_eq!(one, caller.of_activation(&ActivationId::new("one").unwrap()), "the same each time");
    }
}
