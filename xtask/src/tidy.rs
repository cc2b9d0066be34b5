//! The list of tidy checks, and the loop that runs all of them before it reports.
//!
//! Invariant: a check never hides another's findings.

use crate::repository::Repository;
use crate::{arrows, errors, files, links};

type Check = fn(&Repository) -> Vec<String>;

const CHECKS: &[(&str, Check)] = &[
    ("arrows", arrows::allowed_arrows),
    ("fences", arrows::fences),
    ("file-length", files::lengths),
    ("module-docs", files::module_docs),
    ("file-names", files::names),
    ("error-pages", errors::pages_match_codes),
    ("detail-kinds", errors::pages_explain_detail_kinds),
    ("links", links::relative_links_resolve),
    ("decision-records", links::decision_records_are_listed),
];

/// Runs every check; answers a summary line, or all findings with the name of the check that made each.
pub fn run(repository: &Repository) -> Result<String, Vec<String>> {
    let findings: Vec<String> = CHECKS
        .iter()
        .flat_map(|(name, check)| check(repository).into_iter().map(move |finding| format!("{name}: {finding}")))
        .collect();
    if findings.is_empty() { Ok(format!("tidy: {} checks, no findings", CHECKS.len())) } else { Err(findings) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_of_all_checks_are_reported_together() {
        let repository = Repository::of(&[("crates/x/src/mod.rs", "fn f() {}\n"), ("README.md", "[a](missing.md)\n")]);
        let findings = run(&repository).expect_err("three rules are broken");
        for check in ["module-docs: ", "file-names: ", "links: "] {
            assert!(findings.iter().any(|finding| finding.starts_with(check)), "{check} in {findings:?}");
        }
    }
}
