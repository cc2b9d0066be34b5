//! Any sequence of changes to routes agrees with a list of rules that is searched anew for every request.

use std::cmp::Reverse;

use latent_catalog::{
    ActivationCatalog as _, Catalog, CatalogLimits, CatalogView, ChangeRefusal, DeploymentManifest, HttpService,
    Restored,
};
use latent_core::http::{HostPattern, HttpAuthentication, HttpIngress, HttpRoute};
use proptest::prelude::*;

use crate::support::{apply_of, delete_of, empty, handler, http, manifest};

const TENANTS: [&str; 2] = ["acme", "zeta"];
const SERVICES: [&str; 2] = ["text", "mail"];
const IDS: [&str; 3] = ["a", "b", "c"];
const HOSTS: [&str; 6] = ["*", "*.com", "*.a.com", "a.com", "b.a.com", "com"];
const PATHS: [&str; 6] = ["/", "/x", "/x/y", "/x/y/z", "/xy", "/z"];
const ASKED_HOSTS: [&str; 6] = ["com", "a.com", "b.a.com", "c.b.a.com", "aa.com", "org"];
const ASKED_PATHS: [&str; 10] = ["/", "/x", "/x/", "/x/y", "/%78/%79", "/x/y/z/w", "/xy/z", "/x//y", "/zz", "*"];

type Place = (usize, usize, usize);

#[derive(Debug, Clone)]
enum Step {
    Apply(Place, Vec<(usize, usize)>, bool),
    Delete(Place),
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0..TENANTS.len(), 0..SERVICES.len(), 0..IDS.len());
    let routes = prop::collection::btree_set((0..HOSTS.len(), 0..PATHS.len()), 0..4);
    prop_oneof![
        4 => (place(), routes, prop::bool::weighted(0.3))
            .prop_map(|(place, routes, bearer)| Step::Apply(place, routes.into_iter().collect(), bearer)),
        1 => place().prop_map(Step::Delete),
    ]
}

fn ingress(routes: &[(usize, usize)], bearer: bool) -> HttpIngress {
    let texts: Vec<_> = routes.iter().map(|(host, path)| format!("{}{}", HOSTS[*host], PATHS[*path])).collect();
    let authentication = if bearer { HttpAuthentication::Bearer } else { HttpAuthentication::Open };
    http(&texts.iter().map(String::as_str).collect::<Vec<_>>(), authentication)
}

fn deployed((tenant, service, id): Place, http: HttpIngress) -> DeploymentManifest {
    DeploymentManifest { http, ..manifest(TENANTS[tenant], SERVICES[service], IDS[id]) }
}

/// The deployments, in no order.
#[derive(Debug, Clone, Default)]
struct Naive(Vec<(Place, DeploymentManifest)>);

impl Naive {
    fn rules(&self) -> impl Iterator<Item = (Place, &HttpRoute, HttpAuthentication, &DeploymentManifest)> {
        self.0.iter().flat_map(|(place, manifest)| {
            manifest.http.routes.iter().map(move |route| (*place, route, manifest.http.authentication, manifest))
        })
    }

    /// Whether the step may be made; if so it is.
    fn take(&mut self, step: &Step) -> bool {
        let (Step::Apply(place, ..) | Step::Delete(place)) = step;
        let position = self.0.iter().position(|(known, _)| known == place);
        let Step::Apply(_, routes, bearer) = step else {
            return position.map(|position| self.0.remove(position)).is_some();
        };
        let wanted = deployed(*place, ingress(routes, *bearer));
        let fits = self.rules().filter(|(of, ..)| of != place).all(|(of, route, authentication, _)| {
            let same_service = (of.0, of.1) == (place.0, place.1);
            let same_tenant = of.0 == place.0 || wanted.http.routes.iter().all(|wanted| wanted.host != route.host);
            let same_rule = same_service && authentication == wanted.http.authentication;
            same_tenant && (!wanted.http.routes.contains(route) || same_rule)
        });
        if fits {
            position.map(|position| self.0.remove(position));
            self.0.push((*place, wanted));
        }
        fits
    }

    fn find(&self, host: &str, path: &str) -> Option<HttpService> {
        let covering = self.rules().filter(|(_, route, ..)| route.host.matches(host) && route.covers(path));
        let best = covering.min_by_key(|(_, route, ..)| {
            let host = match &route.host {
                HostPattern::Exact(_) => (0, Reverse(0)),
                HostPattern::Under(domain) => (1, Reverse(domain.len())),
                HostPattern::Any => (2, Reverse(0)),
            };
            (host, Reverse(route.path.len()))
        });
        best.map(|(_, _, authentication, manifest)| HttpService {
            tenant: manifest.tenant.clone(),
            service: manifest.service.clone(),
            authentication,
        })
    }
}

fn take(catalog: &Catalog, step: &Step) -> bool {
    let done = match step {
        Step::Apply(place, routes, bearer) => {
            let wanted = deployed(*place, ingress(routes, *bearer));
            catalog.apply(apply_of(wanted, handler("handler"))).map(drop)
        }
        Step::Delete((tenant, service, id)) => {
            catalog.delete(&delete_of(TENANTS[*tenant], SERVICES[*service], IDS[*id])).map(drop)
        }
    };
    match done {
        Ok(()) => true,
        Err(
            ChangeRefusal::HttpRouteTaken { .. }
            | ChangeRefusal::HttpAuthentication { .. }
            | ChangeRefusal::NotFound { .. },
        ) => false,
        Err(other) => panic!("nothing else can go wrong here: {other:?}"),
    }
}

fn agree(view: &CatalogView, naive: &Naive) -> Result<(), TestCaseError> {
    for host in ASKED_HOSTS {
        for path in ASKED_PATHS {
            prop_assert_eq!(view.http_route(host, path), naive.find(host, path), "{}{}", host, path);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_sequence_of_changes_to_routes_agrees_with_the_list(steps in prop::collection::vec(step(), 1..40)) {
        let (catalog, mut naive) = (empty(), Naive::default());
        let mut pinned = Vec::new();
        for step in &steps {
            prop_assert_eq!(take(&catalog, step), naive.take(step), "{:?}", step);
            pinned.push((catalog.view(), naive.clone()));
        }
        // Only now, so that a view which a later change had touched would be seen.
        for (view, naive) in &pinned {
            agree(view, naive)?;
        }
        let rows = naive.0.iter().rev().map(|(_, manifest)| Restored {
            manifest: DeploymentManifest { release: handler("handler").digest(), ..manifest.clone() },
            release: handler("handler"),
            generation: 1,
        });
        let restored = CatalogView::restore(1, rows, CatalogLimits::default()).expect("it was there like this");
        agree(&restored, &naive)?;
        for (tenant, service, id) in naive.0.iter().map(|(place, _)| *place) {
            catalog.delete(&delete_of(TENANTS[tenant], SERVICES[service], IDS[id])).unwrap();
        }
        agree(&catalog.view(), &Naive::default())?;
    }
}
