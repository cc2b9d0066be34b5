//! Links between documents, and the index of decision records.
//!
//! Invariant: only links inside the repository are judged; nothing here opens a connection.

use std::path::Path;

use crate::repository::Repository;

const RECORDS: &str = "docs/adr/";

/// Relative links whose file, directory or heading does not exist.
pub fn relative_links_resolve(repository: &Repository) -> Vec<String> {
    let mut findings = Vec::new();
    for (path, text) in repository.texts_ending(".md") {
        for (line, target) in targets(text) {
            if let Some(wrong) = fault(repository, path, target) {
                findings.push(format!("{path}:{line}: the link `{target}` {wrong}"));
            }
        }
    }
    findings
}

/// Decision records that the index does not link, and index entries' numbers used twice.
pub fn decision_records_are_listed(repository: &Repository) -> Vec<String> {
    let index = format!("{RECORDS}README.md");
    let listed = repository.texts.get(&index).map(|text| targets(text)).unwrap_or_default();
    let mut findings = Vec::new();
    let mut numbers = Vec::new();
    for (path, _) in repository.texts_ending(".md") {
        let Some(name) = path.strip_prefix(RECORDS).filter(|name| *name != "README.md") else { continue };
        if !listed.iter().any(|(_, target)| *target == name) {
            findings.push(format!("{path} is not linked from {index}"));
        }
        let number = name.split('-').next().unwrap_or_default();
        if number.len() != 4 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            findings.push(format!("{path} does not start with a four-digit number and a dash"));
        } else if numbers.contains(&number) {
            findings.push(format!("{path} uses the number {number} a second time"));
        }
        numbers.push(number);
    }
    findings
}

/// What is wrong with a link from `path`, if anything is.
fn fault(repository: &Repository, path: &str, target: &str) -> Option<&'static str> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let resolved = if file.is_empty() { path.to_owned() } else { resolve(path, file) };
    if !resolved.is_empty() && !repository.paths.contains(&resolved) {
        return Some("names a path that does not exist");
    }
    match (heading, repository.texts.get(&resolved)) {
        (Some(heading), Some(text)) if is_document(&resolved) && !has_heading(text, heading) => {
            Some("names a heading that does not exist")
        }
        _ => None,
    }
}

/// The path that `link` means in the document `from`; a link above the root resolves to a path that never exists.
fn resolve(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_none_or(|last| *last == "..") => parts.push(".."),
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The targets of inline links and of reference definitions, with their line numbers, outside code.
fn targets(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            found.extend(line_targets(line).into_iter().map(|target| (index + 1, target)));
        }
    }
    found
}

fn line_targets(line: &str) -> Vec<&str> {
    let definition = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.trim());
    let mut found: Vec<&str> = definition.into_iter().collect();
    let mut code = false;
    for (index, character) in line.char_indices() {
        if character == '`' {
            code = !code;
        }
        if let Some(rest) = line[index..].strip_prefix("](").filter(|_| !code) {
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            found.push(target);
        }
    }
    found
}

fn is_document(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md")
}

fn has_heading(text: &str, anchor: &str) -> bool {
    text.lines().filter(|line| line.starts_with('#')).any(|line| slug(line.trim_start_matches('#').trim()) == anchor)
}

/// The anchor that renderers make from a heading.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(document: &str) -> Vec<String> {
        relative_links_resolve(&Repository::of(&[
            ("docs/a.md", document),
            ("docs/adr/b.md", "# One `thing`, two\n"),
            ("README.md", ""),
        ]))
    }

    #[test]
    fn links_to_files_directories_headings_and_the_web_pass() {
        let good = "[b](adr/b.md) [d](adr) [d](adr/) [up](../README.md) [h](adr/b.md#one-thing-two) [here](#top)\n# Top\n\
                    [w](https://example.org/x) ![i](../README.md \"title\")\n[r]: adr/b.md\n";
        assert_eq!(findings(good), Vec::<String>::new());
    }

    #[test]
    fn a_link_to_nothing_is_found_with_its_line() {
        assert!(findings("\n[b](adr/c.md)")[0].starts_with("docs/a.md:2: the link `adr/c.md` names a path"));
        assert!(findings("[r]: ../docs/none.md\n")[0].contains("names a path"));
        assert!(findings("[up](../../README.md)")[0].contains("names a path"));
    }

    #[test]
    fn a_link_to_a_missing_heading_is_found() {
        assert!(findings("[b](adr/b.md#three)")[0].contains("names a heading"));
    }

    #[test]
    fn links_inside_code_are_not_links() {
        assert_eq!(findings("`[b](none.md)`\n```\n[b](none.md)\n```\n"), Vec::<String>::new());
    }

    #[test]
    fn a_record_that_the_index_forgets_is_found() {
        let repository = Repository::of(&[
            ("docs/adr/README.md", "[1](0001-a.md)\n"),
            ("docs/adr/0001-a.md", ""),
            ("docs/adr/0002-b.md", ""),
        ]);
        assert_eq!(
            decision_records_are_listed(&repository),
            ["docs/adr/0002-b.md is not linked from docs/adr/README.md"]
        );
    }

    #[test]
    fn a_record_number_is_four_digits_and_used_once() {
        let index = "[1](0001-a.md) [2](0001-b.md) [3](draft.md)\n";
        let repository = Repository::of(&[
            ("docs/adr/README.md", index),
            ("docs/adr/0001-a.md", ""),
            ("docs/adr/0001-b.md", ""),
            ("docs/adr/draft.md", ""),
        ]);
        let findings = decision_records_are_listed(&repository);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].contains("a second time") && findings[1].contains("four-digit"));
    }
}
