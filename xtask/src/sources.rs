//! The tests of a package, found by following `mod` declarations from its target roots.
//!
//! Invariant: a test is listed only under the path that `cargo test` would print, so an orphaned file, a name in a
//! comment and an ignored test prove nothing. Relies on rustfmt's layout: one item a line, closing braces aligned.

use crate::repository::{Package, Repository};

/// Where modules declared in a source file lie, and under which path its tests are known.
struct Source {
    file: String,
    /// The directory in which the file's child modules lie.
    children: String,
    path: Vec<String>,
}

/// Full paths of the package's tests: `module::tests::name` for the library and the main binary, and
/// `target::module::name` for every other target.
pub fn tests_of(repository: &Repository, package: &Package) -> Vec<String> {
    let mut pending: Vec<Source> = package.targets.iter().map(root_of).collect();
    let mut found = Vec::new();
    while let Some(source) = pending.pop() {
        let Some(text) = repository.texts.get(&source.file) else { continue };
        Scan { repository, source: &source, found: &mut found, pending: &mut pending }.run(text);
    }
    found
}

fn root_of(target: &crate::repository::Target) -> Source {
    let (directory, name) = target.source.rsplit_once('/').unwrap_or(("", &target.source));
    let is_main = directory.ends_with("src") && matches!(name, "lib.rs" | "main.rs");
    let path = if is_main { Vec::new() } else { vec![target.name.replace('-', "_")] };
    Source { file: target.source.clone(), children: directory.to_owned(), path }
}

struct Scan<'a> {
    repository: &'a Repository,
    source: &'a Source,
    found: &'a mut Vec<String>,
    pending: &'a mut Vec<Source>,
}

impl Scan<'_> {
    fn run(&mut self, text: &str) {
        let mut inline: Vec<(usize, &str)> = Vec::new();
        let (mut is_test, mut is_ignored) = (false, false);
        for line in text.lines() {
            let code = line.trim_start();
            let indent = line.len() - code.len();
            if code.starts_with("//") {
                continue;
            }
            if code == "}" && inline.last().is_some_and(|(at, _)| *at == indent) {
                inline.pop();
            }
            is_test |= code.starts_with("#[test]") || code.starts_with("#[tokio::test");
            is_ignored |= code.starts_with("#[ignore");
            if let Some(module) = item_name(code, "mod ") {
                if code.ends_with('{') {
                    inline.push((indent, module));
                } else {
                    self.follow(&inline, module);
                }
            } else if let Some(function) = item_name(code, "fn ") {
                if is_test && !is_ignored {
                    self.found.push(self.path(&inline, function).join("::"));
                }
                (is_test, is_ignored) = (false, false);
            }
        }
    }

    fn path(&self, inline: &[(usize, &str)], last: &str) -> Vec<String> {
        let inline = inline.iter().map(|(_, name)| (*name).to_owned());
        self.source.path.iter().cloned().chain(inline).chain([last.to_owned()]).collect()
    }

    /// Queues the file of `mod module;`.
    fn follow(&mut self, inline: &[(usize, &str)], module: &str) {
        let mut directory = self.source.children.clone();
        for name in inline.iter().map(|(_, name)| *name).chain([module]) {
            directory = if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
        }
        let file = format!("{directory}.rs");
        if self.repository.texts.contains_key(&file) {
            self.pending.push(Source { file, children: directory, path: self.path(inline, module) });
        }
    }
}

/// The name after `keyword`, when the line declares such an item.
fn item_name<'a>(code: &'a str, keyword: &str) -> Option<&'a str> {
    let mut rest = code;
    while let Some(after) = ["pub(crate) ", "pub(super) ", "pub ", "async ", "unsafe "]
        .iter()
        .find_map(|modifier| rest.strip_prefix(modifier))
    {
        rest = after;
    }
    let name = rest.strip_prefix(keyword)?;
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    (end > 0).then_some(&name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Target;

    fn tests(files: &[(&str, &str)]) -> Vec<String> {
        let target = |name: &str, source: &str| Target { name: name.to_owned(), source: source.to_owned() };
        let package = Package {
            targets: vec![target("latent_x", "x/src/lib.rs"), target("it", "x/tests/it/main.rs")],
            ..Package::default()
        };
        let mut found = tests_of(&Repository::of(files), &package);
        found.sort();
        found
    }

    #[test]
    fn tests_are_found_under_the_path_that_cargo_prints() {
        let found = tests(&[
            ("x/src/lib.rs", "//! X.\npub mod cells;\n"),
            ("x/src/cells.rs", "mod core;\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() {\n    }\n}\n"),
            (
                "x/src/cells/core.rs",
                "#[cfg(test)]\nmod tests {\n    mod deep {\n        #[test]\n        fn b() {}\n    }\n}\n",
            ),
            ("x/tests/it/main.rs", "mod lease;\n"),
            ("x/tests/it/lease.rs", "#[tokio::test(\n    start_paused = true\n)]\nasync fn c() {}\n"),
        ]);
        assert_eq!(found, ["cells::core::tests::deep::b", "cells::tests::a", "it::lease::c"]);
    }

    #[test]
    fn property_tests_are_found_inside_their_macro() {
        let text =
            "proptest! {\n    #![proptest_config(x)]\n    #[test]\n    fn p(\n        a in 0..1,\n    ) {\n    }\n}\n";
        assert_eq!(tests(&[("x/src/lib.rs", text)]), ["p"]);
    }

    #[test]
    fn what_would_not_run_is_not_found() {
        let lib = "// #[test]\nfn plain() {}\n#[test]\n#[ignore = \"slow\"]\nfn ignored() {}\nfn after() {}\n";
        let orphan = "#[test]\nfn orphan() {}\n";
        assert_eq!(tests(&[("x/src/lib.rs", lib), ("x/src/orphan.rs", orphan)]), Vec::<String>::new());
    }
}
