//! The repository as the checks see it: every path, the text of what they read, and the packages.
//!
//! Invariant: a check is a pure function of this value, so its tests build one from literals.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Directories that hold no source of ours.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", ".venv", "__pycache__", "proptest-regressions"];

/// All that the checks look at. Paths are relative to the root, with `/`.
#[derive(Debug, Default)]
pub struct Repository {
    /// Every file and directory.
    pub paths: BTreeSet<String>,
    /// The text of `.rs` and `.md` files and of `.ci/run`.
    pub texts: BTreeMap<String, String>,
    /// The workspace's packages.
    pub packages: Vec<Package>,
}

/// A workspace member, as `cargo metadata` describes it.
#[derive(Debug, Default)]
pub struct Package {
    pub name: String,
    /// Its directory, relative to the root.
    pub directory: String,
    pub dependencies: Vec<Dependency>,
    pub targets: Vec<Target>,
}

/// One direct dependency of a package.
#[derive(Debug)]
pub struct Dependency {
    pub name: String,
    /// Whether only the package's tests and benches see it.
    pub dev: bool,
}

/// One target of a package.
#[derive(Debug)]
pub struct Target {
    pub name: String,
    /// The root source file, relative to the repository.
    pub source: String,
}

/// The repository's root directory.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies one directory below the root")
}

/// A cargo at the root of the repository, as one that is started by hand. What the cargo that runs this program tells it
/// of its own package is taken away: build scripts of libraries look at it, and would run again at every turn.
pub fn cargo() -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root());
    let is_of_this = |name: &&str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    let names: Vec<_> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    for name in names.iter().map(String::as_str).filter(is_of_this) {
        command.env_remove(name);
    }
    command
}

impl Repository {
    /// Reads the checkout that this binary was built from.
    pub fn load() -> Result<Self, String> {
        let mut repository = Self { packages: packages(root())?, ..Self::default() };
        let mut pending = vec![root().to_path_buf()];
        while let Some(directory) = pending.pop() {
            repository.read_directory(root(), &directory, &mut pending)?;
        }
        Ok(repository)
    }

    /// The texts whose path ends in `suffix`.
    pub fn texts_ending(&self, suffix: &str) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().filter(move |(path, _)| path.ends_with(suffix)).map(|(p, t)| (p.as_str(), t.as_str()))
    }

    /// A repository of the given files, for the tests of checks.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let mut repository = Self::default();
        for (path, text) in files {
            for (end, _) in path.match_indices('/') {
                repository.paths.insert(path[..end].to_owned());
            }
            repository.paths.insert((*path).to_owned());
            repository.texts.insert((*path).to_owned(), (*text).to_owned());
        }
        repository
    }

    fn read_directory(&mut self, root: &Path, directory: &Path, pending: &mut Vec<PathBuf>) -> Result<(), String> {
        let unreadable = |error| format!("cannot read {}: {error}", directory.display());
        for entry in fs::read_dir(directory).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            if SKIPPED.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let path = entry.path();
            let relative = relative(root, &path)?;
            if entry.file_type().map_err(unreadable)?.is_dir() {
                pending.push(path);
            } else if relative == ".ci/run" || path.extension().is_some_and(|e| e == "rs" || e == "md") {
                let text = fs::read_to_string(&path).map_err(|error| format!("cannot read {relative}: {error}"))?;
                self.texts.insert(relative.clone(), text);
            }
            self.paths.insert(relative);
        }
        Ok(())
    }
}

fn relative(root: &Path, path: &Path) -> Result<String, String> {
    path.strip_prefix(root)
        .ok()
        .and_then(Path::to_str)
        .map(str::to_owned)
        .ok_or_else(|| format!("{} is not a UTF-8 path below {}", path.display(), root.display()))
}

fn packages(root: &Path) -> Result<Vec<Package>, String> {
    let output = cargo()
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    list(&metadata, "packages").iter().map(|package| parse_package(root, package)).collect()
}

fn parse_package(root: &Path, package: &Value) -> Result<Package, String> {
    let manifest = PathBuf::from(text(package, "manifest_path"));
    let directory = relative(root, manifest.parent().unwrap_or(root))?;
    let dependencies = list(package, "dependencies")
        .iter()
        .map(|dependency| Dependency {
            name: text(dependency, "name").to_owned(),
            dev: text(dependency, "kind") == "dev",
        })
        .collect();
    let targets = list(package, "targets")
        .iter()
        .map(|target| {
            let source = relative(root, Path::new(text(target, "src_path")))?;
            Ok(Target { name: text(target, "name").to_owned(), source })
        })
        .collect::<Result<_, String>>()?;
    Ok(Package { name: text(package, "name").to_owned(), directory, dependencies, targets })
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_loads_with_its_packages_and_texts() {
        let repository = Repository::load().expect("the checkout that the tests run in is readable");
        assert!(repository.packages.iter().any(|package| package.name == "xtask" && package.directory == "xtask"));
        assert!(repository.texts.contains_key("xtask/src/repository.rs"));
        assert!(repository.paths.contains("xtask/src") && !repository.paths.contains("target"));
    }

    #[test]
    fn a_package_keeps_dependency_kinds_and_target_roots() {
        let value = serde_json::json!({
            "name": "latent-node", "manifest_path": "/r/crates/latent-node/Cargo.toml",
            "dependencies": [{"name": "latent-core", "kind": null}, {"name": "latent-guests", "kind": "dev"}],
            "targets": [{"name": "it", "src_path": "/r/crates/latent-node/tests/it/main.rs"}],
        });
        let package = parse_package(Path::new("/r"), &value).expect("a well-formed package");
        assert_eq!(package.directory, "crates/latent-node");
        assert_eq!(package.dependencies.iter().map(|d| d.dev).collect::<Vec<_>>(), [false, true]);
        assert_eq!(package.targets[0].source, "crates/latent-node/tests/it/main.rs");
    }

    #[test]
    fn a_package_outside_the_root_is_an_error() {
        let value = serde_json::json!({"name": "x", "manifest_path": "/elsewhere/Cargo.toml"});
        assert!(parse_package(Path::new("/r"), &value).is_err());
    }
}
