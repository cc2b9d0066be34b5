//! `docs/conformance.md`: each rule of the specification, and what proves it.
//!
//! Invariant: every row id appears exactly once, and a proof that does not exist is a finding, never a warning.

use std::collections::BTreeMap;

use crate::repository::Repository;
use crate::sources;

const DOCUMENT: &str = "docs/conformance.md";
const GATES: &str = ".ci/run";

/// The parts of the specification, with the number of their rows.
const PARTS: &[(char, usize)] = &[('A', 37), ('B', 73), ('C', 39)];
/// The fewest words of a reason.
const REASON_WORDS_MIN: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Test,
    Gate,
    NotApplicable,
}

/// One line of a table: `| id | rule | kind | proof |`.
struct Row<'a> {
    id: &'a str,
    kind: Kind,
    proof: &'a str,
}

/// Checks the whole document; answers the counts, or all findings.
pub fn run(repository: &Repository) -> Result<String, Vec<String>> {
    let Some(text) = repository.texts.get(DOCUMENT) else {
        return Err(vec![format!("{DOCUMENT} does not exist")]);
    };
    let mut findings = Vec::new();
    let mut rows = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match parse(line) {
            Some(Ok(row)) => rows.push(row),
            Some(Err(wrong)) => findings.push(format!("{DOCUMENT}:{}: {wrong}", index + 1)),
            None => {}
        }
    }
    findings.extend(wrong_ids(&rows));
    let tests = all_tests(repository);
    for row in &rows {
        findings.extend(faults(repository, &tests, row).into_iter().map(|fault| format!("{}: {fault}", row.id)));
    }
    if findings.is_empty() { Ok(summary(&rows)) } else { Err(findings) }
}

/// Every name that a row of kind `test` may use, one a line.
#[expect(clippy::unnecessary_wraps, reason = "the same shape as a check")]
pub fn list(repository: &Repository) -> Result<String, Vec<String>> {
    let mut tests = all_tests(repository);
    tests.sort();
    Ok(tests.join("\n"))
}

/// Reads a table row whose first cell looks like a row id; other lines are prose.
fn parse(line: &str) -> Option<Result<Row<'_>, String>> {
    let cells: Vec<&str> = line.strip_prefix('|')?.trim_end().strip_suffix('|')?.split('|').map(str::trim).collect();
    let id = cells[0];
    part_of(id).and_then(|_| id[1..].parse::<usize>().ok())?;
    let [_, _, kind, proof] = cells[..] else {
        return Some(Err(format!("{id} has {} cells, expected `| id | rule | kind | proof |`", cells.len())));
    };
    let kind = match kind {
        "test" => Kind::Test,
        "gate" => Kind::Gate,
        "not applicable" => Kind::NotApplicable,
        other => {
            return Some(Err(format!("{id} has the kind `{other}`, expected test, gate or not applicable")));
        }
    };
    Some(Ok(Row { id, kind, proof }))
}

fn part_of(id: &str) -> Option<&(char, usize)> {
    PARTS.iter().find(|(letter, _)| id.starts_with(*letter))
}

/// Rows that are missing, repeated or out of range.
fn wrong_ids(rows: &[Row]) -> Vec<String> {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        *seen.entry(row.id).or_default() += 1;
    }
    let mut findings = Vec::new();
    for (letter, count) in PARTS {
        for number in 1..=*count {
            match seen.remove(format!("{letter}{number}").as_str()) {
                Some(1) => {}
                Some(times) => findings.push(format!("{letter}{number} appears {times} times, expected once")),
                None => findings.push(format!("{letter}{number} is missing from {DOCUMENT}")),
            }
        }
    }
    findings.extend(seen.keys().map(|id| format!("{id} is not a row of the specification")));
    findings
}

/// Every test of the workspace as `package::path`.
fn all_tests(repository: &Repository) -> Vec<String> {
    let of_package = |package| {
        let tests = sources::tests_of(repository, package);
        tests.into_iter().map(move |test| format!("{}::{test}", package.name))
    };
    repository.packages.iter().flat_map(of_package).collect()
}

