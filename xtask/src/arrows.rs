//! Which package may depend on which, and which may name the heavy foreign ones.
//!
//! Invariant: what the tables do not list is forbidden; a package without a row is a finding.

use crate::repository::{Package, Repository};

/// The fixture components. Any package may use them in its tests; the bench crate also links them.
const GUESTS: &str = "latent-guests";

/// A package, and the packages of ours that it may depend on besides [`CORE`].
struct Row {
    package: &'static str,
    may_use: Reach,
}

enum Reach {
    /// Not even the core.
    Nothing,
    /// The core and these.
    These(&'static [&'static str]),
    /// Every package of ours.
    Everything,
}

/// The package that every other may use.
const CORE: &str = "latent-core";

const ROWS: &[Row] = &[
    Row { package: CORE, may_use: Reach::Nothing },
    Row { package: "latent-activation", may_use: Reach::These(&[]) },
    Row { package: "latent-scheduler", may_use: Reach::These(&[]) },
    Row { package: "latent-catalog", may_use: Reach::These(&[]) },
    Row { package: "latent-executor", may_use: Reach::These(&[]) },
    Row { package: "latent-storage", may_use: Reach::These(&["latent-executor", "latent-catalog"]) },
    Row { package: "latent-wasmtime", may_use: Reach::These(&["latent-executor"]) },
    Row {
        package: "latent-node",
        may_use: Reach::These(&["latent-activation", "latent-scheduler", "latent-catalog", "latent-executor"]),
    },
    Row { package: "latent-wire", may_use: Reach::These(&["latent-node", "latent-activation", "latent-catalog"]) },
    Row {
        package: "latent-http",
        may_use: Reach::These(&[
            "latent-node",
            "latent-executor",
            "latent-wire",
            "latent-activation",
            "latent-catalog",
        ]),
    },
    Row { package: "latent", may_use: Reach::Everything },
    Row { package: "latent-bench", may_use: Reach::Everything },
    Row { package: GUESTS, may_use: Reach::Nothing },
    Row { package: "xtask", may_use: Reach::Nothing },
];

/// A package, and those that only its tests may use besides: to put a node together without an engine.
const IN_TESTS: &[(&str, &[&str])] =
    &[("latent-wire", &["latent-executor", "latent-scheduler"]), ("latent-http", &["latent-scheduler"])];

/// A foreign family of packages, and the only ones of ours that may name it.
struct Fence {
    /// A package is in the family when its name starts with this.
    prefix: &'static str,
    inside: &'static [&'static str],
}

const FENCES: &[Fence] = &[
    Fence { prefix: "wasmtime", inside: &["latent-wasmtime", "latent-bench"] },
    Fence { prefix: "tonic", inside: &["latent-wire", "latent-http", "latent-bench"] },
    Fence { prefix: "axum", inside: &["latent-wire", "latent-http", "latent-bench"] },
    Fence { prefix: "hyper", inside: &["latent-wire", "latent-http", "latent-bench"] },
];

/// Dependencies between our packages that the table does not allow.
pub fn allowed_arrows(repository: &Repository) -> Vec<String> {
    let ours: Vec<&str> = repository.packages.iter().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in &repository.packages {
        let Some(row) = ROWS.iter().find(|row| row.package == package.name) else {
            findings.push(format!("{} has no row in the table of xtask/src/arrows.rs; add one", package.name));
            continue;
        };
        let forbidden = package.dependencies.iter().filter(|dependency| ours.contains(&dependency.name.as_str()));
        for dependency in forbidden.filter(|d| !may_use(row, &d.name, d.dev)) {
            let kind = if dependency.dev { "dev-depends" } else { "depends" };
            findings.push(format!(
                "{} {kind} on {}, which ARCHITECTURE.md does not allow; move the code, or change table and document",
                package.name, dependency.name
            ));
        }
    }
    findings
}

/// Packages that name a fenced family from outside the fence.
pub fn fences(repository: &Repository) -> Vec<String> {
    repository.packages.iter().flat_map(|package| FENCES.iter().flat_map(|fence| crossings(package, fence))).collect()
}

