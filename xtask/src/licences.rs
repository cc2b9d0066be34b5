//! Whether every package that the lock file names has a licence that `deny.toml` accepts, and comes from the registry.
//!
//! What `cargo deny` would say of licences and sources, without a program to install or a database to fetch. Advisories
//! need that database; CONTRIBUTING says how to look at them.

use std::path::Path;

use serde_json::Value;
use spdx::{Expression, ParseMode};

use crate::repository::{cargo, root};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A package, as `cargo metadata` tells of it.
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// `None` for a package of the workspace.
    source: Option<String>,
}

/// Checks all packages of the lock file, and says how many there are.
pub fn run() -> Result<String, String> {
    let accepted = accepted(&root().join("deny.toml"))?;
    let packages = packages()?;
    let findings: Vec<String> = packages.iter().filter_map(|package| finding(package, &accepted)).collect();
    if findings.is_empty() {
        return Ok(format!("licences: {} packages, all accepted by deny.toml", packages.len()));
    }
    Err(findings.join("\n"))
}

fn finding(package: &Package, accepted: &[String]) -> Option<String> {
    let Package { name, version, licence, source } = package;
    if source.as_deref().is_some_and(|source| source != REGISTRY) {
        return Some(format!("{name} {version} does not come from crates.io; use a published version"));
    }
    let Some(licence) = licence else {
        return Some(format!("{name} {version} names no licence; look for another package"));
    };
    let parsed = Expression::parse_mode(licence, ParseMode::LAX);
    let Ok(expression) = parsed else {
        return Some(format!("{name} {version} has a licence that is no SPDX expression: {licence}"));
    };
    let allowed = |requirement: &spdx::LicenseReq| accepted.contains(&requirement.to_string());
    if expression.evaluate(allowed) {
        return None;
    }
    Some(format!("{name} {version} has the licence {licence}, which deny.toml does not accept; use another package"))
}

/// The list `allow` of `deny.toml`.
fn accepted(file: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    let list = text.split_once("[licenses]").and_then(|(_, rest)| rest.split_once("allow = [")?.1.split_once(']'));
    let (list, _) = list.ok_or("deny.toml has no list `allow` under [licenses]")?;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

fn packages() -> Result<Vec<Package>, String> {
    let output = cargo()
        .args(["metadata", "--locked", "--format-version", "1", "--all-features"])
        .output()
        .map_err(|error| format!("cannot start cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let metadata: Value =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata is not JSON: {error}"))?;
    let list = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    let text = |package: &Value, key: &str| package[key].as_str().map(str::to_owned);
    let package = |package: &Value| Package {
        name: text(package, "name").unwrap_or_default(),
        version: text(package, "version").unwrap_or_default(),
        licence: text(package, "license"),
        source: text(package, "source"),
    };
    Ok(list.iter().map(package).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(licence: &str, source: Option<&str>) -> Package {
        Package {
            name: "a".to_owned(),
            version: "1.0.0".to_owned(),
            licence: (!licence.is_empty()).then(|| licence.to_owned()),
            source: source.map(str::to_owned),
        }
    }

    #[test]
    fn a_choice_needs_one_accepted_licence_and_a_conjunction_all() {
        let accepted = ["MIT".to_owned(), "Apache-2.0".to_owned(), "Apache-2.0 WITH LLVM-exception".to_owned()];
        let fine = |licence| finding(&package(licence, Some(REGISTRY)), &accepted).is_none();
        for licence in ["MIT", "MIT OR GPL-3.0-only", "MIT/Apache-2.0", "Apache-2.0 WITH LLVM-exception OR GPL-2.0"] {
            assert!(fine(licence), "{licence}");
        }
        for licence in ["", "GPL-3.0-only", "MIT AND GPL-3.0-only", "no licence at all", "GPL-2.0 WITH LLVM-exception"]
        {
            assert!(!fine(licence), "{licence}");
        }
    }

    #[test]
    fn a_package_from_elsewhere_is_found_and_one_of_ours_is_not() {
        let accepted = ["MIT".to_owned()];
        assert!(finding(&package("MIT", None), &accepted).is_none());
        let found = finding(&package("MIT", Some("git+https://example.org/a")), &accepted);
        assert!(found.is_some_and(|found| found.contains("crates.io")));
    }

    #[test]
    fn the_list_of_the_repository_is_read() {
        let accepted = accepted(&root().join("deny.toml")).expect("the file is in the repository");
        assert!(accepted.iter().any(|licence| licence == "MIT"), "{accepted:?}");
    }
}
