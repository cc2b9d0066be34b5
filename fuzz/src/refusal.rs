//! What a refusal has to have, whatever it is about.

use latent_core::error::{DETAILS_MAX, FIELDS_MAX, MESSAGE_BYTES_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
use latent_core::{PlatformError, PlatformErrorCode};

/// The error says what was wrong, in a sentence and a detail within their bounds, and is none of the node's own faults.
///
/// # Panics
/// When it does not.
pub fn tells(error: &PlatformError) {
    assert_ne!(error.code(), PlatformErrorCode::Internal, "{error:?}");
    sentence(error.message());
    assert!(error.message().len() <= MESSAGE_BYTES_MAX, "{error:?}");
    assert!((1..=DETAILS_MAX).contains(&error.details().len()), "{error:?}");
    for detail in error.details() {
        assert!((1..=NAME_BYTES_MAX).contains(&detail.kind().len()), "{error:?}");
        assert!(detail.fields().len() <= FIELDS_MAX, "{error:?}");
        assert!(detail.fields().all(|(name, value)| !name.is_empty() && value.len() <= VALUE_BYTES_MAX), "{error:?}");
    }
}

/// The text says something, and nothing that disturbs a terminal or a log.
///
/// # Panics
/// When it does not.
pub fn sentence(text: &str) {
    assert!(text.split_whitespace().count() > 1, "{text:?} says too little");
    let odd = text.chars().find(|c| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'));
    assert_eq!(odd, None, "{text:?}");
}
