//! Whether what a page shows is what was printed. Pure.

/// Whether `printed` is `shown`, where `…` stands for any text, or, alone on its line, for any lines or none.
pub fn fits(shown: &str, printed: &str) -> bool {
    let pieces: Vec<&str> = shown.trim_end().split('…').collect();
    let last = pieces.len() - 1;
    let mut rest = printed.trim_end();
    for (at, piece) in pieces.iter().enumerate() {
        // A line end beside an ellipsis goes with it: the lines that it stands for may be none.
        let piece = if at > 0 { piece.trim_start_matches('\n') } else { piece };
        let piece = if at < last { piece.trim_end_matches('\n') } else { piece };
        let found = match (at == 0, at == last) {
            (true, true) => (rest == piece).then_some(rest.len()),
            (true, false) => rest.starts_with(piece).then_some(piece.len()),
            (false, true) => rest.ends_with(piece).then_some(rest.len()),
            (false, false) => rest.find(piece).map(|start| start + piece.len()),
        };
        match found {
            Some(end) => rest = &rest[end..],
            None => return false,
        }
    }
    true
}

#[test]
fn an_ellipsis_stands_for_anything_and_everything_else_for_itself() {
    for (shown, printed) in [
        ("a b\n", "a b\n"),
        ("", ""),
        ("a … c\n", "a b c\n"),
        ("…\nmade it, …\n…\n", "made it, now\n"),
        ("…\nmade it, …\n…\n", "said\nmade it, now\nand more\n"),
        ("a\n…\nz\n", "a\nb\nc\nz\n"),
    ] {
        assert!(fits(shown, printed), "{shown:?} {printed:?}");
    }
    for (shown, printed) in [("a\n", "a\nb\n"), ("", "a"), ("a … c", "a b d"), ("a…", "ba"), ("…a", "ab"), ("a…a", "a")]
    {
        assert!(!fits(shown, printed), "{shown:?} {printed:?}");
    }
}