fn faults(repository: &Repository, tests: &[String], row: &Row) -> Vec<String> {
    match row.kind {
        Kind::Test => each_reference(row.proof, |reference| missing_test(repository, tests, reference)),
        Kind::Gate => each_reference(row.proof, |command| missing_gate(repository, command)),
        Kind::NotApplicable => reason_fault(row.proof).into_iter().collect(),
    }
}

/// Applies `check` to everything in backticks, of which there must be something.
fn each_reference(proof: &str, check: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let references: Vec<&str> = proof.split('`').skip(1).step_by(2).collect();
    if references.is_empty() || proof.matches('`').count() % 2 == 1 {
        return vec![format!("has no proof in a pair of backticks: {proof:?}")];
    }
    references.into_iter().filter_map(check).collect()
}

fn missing_test(repository: &Repository, tests: &[String], reference: &str) -> Option<String> {
    if let Some(doctest) = reference.strip_prefix("doctest ") {
        return missing_doctest(repository, doctest);
    }
    if tests.iter().any(|test| test == reference) {
        return None;
    }
    let name = reference.rsplit("::").next().unwrap_or(reference);
    let same_name = tests.iter().filter(|test| test.rsplit("::").next() == Some(name));
    let same_name: Vec<&str> = same_name.map(String::as_str).collect();
    let hint = if same_name.is_empty() { String::new() } else { format!("; there is {}", same_name.join(", ")) };
    Some(format!("no test `{reference}`{hint}"))
}

/// A doctest is named by its package and file; what it proves is that code does not compile.
fn missing_doctest(repository: &Repository, doctest: &str) -> Option<String> {
    let wrong = |why: &str| Some(format!("`doctest {doctest}`: {why}"));
    let Some((name, path)) = doctest.split_once(' ') else {
        return wrong("expected `doctest package path/to/file.rs`");
    };
    let Some(package) = repository.packages.iter().find(|package| package.name == name) else {
        return wrong("no such package");
    };
    match repository.texts.get(path) {
        Some(_) if !path.starts_with(&format!("{}/", package.directory)) => wrong("the file is in another package"),
        Some(text) if text.contains("```compile_fail") => None,
        Some(_) => wrong("the file has no `compile_fail` example"),
        None => wrong("no such file"),
    }
}

fn missing_gate(repository: &Repository, command: &str) -> Option<String> {
    let script = repository.texts.get(GATES).map_or("", String::as_str);
    let runs = script.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(command));
    (!runs).then(|| format!("{GATES} does not run `{command}`"))
}

fn reason_fault(proof: &str) -> Option<String> {
    let words = proof.split_whitespace().count();
    (words < REASON_WORDS_MIN).then(|| format!("gives no reason: {proof:?}"))
}

