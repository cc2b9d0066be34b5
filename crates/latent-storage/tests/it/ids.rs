//! Ids that look like paths or like one another: refused, or kept distinct, on the disk too.

use std::collections::BTreeSet;

use latent_catalog::{Delete, DeploymentManifest};
use latent_core::{DeploymentId, ServiceName, TenantId};
use latent_storage::Storage;

use crate::support::{component, digest, held_by, manifest, options};

/// Ids that are allowed, each of which some file system, normal form or comparison takes for another.
fn odd() -> Vec<String> {
    let longest = "x".repeat(256);
    let names = [
        "..",
        ".",
        "../../etc/passwd",
        "/etc/passwd",
        "a/b",
        "a//b",
        "a\\b",
        "C:",
        "con",
        "CON",
        "nul.txt",
        "a",
        "A",
        "a.",
        "a..",
        "caf\u{e9}",
        "cafe\u{301}",
        "\u{fb01}",
        "fi",
        "\u{130}",
        "i",
        "ß",
        "ss",
        "-rf",
        "~",
        "$HOME",
        "%2e%2e",
        "*",
        "sha256:0",
        "components",
        "format",
        "é",
        "\u{1F469}",
        "ａ",
    ];
    names.iter().map(|name| (*name).to_owned()).chain([longest]).collect()
}

#[test]
fn ids_that_are_no_ids_are_refused_before_they_get_here() {
    for id in ["", "a\0b", "a\nb", "a b", "\u{202e}evil", "a\u{200b}b", &"x".repeat(257), &"x".repeat(1 << 20)] {
        assert!(TenantId::new(id).is_err(), "{id:?}");
    }
}

#[test]
fn no_two_ids_alias_and_none_becomes_a_path() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let directory = place.path().join("data");
    let storage = Storage::open(&directory, options()).expect("a directory is made");
    let tenants: Vec<_> = odd().into_iter().map(|id| TenantId::new(id).expect("it is an id")).collect();
    for (number, tenant) in tenants.iter().enumerate() {
        // Every third one has the same component.
        let name = (number % 3).to_string();
        assert!(storage.publish(tenant, b"{}", &component(&name)).expect("it is published").created, "{tenant}");
        storage.set_quota(tenant, Some(100_000 + number as u64)).expect("a quota is set");
        let deployment = DeploymentManifest {
            tenant: tenant.clone(),
            service: ServiceName::new(tenant.as_str()).expect("it is an id"),
            deployment: DeploymentId::new(tenant.as_str()).expect("it is an id"),
            ..manifest("any", "any", &name)
        };
        let applied = storage.apply(deployment, Some(0)).expect("no other has this name");
        assert!(applied.replaced.is_none(), "{tenant}");
    }
    let written = held_by(&storage, &tenants);
    assert_eq!(written.releases.len(), tenants.len());
    assert_eq!(written.deployments.len(), tenants.len());
    assert_eq!(written.quotas.values().collect::<BTreeSet<_>>().len(), tenants.len());
    drop(storage);

    let storage = Storage::open(&directory, options()).expect("it opens again");
    assert_eq!(held_by(&storage, &tenants), written);
    let mut files = BTreeSet::new();
    for part in [".", "data", "data/components", "data/staged"] {
        for entry in std::fs::read_dir(place.path().join(part)).expect("it is listed") {
            files.insert(entry.expect("it is listed").file_name().into_string().expect("our names are ASCII"));
        }
    }
    let mut ours: BTreeSet<_> =
        ["data", "database.redb", "components", "format", "latest", "lock", "staged"].map(str::to_owned).into();
    ours.extend(["0", "1", "2"].map(|name| digest(name).to_string()));
    assert_eq!(files, ours);
}

#[test]
fn ids_whose_texts_join_to_the_same_are_distinct() {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let storage = Storage::open(place.path(), options()).expect("it opens");
    let ids = [("ab", "c", "d"), ("a", "bc", "d"), ("a", "b", "cd"), ("abc", "d", "e"), ("a", "bcd", "e")];
    let named = |(tenant, service, deployment): (&str, &str, &str)| DeploymentManifest {
        tenant: TenantId::new(tenant).expect("it is an id"),
        service: ServiceName::new(service).expect("it is an id"),
        deployment: DeploymentId::new(deployment).expect("it is an id"),
        ..manifest("any", "any", "one")
    };
    for id in ids {
        let wanted = named(id);
        storage.publish(&wanted.tenant, b"{}", &component("one")).expect("it is published");
        storage.apply(wanted, Some(0)).expect("no other has this name");
    }
    let DeploymentManifest { tenant, service, deployment, .. } = named(ids[0]);
    storage.delete(&Delete { tenant, service, deployment, expected_generation: Some(1) }).expect("it is deleted");
    drop(storage);
    let storage = Storage::open(place.path(), options()).expect("it opens again");
    assert_eq!(storage.view().len(), ids.len() - 1);
}