fn may_use(row: &Row, dependency: &str, dev: bool) -> bool {
    if dependency == GUESTS {
        return dev || row.package == "latent-bench";
    }
    if dev && IN_TESTS.iter().any(|(package, names)| *package == row.package && names.contains(&dependency)) {
        return true;
    }
    match row.may_use {
        Reach::Nothing => false,
        Reach::These(names) => dependency == CORE || names.contains(&dependency),
        Reach::Everything => true,
    }
}

fn crossings(package: &Package, fence: &Fence) -> Vec<String> {
    if fence.inside.contains(&package.name.as_str()) {
        return Vec::new();
    }
    let named = package.dependencies.iter().filter(|dependency| dependency.name.starts_with(fence.prefix));
    named
        .map(|dependency| {
            let (name, inside) = (&package.name, fence.inside.join(", "));
            format!("{name} names {}; only {inside} may: use their ports instead", dependency.name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::Dependency;

    fn repository(packages: &[(&str, &[(&str, bool)])]) -> Repository {
        let packages = packages.iter().map(|(name, dependencies)| Package {
            name: (*name).to_owned(),
            dependencies: dependencies
                .iter()
                .map(|(name, dev)| Dependency { name: (*name).to_owned(), dev: *dev })
                .collect(),
            ..Package::default()
        });
        Repository { packages: packages.collect(), ..Repository::default() }
    }

    #[test]
    fn listed_arrows_and_foreign_packages_pass() {
        let repository = repository(&[
            ("latent-core", &[("bytes", false)]),
            ("latent-scheduler", &[("latent-core", false), ("tokio", false)]),
            ("latent-executor", &[("latent-core", false)]),
            ("latent-wasmtime", &[("latent-executor", false), ("wasmtime", false), ("latent-guests", true)]),
            ("latent", &[("latent-wasmtime", false)]),
            ("latent-guests", &[("wat", false)]),
        ]);
        assert_eq!(allowed_arrows(&repository), Vec::<String>::new());
        assert_eq!(fences(&repository), Vec::<String>::new());
    }

    #[test]
    fn an_arrow_against_the_table_is_found_even_from_tests() {
        let repository = repository(&[
            ("latent-core", &[("latent-activation", false)]),
            ("latent-activation", &[("latent-scheduler", true)]),
            ("latent-scheduler", &[]),
        ]);
        let findings = allowed_arrows(&repository);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("latent-core depends on latent-activation"));
        assert!(findings[1].starts_with("latent-activation dev-depends on latent-scheduler"));
    }

    #[test]
    fn what_only_tests_may_use_is_found_in_shipped_code() {
        let with = |dev| repository(&[("latent-wire", &[("latent-executor", dev)]), ("latent-executor", &[])]);
        assert_eq!(allowed_arrows(&with(true)), Vec::<String>::new());
        let findings = allowed_arrows(&with(false));
        assert!(findings.len() == 1 && findings[0].starts_with("latent-wire depends on"), "{findings:?}");
    }

    #[test]
    fn shipped_code_may_not_link_the_fixtures() {
        let repository = repository(&[
            ("latent-guests", &[]),
            ("latent", &[("latent-guests", false)]),
            ("latent-bench", &[("latent-guests", false)]),
            ("latent-core", &[("latent-guests", true)]),
        ]);
        let findings = allowed_arrows(&repository);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("latent depends on latent-guests"));
    }

    #[test]
    fn a_package_without_a_row_is_found() {
        let findings = allowed_arrows(&repository(&[("latent-extras", &[])]));
        assert!(findings[0].starts_with("latent-extras has no row"), "{findings:?}");
    }

    #[test]
    fn a_fenced_package_named_from_outside_is_found() {
        let repository = repository(&[
            ("latent-node", &[("wasmtime-wasi", true), ("hyper-util", false)]),
            ("latent-bench", &[("wasmtime", false), ("tonic", false)]),
        ]);
        let findings = fences(&repository);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings.iter().all(|finding| finding.starts_with("latent-node names ")));
    }
}