fn summary(rows: &[Row]) -> String {
    let mut parts = Vec::new();
    for (letter, count) in PARTS {
        let of_kind = |kind| rows.iter().filter(|row| row.id.starts_with(*letter) && row.kind == kind).count();
        let counts = [(Kind::Test, "test"), (Kind::Gate, "gate"), (Kind::NotApplicable, "not applicable")];
        let counts = counts.iter().map(|(kind, name)| (of_kind(*kind), name)).filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, name)| format!("{count} {name}")).collect();
        parts.push(format!("{letter} {count} ({})", counts.join(", ")));
    }
    format!("conformance: {} rows, all accounted for: {}", rows.len(), parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::{Package, Target};

    const LIB: &str = "//! X.\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn holds() {}\n}\n";
    const LEASE: &str = "//! Lease.\n/// ```compile_fail\n/// x\n/// ```\npub struct Lease;\n";

    /// A complete document in which the given lines replace the rows of their id.
    fn document(replaced: &[&str]) -> String {
        let mut text = String::from("# Conformance\n\n| Row | Rule | Kind | Proof |\n|---|---|---|---|\n");
        for (letter, count) in PARTS {
            for number in 1..=*count {
                let line = format!("| {letter}{number} | r | not applicable | a reason of four words |");
                let start = format!("| {letter}{number} |");
                text.push_str(replaced.iter().find(|line| line.starts_with(&start)).copied().unwrap_or(&line));
                text.push('\n');
            }
        }
        text
    }

    fn check(text: &str) -> Result<String, Vec<String>> {
        let mut repository = Repository::of(&[
            (DOCUMENT, text),
            (GATES, "#!/bin/bash\n# cargo test -p commented\ncargo fmt --all --check\n"),
            ("crates/latent-x/src/lib.rs", LIB),
            ("crates/latent-x/src/lease.rs", LEASE),
        ]);
        repository.packages.push(Package {
            name: "latent-x".to_owned(),
            directory: "crates/latent-x".to_owned(),
            targets: vec![Target { name: "latent_x".to_owned(), source: "crates/latent-x/src/lib.rs".to_owned() }],
            ..Package::default()
        });
        run(&repository)
    }

    fn finding(line: &str) -> String {
        let findings = check(&document(&[line])).expect_err("the row is wrong");
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings[0].clone()
    }

    #[test]
    fn a_document_with_every_row_proven_is_counted() {
        let summary = check(&document(&[
            "| A1 | r | test | `latent-x::tests::holds`, `doctest latent-x crates/latent-x/src/lease.rs` |",
            "| A37 | r | gate | `cargo fmt --all --check` |",
        ]));
        assert_eq!(
            summary.expect("all rows are proven"),
            "conformance: 149 rows, all accounted for: A 37 (1 test, 1 gate, 35 not applicable); \
             B 73 (73 not applicable); C 39 (39 not applicable)"
        );
    }

    #[test]
    fn a_test_that_does_not_exist_is_found_and_its_namesake_named() {
        assert!(finding("| A1 | r | test | `latent-x::tests::fails` |").contains("no test `latent-x::tests::fails`"));
        let moved = finding("| A1 | r | test | `latent-x::pool::tests::holds` |");
        assert!(moved.ends_with("there is latent-x::tests::holds"), "{moved}");
    }

    #[test]
    fn one_missing_proof_among_several_is_found() {
        assert!(finding("| A1 | r | test | `latent-x::tests::holds`, `latent-x::gone` |").contains("latent-x::gone"));
    }

    #[test]
    fn a_doctest_reference_needs_its_package_file_and_example() {
        for (reference, why) in [
            ("doctest latent-x crates/latent-x/src/none.rs", "no such file"),
            ("doctest latent-x crates/latent-x/src/lib.rs", "no `compile_fail` example"),
            ("doctest latent-y crates/latent-x/src/lease.rs", "no such package"),
            ("doctest crates/latent-x/src/lease.rs", "expected `doctest package"),
        ] {
            let found = finding(&format!("| A15 | r | test | `{reference}` |"));
            assert!(found.contains(why), "{found}");
        }
    }

    #[test]
    fn a_gate_that_no_line_runs_is_found_even_if_a_comment_names_it() {
        assert!(finding("| A37 | r | gate | `cargo test -p commented` |").contains("does not run"));
    }

    #[test]
    fn a_row_without_proof_or_reason_is_found() {
        assert!(finding("| C1 | r | test | somewhere |").contains("no proof"));
        assert!(finding("| C1 | r | test | `latent-x::tests::holds |").contains("no proof"));
        assert!(finding("| C39 | r | not applicable | history |").contains("gives no reason"));
    }

    #[test]
    fn no_row_may_wait() {
        let findings = check(&document(&["| C1 | r | later | comes with something else |"])).expect_err("no row waits");
        assert!(findings[0].contains("has the kind `later`"), "{findings:?}");
    }

    #[test]
    fn missing_repeated_and_unknown_rows_are_found() {
        let text = document(&[]).replace("| B7 | r", "| B8 | r").replace("| C39 | r", "| C40 | r");
        let findings = check(&text).expect_err("four ids are wrong");
        assert_eq!(
            findings,
            [
                "B7 is missing from docs/conformance.md",
                "B8 appears 2 times, expected once",
                "C39 is missing from docs/conformance.md",
                "C40 is not a row of the specification",
            ]
        );
    }

    #[test]
    fn a_malformed_row_is_found_with_its_line() {
        let findings = check(&document(&["| A1 | r | proven | x |"])).expect_err("the kind is unknown");
        assert!(findings[0].starts_with("docs/conformance.md:5: A1 has the kind `proven`"), "{findings:?}");
        let findings = check(&document(&["| A1 | test | `x` |"])).expect_err("a cell is missing");
        assert!(findings[0].contains("A1 has 3 cells"), "{findings:?}");
    }
}
