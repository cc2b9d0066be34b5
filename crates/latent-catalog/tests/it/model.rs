//! Any sequence of changes agrees with a naive catalog: a list that is searched and sorted anew for every question.

use latent_catalog::{
    ActivationCatalog, Apply, Catalog, CatalogLimits, CatalogView, ChangeRefusal, Delete, DeploymentManifest,
    PageBounds, Release, RevisionPolicySource, revision_id,
};
use latent_core::{BudgetCeilings, PlatformErrorCode, ResolvedRevision, Sha256Digest};
use proptest::prelude::*;
use std::sync::Arc;

use crate::support::{delete_of, empty, manifest, release, resolve_in, tenant, weight};

const TENANTS: [&str; 2] = ["acme", "zeta"];
const SERVICES: [&str; 2] = ["text", "mail"];
const IDS: [&str; 4] = ["a", "b", "c", "d"];
const FUNCTIONS: [&str; 3] = ["run", "walk", "fly"];

#[derive(Debug, Clone)]
enum Step {
    Apply { at: (usize, usize, usize), weight: u16, fuel: Option<u64>, release: usize, expected: Option<u64> },
    Delete { at: (usize, usize, usize), expected: Option<u64> },
}

fn place() -> impl Strategy<Value = (usize, usize, usize)> {
    (0..TENANTS.len(), 0..SERVICES.len(), 0..IDS.len())
}

fn step() -> impl Strategy<Value = Step> {
    let expected = || prop_oneof![4 => Just(None), 1 => (0_u64..12).prop_map(Some)];
    let fuel = prop::option::of(1_u64..4);
    prop_oneof![
        3 => (place(), 1_u16..=10_000, fuel, 0_usize..3, expected()).prop_map(
            |(at, weight, fuel, release, expected)| Step::Apply { at, weight, fuel, release, expected },
        ),
        1 => (place(), expected()).prop_map(|(at, expected)| Step::Delete { at, expected }),
    ]
}

/// The component `number`: the first exports `run`, the second `walk` too, the third all.
fn component(number: usize) -> Arc<Release> {
    release(&format!("component-{number}"), &FUNCTIONS[..=number])
}

/// One row of the naive catalog.
#[derive(Debug, Clone)]
struct Row {
    manifest: DeploymentManifest,
    component: usize,
    generation: u64,
}

#[derive(Debug, Clone, Default)]
struct Naive {
    rows: Vec<Row>,
    generation: u64,
}

impl Naive {
    fn position(&self, wanted: &DeploymentManifest) -> Option<usize> {
        let name = |manifest: &DeploymentManifest| {
            (manifest.tenant.clone(), manifest.service.clone(), manifest.deployment.clone())
        };
        self.rows.iter().position(|row| name(&row.manifest) == name(wanted))
    }

    /// Does the step, or answers the generation that was found instead of the expected one, or nothing to delete.
    fn take(&mut self, step: &Step) -> Result<(), Option<u64>> {
        let (at, expected) = match step {
            Step::Apply { at, expected, .. } | Step::Delete { at, expected } => (*at, *expected),
        };
        let base = manifest_at(at);
        let position = self.position(&base);
        let found = position.map_or(0, |position| self.rows[position].generation);
        if expected.is_some_and(|expected| expected != found) {
            return Err(Some(found));
        }
        if let Some(position) = position {
            self.rows.remove(position);
        }
        match step {
            Step::Delete { .. } if position.is_none() => return Err(None),
            Step::Delete { .. } => self.generation += 1,
            Step::Apply { release, .. } => {
                self.generation += 1;
                let row = Row { manifest: wanted(step), component: *release, generation: self.generation };
                self.rows.push(row);
            }
        }
        Ok(())
    }

    /// The choice as the reference words it, on lists.
    fn resolve(&self, place: (&str, &str, &str), function: usize, key: &str) -> Result<&Row, PlatformErrorCode> {
        let (tenant, service, route) = place;
        let of_service = self
            .rows
            .iter()
            .filter(|row| row.manifest.tenant.as_str() == tenant && row.manifest.service.as_str() == service);
        let mut candidates: Vec<&Row> =
            of_service.filter(|row| route == "default" || row.manifest.deployment.as_str() == route).collect();
        if candidates.is_empty() {
            return Err(PlatformErrorCode::RouteUnavailable);
        }
        candidates.retain(|row| row.component >= function);
        candidates.sort_by_key(|row| revision_id(&row.manifest));
        let total: u64 = candidates.iter().map(|row| u64::from(row.manifest.weight.get())).sum();
        if candidates.len() < 2 {
            return candidates.first().copied().ok_or(PlatformErrorCode::IncompatibleContract);
        }
        let mut text = b"latent route selection".to_vec();
        let parts = [tenant, service, route, crate::support::CONTRACT, FUNCTIONS[function], key];
        for part in parts {
            text.extend((part.len() as u64).to_be_bytes());
            text.extend(part.as_bytes());
        }
        let digest = Sha256Digest::of(&text);
        let point = digest.as_bytes()[..8].iter().fold(0, |value: u64, byte| value << 8 | u64::from(*byte)) % total;
        let mut left = point;
        for row in candidates {
            let share = u64::from(row.manifest.weight.get());
            if left < share {
                return Ok(row);
            }
            left -= share;
        }
        unreachable!("the point lies below the total")
    }
}

