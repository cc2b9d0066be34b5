//! A view built from what was written down equals the one that was; what cannot have been written is refused.

use std::sync::Arc;

use latent_catalog::{
    ActivationCatalog, Catalog, CatalogLimits, CatalogView, ChangeRefusal, PageBounds, RestoreRefusal, Restored,
};
use latent_core::{PlatformError, PlatformErrorCode};

use crate::support::{apply_of, delete_of, empty, handler, manifest, plain, release, resolve, tenant};

fn restored(id: &str, generation: u64) -> Restored {
    Restored { manifest: manifest("acme", "text", id), release: plain(), generation }
}

#[test]
fn a_restored_view_answers_as_the_one_that_was_written_down() {
    let catalog = empty();
    for id in ["blue", "green", "red"] {
        catalog.apply(apply_of(manifest("acme", "text", id), plain())).unwrap();
    }
    catalog.delete(&delete_of("acme", "text", "red")).unwrap();
    let view = catalog.view();
    let rows = view.list(&tenant("acme"), None, None, PageBounds::default()).deployments;
    let written = rows.iter().rev().map(|row| Restored {
        manifest: row.manifest(),
        release: Arc::clone(row.release()),
        generation: row.generation(),
    });
    let again = CatalogView::restore(view.generation(), written, CatalogLimits::default()).unwrap();
    assert_eq!((again.generation(), again.len()), (4, 2));
    for at in 0..50 {
        let key = format!("a{at}");
        assert_eq!(resolve(&again, "default", &key).unwrap(), resolve(&*view, "default", &key).unwrap());
    }
    let again = Catalog::new(again);
    let next = again.apply(apply_of(manifest("acme", "text", "red"), plain())).unwrap().deployment;
    assert_eq!(next.generation(), 5, "generations go on where they were");
    let rows = again.view().list(&tenant("acme"), None, None, PageBounds::default()).deployments;
    assert!(rows.iter().all(|row| Arc::ptr_eq(row.policy(), next.policy())));
}

#[test]
fn a_deployment_that_cannot_have_been_written_is_refused() {
    let restore = |deployments: Vec<Restored>| {
        let refusal = CatalogView::restore(5, deployments, CatalogLimits::default()).unwrap_err();
        let error = PlatformError::from(refusal.clone());
        assert_eq!(error.code(), PlatformErrorCode::CorruptArtifact);
        assert!(error.has_detail("catalog.damaged"), "{error:?}");
        refusal
    };
    for generation in [0, 6] {
        let expected = RestoreRefusal::Generation { found: generation, catalog: 5 };
        assert_eq!(restore(vec![restored("blue", generation)]), expected);
    }
    let twice = restore(vec![restored("blue", 1), restored("green", 2), restored("blue", 3)]);
    assert!(matches!(twice, RestoreRefusal::Repeated(_, _, id) if id.as_str() == "blue"));
    let reserved = restore(vec![restored("default", 1)]);
    assert_eq!(reserved, RestoreRefusal::Invalid(ChangeRefusal::ReservedId));
    let other = Restored { release: release("other", &["run"]), ..restored("blue", 1) };
    assert!(matches!(restore(vec![other]), RestoreRefusal::Invalid(ChangeRefusal::OtherRelease { .. })));
}

#[test]
fn routes_that_cannot_have_been_together_are_refused() {
    let route = |service: &str, id: &str, generation| Restored {
        manifest: latent_catalog::DeploymentManifest {
            http: crate::support::http(&["a/b"], latent_core::http::HttpAuthentication::Open),
            release: handler("handler").digest(),
            ..manifest("acme", service, id)
        },
        release: handler("handler"),
        generation,
    };
    let restore = |rows| CatalogView::restore(5, rows, CatalogLimits::default());
    assert!(restore([route("text", "blue", 1), route("text", "green", 2)]).is_ok());
    let refusal = restore([route("text", "blue", 1), route("mail", "blue", 2)]).unwrap_err();
    assert!(matches!(refusal, RestoreRefusal::Invalid(ChangeRefusal::HttpRouteTaken { .. })), "{refusal:?}");
}

#[test]
fn what_was_accepted_before_is_restored_beyond_a_lower_limit() {
    let limits = CatalogLimits { deployments_max: 1, deployments_per_service_max: 1 };
    let view = CatalogView::restore(2, [restored("blue", 1), restored("green", 2)], limits).unwrap();
    assert_eq!(view.len(), 2);
}
