//! The error codes and the pages that explain them, in both directions; the detail kinds, in one.
//!
//! Invariant: `docs/errors/` holds one page a code, a README, and nothing else.

use crate::repository::Repository;

const TABLE: &str = "crates/latent-core/src/error.rs";
const PAGES: &str = "docs/errors/";
/// What the kind of an error's detail starts with.
const KIND_PREFIXES: &[&str] = &[
    "access.",
    "activation.",
    "admission.",
    "api.",
    "catalog.",
    "cell-disposition.",
    "cell-pool.",
    "compiler.",
    "component.",
    "deployment-generation-",
    "egress.",
    "manifest.",
    "route.",
    "scheduler.",
    "storage.",
    "values.",
];

/// Codes without a page, pages without a code, and pages that name another code than their file does.
pub fn pages_match_codes(repository: &Repository) -> Vec<String> {
    let codes = repository.texts.get(TABLE).map(|text| codes(text)).unwrap_or_default();
    if codes.is_empty() {
        return vec![format!("{TABLE} holds no `codes!` table with lines like `Internal = \"internal\" => State,`")];
    }
    let mut findings = Vec::new();
    for code in &codes {
        let path = format!("{PAGES}{code}.md");
        match repository.texts.get(&path) {
            None => findings.push(format!("{code} has no page: write {path}")),
            Some(page) if !page.starts_with(&format!("# `{code}`\n")) => {
                findings.push(format!("{path} does not start with the heading \"# `{code}`\""));
            }
            Some(_) => {}
        }
    }
    for (path, _) in repository.texts_ending(".md") {
        let Some(name) = path.strip_prefix(PAGES).and_then(|name| name.strip_suffix(".md")) else { continue };
        if name != "README" && !codes.contains(&name) {
            findings.push(format!("{path} explains a code that {TABLE} does not have"));
        }
    }
    findings
}

/// Kinds of details that the code writes and no page explains.
pub fn pages_explain_detail_kinds(repository: &Repository) -> Vec<String> {
    let pages: Vec<&str> =
        repository.texts_ending(".md").filter(|(path, _)| path.starts_with(PAGES)).map(|(_, text)| text).collect();
    let mut findings = Vec::new();
    for (path, text) in repository.texts_ending(".rs") {
        if !path.starts_with("crates/") || !path.contains("/src/") || path.ends_with("/tests.rs") {
            continue;
        }
        for kind in kinds(text) {
            let quoted = format!("`{kind}`");
            let finding = format!("{path} writes the detail kind {quoted}, which no page in {PAGES} explains");
            if !pages.iter().any(|page| page.contains(&quoted)) && !findings.contains(&finding) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// String literals that are detail kinds, outside comments and before the test module.
fn kinds(text: &str) -> Vec<&str> {
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let is_kind = |literal: &&str| {
        let name = KIND_PREFIXES.iter().find_map(|prefix| literal.strip_prefix(prefix));
        name.is_some_and(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
    };
    code.flat_map(|line| line.split('"').skip(1).step_by(2)).filter(is_kind).collect()
}

/// The codes of the `codes!` invocation, in its order.
fn codes(text: &str) -> Vec<&str> {
    let table = text.lines().skip_while(|line| *line != "codes! {").skip(1).take_while(|line| *line != "}");
    table
        .filter_map(|line| {
            let (before, rest) = line.split_once(" = \"")?;
            let (code, after) = rest.split_once('"')?;
            let is_entry = !before.trim_start().starts_with("//") && after.trim_start().starts_with("=>");
            is_entry.then_some(code)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODES: &str = "//! Codes.\ncodes! {\n    /// No.\n    NotFound = \"not-found\" => Rejected,\n    \
                         /// A fault.\n    Internal = \"internal\" => PlatformFailed,\n}\nlet a = \"b\" => 1;\n";

    fn findings(pages: &[(&str, &str)]) -> Vec<String> {
        let mut files = vec![(TABLE, CODES)];
        files.extend_from_slice(pages);
        pages_match_codes(&Repository::of(&files))
    }

    #[test]
    fn one_page_a_code_passes() {
        let pages = [
            ("docs/errors/README.md", "# Errors\n"),
            ("docs/errors/not-found.md", "# `not-found`\n"),
            ("docs/errors/internal.md", "# `internal`\n"),
        ];
        assert_eq!(findings(&pages), Vec::<String>::new());
    }

    #[test]
    fn a_code_without_a_page_is_found() {
        let found = findings(&[("docs/errors/internal.md", "# `internal`\n")]);
        assert_eq!(found, ["not-found has no page: write docs/errors/not-found.md"]);
    }

    #[test]
    fn a_page_without_a_code_or_with_another_heading_is_found() {
        let found = findings(&[
            ("docs/errors/not-found.md", "# `internal`\n"),
            ("docs/errors/internal.md", "# `internal`\n"),
            ("docs/errors/gone.md", "# `gone`\n"),
        ]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("not-found.md does not start") && found[1].contains("gone.md explains a code"));
    }

    #[test]
    fn a_detail_kind_that_no_page_explains_is_found_once() {
        let code = "//! X.\n// \"activation.in-comment\"\nf(\"cell-pool.queue-full\", \"activation.lost\");\n\
                    g(\"activation.lost\", \"latency.p50\");\n#[cfg(test)]\nmod tests {\n    \"activation.only-in-tests\"\n}\n";
        let repository = Repository::of(&[
            ("crates/latent-x/src/lib.rs", code),
            ("docs/errors/resource-exhausted.md", "- `cell-pool.queue-full`: full.\n"),
        ]);
        let found = pages_explain_detail_kinds(&repository);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("`activation.lost`"));
    }

    #[test]
    fn a_missing_table_is_found() {
        assert_eq!(pages_match_codes(&Repository::of(&[(TABLE, "//! No table.\n")])).len(), 1);
    }
}
