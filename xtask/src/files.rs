//! Rules about single source files: length, the opening comment, and names that say nothing.
//!
//! Invariant: only Rust files are judged, wherever they lie.

use crate::repository::Repository;

/// The most lines of a file, its tests included. There is no exception.
const LINES_MAX: usize = 800;
/// The most lines of a file without its test modules, unless it says why it is longer.
const LINES_WITHOUT_TESTS_MAX: usize = 500;
/// How far from the top the reason for a long file may stand.
const REASON_WITHIN_LINES: usize = 10;
/// What introduces that reason.
const REASON: &str = "tidy: long because";

/// Names that say nothing about what a file owns.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc"];

/// Files that are too long.
pub fn lengths(repository: &Repository) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in repository.texts_ending(".rs") {
        let all = text.lines().count();
        if all > LINES_MAX {
            findings.push(format!("{path} has {all} lines, at most {LINES_MAX}: split it by concern"));
            continue;
        }
        let own = if path.split('/').any(|part| part == "tests" || part == "tests.rs") {
            0
        } else {
            lines_without_tests(text)
        };
        let excused = text.lines().take(REASON_WITHIN_LINES).any(|line| line.contains(REASON));
        if own > LINES_WITHOUT_TESTS_MAX && !excused {
            findings.push(format!(
                "{path} has {own} lines without its tests, at most {LINES_WITHOUT_TESTS_MAX}: \
                 split it, or say `{REASON} …` in its opening comment"
            ));
        }
    }
    findings
}

/// Files that do not open by saying what they own.
pub fn module_docs(repository: &Repository) -> Vec<String> {
    let undocumented = repository.texts_ending(".rs").filter(|(_, text)| !text.starts_with("//! "));
    undocumented.map(|(path, _)| format!("{path} does not start with a `//! ` line: say what it owns")).collect()
}

/// `mod.rs`, and files or directories whose name is a drawer for anything.
pub fn names(repository: &Repository) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, _) in repository.texts_ending(".rs") {
        if path.ends_with("/mod.rs") {
            let directory = path.trim_end_matches("/mod.rs");
            findings.push(format!("{path}: name the file {directory}.rs"));
        }
        let parts = path.trim_end_matches(".rs").split('/');
        for part in parts.filter(|part| EMPTY_NAMES.contains(part)) {
            findings.push(format!("{path}: `{part}` names no concept; name the file by what it owns"));
        }
    }
    findings
}

/// Counts the lines outside top-level test modules, which end with a brace in the first column.
fn lines_without_tests(text: &str) -> usize {
    let mut count = 0;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens_tests = line == "#[cfg(test)]" && lines.peek().is_some_and(|next| next.starts_with("mod "));
        if opens_tests {
            let _module = lines.by_ref().find(|line| *line == "}" || line.ends_with(';') && line.starts_with("mod "));
        } else {
            count += 1;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(own: usize, tests: usize, opening: &str) -> String {
        let tests = if tests == 0 {
            String::new()
        } else {
            format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    // t\n".repeat(tests - 3))
        };
        format!("{opening}\n{}{tests}", "// l\n".repeat(own - 1))
    }

    fn findings(path: &str, text: &str) -> Vec<String> {
        lengths(&Repository::of(&[(path, text)]))
    }

    #[test]
    fn a_file_at_both_limits_passes() {
        assert_eq!(findings("src/a.rs", &file(500, 300, "//! A.")), Vec::<String>::new());
    }

    #[test]
    fn one_line_over_either_limit_is_found() {
        assert!(findings("src/a.rs", &file(501, 0, "//! A."))[0].contains("has 501 lines without its tests"));
        assert!(findings("src/a.rs", &file(500, 301, "//! A."))[0].contains("has 801 lines"));
    }

    #[test]
    fn a_reason_excuses_five_hundred_lines_but_not_eight_hundred() {
        let opening = "//! A. tidy: long because one table is read whole.";
        assert_eq!(findings("src/a.rs", &file(700, 0, opening)), Vec::<String>::new());
        assert_eq!(findings("src/a.rs", &file(801, 0, opening)).len(), 1);
    }

    #[test]
    fn a_file_of_tests_has_only_the_larger_limit() {
        assert_eq!(findings("tests/it/a.rs", &file(800, 0, "//! A.")), Vec::<String>::new());
        assert_eq!(findings("tests/it/a.rs", &file(801, 0, "//! A.")).len(), 1);
        assert_eq!(findings("src/pool/tests.rs", &file(800, 0, "//! A.")), Vec::<String>::new());
    }

    #[test]
    fn lines_after_a_test_module_count_again() {
        assert_eq!(lines_without_tests("//! A.\n#[cfg(test)]\nmod tests {\n    // t\n}\nfn f() {}\n"), 2);
        assert_eq!(lines_without_tests("//! A.\n#[cfg(test)]\nmod tests;\nfn f() {}\n"), 2);
        assert_eq!(lines_without_tests("//! A.\n#[cfg(test)]\nfn only_in_tests() {}\n"), 3);
    }

    #[test]
    fn a_missing_opening_comment_is_found() {
        let repository = Repository::of(&[("a.rs", "//! Owns a.\n"), ("b.rs", "// Owns b.\n"), ("c.rs", "")]);
        let findings = module_docs(&repository);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("b.rs ") && findings[1].starts_with("c.rs "));
    }

    #[test]
    fn mod_files_and_empty_names_are_found() {
        let repository = Repository::of(&[
            ("src/cells/mod.rs", ""),
            ("src/util.rs", ""),
            ("tests/common/pool.rs", ""),
            ("src/modest.rs", ""),
        ]);
        let findings = names(&repository);
        assert_eq!(findings.len(), 3, "{findings:?}");
        assert!(findings.iter().any(|finding| finding.contains("name the file src/cells.rs")));
    }
}
