//! How the body of a message is coded on its way. Pure.

use http::HeaderMap;
use http::header::TRANSFER_ENCODING;

/// Whether the body is coded in no way, or in the one way that is undone here.
pub(crate) fn is_plainly_chunked(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(only), None) => only.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn one_chunked_coding_is_undone_and_every_other_is_not() {
        let of = |codings: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for coding in codings {
                headers.append(TRANSFER_ENCODING, HeaderValue::from_static(coding));
            }
            is_plainly_chunked(&headers)
        };
        assert!(of(&[]) && of(&["chunked"]) && of(&["Chunked"]));
        for codings in
            [&["gzip"][..], &["gzip, chunked"], &["chunked, gzip"], &["chunked, chunked"], &["identity", "chunked"]]
        {
            assert!(!of(codings), "{codings:?}");
        }
    }
}