fn manifest_at((tenant, service, id): (usize, usize, usize)) -> DeploymentManifest {
    manifest(TENANTS[tenant], SERVICES[service], IDS[id])
}

fn wanted(step: &Step) -> DeploymentManifest {
    let Step::Apply { at, weight: share, fuel, release, .. } = step else { unreachable!("only an apply wants one") };
    let ceilings = BudgetCeilings { fuel: *fuel, ..BudgetCeilings::default() };
    DeploymentManifest { weight: weight(*share), ceilings, release: component(*release).digest(), ..manifest_at(*at) }
}

/// Does the step on the catalog; a refusal in the naive catalog's terms.
fn take(catalog: &Catalog, step: &Step) -> Result<(), Option<u64>> {
    let done = match step {
        Step::Apply { release, expected, .. } => {
            let release = component(*release);
            let apply = Apply { manifest: wanted(step), release, expected_generation: *expected };
            catalog.apply(apply).map(drop)
        }
        Step::Delete { at, expected } => {
            let delete = delete_of(TENANTS[at.0], SERVICES[at.1], IDS[at.2]);
            catalog.delete(&Delete { expected_generation: *expected, ..delete }).map(drop)
        }
    };
    done.map_err(|refusal| match refusal {
        ChangeRefusal::GenerationConflict { found, .. } => Some(found),
        ChangeRefusal::NotFound { .. } => None,
        other => panic!("nothing else can go wrong here: {other:?}"),
    })
}

/// Compares all answers of the view with the naive catalog's.
fn agree(view: &CatalogView, naive: &Naive, key: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!((view.generation(), view.len()), (naive.generation, naive.rows.len()));
    for tenant in TENANTS {
        for service in SERVICES {
            for route in IDS.into_iter().chain(["default", "nowhere"]) {
                for (at, function) in FUNCTIONS.into_iter().enumerate() {
                    let place = (tenant, service, route);
                    let answer = resolve_in(view, place, function, key).map_err(|error| error.code());
                    agree_on_route(view, naive, &answer, naive.resolve(place, at, key))?;
                }
            }
        }
        agree_on_list(view, naive, tenant)?;
    }
    Ok(())
}

fn agree_on_route(
    view: &CatalogView,
    naive: &Naive,
    answer: &Result<ResolvedRevision, PlatformErrorCode>,
    expected: Result<&Row, PlatformErrorCode>,
) -> Result<(), TestCaseError> {
    match (answer, expected) {
        (Ok(resolved), Ok(row)) => {
            prop_assert_eq!(&resolved.deployment, &row.manifest.deployment);
            prop_assert_eq!(resolved.revision, revision_id(&row.manifest));
            prop_assert_eq!(resolved.release, component(row.component).digest());
            prop_assert_eq!(resolved.route_generation, naive.generation);
            let policy = view.policy(resolved).expect("the view knows what it resolved");
            prop_assert_eq!(policy.admission.deployment, row.manifest.ceilings);
        }
        (Err(code), Err(expected)) => prop_assert_eq!(*code, expected),
        (answer, expected) => prop_assert!(false, "{:?} where {:?} was expected", answer, expected),
    }
    Ok(())
}

fn agree_on_list(view: &CatalogView, naive: &Naive, tenant_id: &str) -> Result<(), TestCaseError> {
    let mut expected: Vec<_> = naive.rows.iter().filter(|row| row.manifest.tenant.as_str() == tenant_id).collect();
    expected.sort_by_key(|row| (row.manifest.service.clone(), row.manifest.deployment.clone()));
    let page = view.list(&tenant(tenant_id), None, None, PageBounds::default());
    prop_assert_eq!(page.deployments.len(), expected.len());
    for (row, expected) in page.deployments.iter().zip(expected) {
        prop_assert_eq!(row.manifest(), expected.manifest.clone());
        prop_assert_eq!(row.generation(), expected.generation);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_changes_agrees_with_the_naive_catalog(
        steps in prop::collection::vec(step(), 1..24), key in "[a-z0-9]{1,12}",
    ) {
        let (catalog, mut naive) = (empty(), Naive::default());
        let mut pinned = vec![(catalog.view(), naive.clone())];
        for step in &steps {
            prop_assert_eq!(take(&catalog, step), naive.clone().take(step), "{:?}", step);
            let _known_by_now = naive.take(step);
            pinned.push((catalog.view(), naive.clone()));
        }
        // Only now, so that a view which a later change had touched would be seen.
        for (view, naive) in &pinned {
            agree(view, naive, &key)?;
        }
    }

    #[test]
    fn a_view_restored_in_any_order_agrees_with_the_naive_catalog(
        steps in prop::collection::vec(step(), 1..24), key in "[a-z0-9]{1,12}", seed in any::<u64>(),
    ) {
        let mut naive = Naive::default();
        for step in &steps {
            let _any_answer = naive.take(step);
        }
        let mut rows = naive.rows.clone();
        rows.sort_by_key(|row| Sha256Digest::of(format!("{seed}{:?}", row.manifest.deployment).as_bytes()));
        let restored = rows.into_iter().map(|row| latent_catalog::Restored {
            manifest: row.manifest,
            release: component(row.component),
            generation: row.generation,
        });
        let view = CatalogView::restore(naive.generation, restored, CatalogLimits::default()).unwrap();
        agree(&view, &naive, &key)?;
    }
}
