//! Lists: their order, their bounds, and that paging ends while the catalog changes.

use latent_catalog::{Catalog, DeploymentManifest, PageBounds};
use latent_core::Environment;

use crate::support::{apply_of, delete_of, empty, manifest, plain, service, tenant};

fn sample() -> Catalog {
    let catalog = empty();
    for (tenant, service, id) in [
        ("acme", "text", "b"),
        ("acme", "text", "a"),
        ("acme", "mail", "z"),
        ("acme", "text", "c"),
        ("acme", "zoo", "a"),
        ("other", "text", "a"),
    ] {
        catalog.apply(apply_of(manifest(tenant, service, id), plain())).unwrap();
    }
    catalog
}

/// All pages of acme's deployments, as names.
fn pages(catalog: &Catalog, only: Option<&str>, bounds: PageBounds) -> Vec<Vec<String>> {
    let (view, only) = (catalog.view(), only.map(service));
    let (mut pages, mut after) = (Vec::new(), None);
    loop {
        let page = view.list(&tenant("acme"), only.as_ref(), after.as_ref(), bounds);
        pages.push(page.deployments.iter().map(|row| format!("{}/{}", row.service(), row.id())).collect());
        after = page.next;
        if after.is_none() {
            return pages;
        }
        assert!(pages.len() <= 10, "paging does not end: {pages:?}");
    }
}

fn rows(rows_max: usize) -> PageBounds {
    PageBounds { rows_max, ..PageBounds::default() }
}

#[test]
fn rows_are_the_tenants_own_ordered_by_service_and_id() {
    let all = ["mail/z", "text/a", "text/b", "text/c", "zoo/a"];
    assert_eq!(pages(&sample(), None, PageBounds::default()), [all]);
    assert_eq!(pages(&sample(), Some("text"), PageBounds::default()), [["text/a", "text/b", "text/c"]]);
    assert_eq!(pages(&sample(), Some("nothing"), PageBounds::default()), [Vec::<String>::new()]);
    assert!(sample().view().list(&tenant("nobody"), None, None, rows(1)).deployments.is_empty());
}

#[test]
fn pages_of_any_size_cover_every_row_once() {
    let all = pages(&sample(), None, PageBounds::default()).concat();
    for rows_max in (0..8).chain([usize::MAX]) {
        let pages = pages(&sample(), None, rows(rows_max));
        assert!(pages.iter().all(|page| page.len() <= rows_max.max(1)), "{pages:?}");
        assert_eq!(pages.concat(), all, "{rows_max} rows a page");
        assert_eq!(pages.len(), all.len().div_ceil(rows_max.max(1)), "no empty page at the end");
    }
}

#[test]
fn bytes_bound_a_page_but_for_its_first_row() {
    let catalog = sample();
    let large = "v".repeat(10_000);
    let environment = Environment::new([("LARGE".into(), large.into())]);
    catalog.apply(apply_of(DeploymentManifest { environment, ..manifest("acme", "text", "b") }, plain())).unwrap();
    let bounds = PageBounds { bytes_max: 1_000, ..PageBounds::default() };
    let found = pages(&catalog, None, bounds);
    assert_eq!(found, [vec!["mail/z", "text/a"], vec!["text/b"], vec!["text/c", "zoo/a"]]);
    let none = pages(&catalog, None, PageBounds { bytes_max: 0, ..bounds });
    assert!(none.iter().all(|page| page.len() == 1));
}

#[test]
fn a_cursor_whose_row_was_deleted_still_continues_after_it() {
    let catalog = sample();
    let first = catalog.view().list(&tenant("acme"), None, None, rows(2));
    catalog.delete(&delete_of("acme", "text", "a")).unwrap();
    let second = catalog.view().list(&tenant("acme"), None, first.next.as_ref(), rows(2));
    let ids: Vec<_> = second.deployments.iter().map(|row| row.id().as_str()).collect();
    assert_eq!(ids, ["b", "c"]);
    assert_eq!((first.generation, second.generation), (6, 7));
}

#[test]
fn all_deployments_of_a_tenant_are_shown_once_and_nobody_elses() {
    let view = sample().view();
    let names = |owner| {
        let owner = tenant(owner);
        let all = view.of_tenant(&owner).map(|row| format!("{}/{}", row.service(), row.id()));
        let mut all: Vec<_> = all.collect();
        all.sort();
        all
    };
    assert_eq!(names("acme"), ["mail/z", "text/a", "text/b", "text/c", "zoo/a"]);
    assert_eq!(names("other"), ["text/a"]);
    assert!(names("nobody").is_empty());
}
