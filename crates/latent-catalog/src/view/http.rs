//! Which service answers an HTTP request: the rules of all deployments, by host, then segment by segment of the path.
//!
//! Invariant: a rule is there exactly as long as a deployment has it, leads to one service of one tenant, and has one
//! authentication; all rules of one host pattern are one tenant's. A lookup takes a step for each label of the host and each segment that rules have, whatever else
//! there is; a change copies what is on its way.

use std::borrow::Cow;
use std::sync::Arc;

use latent_core::http::{HostPattern, HttpIngress, HttpRoute, path_segments};
use rpds::{HashTrieMapSync, RedBlackTreeMapSync};

use super::Hasher;
use crate::deployment::Deployment;
use crate::port::HttpService;
use crate::refusal::ChangeRefusal;

type Hosts = HashTrieMapSync<Box<str>, Paths, Hasher>;

/// The rules of a view.
#[derive(Debug, Clone)]
pub(super) struct HttpRules {
    exact: Hosts,
    /// By the domain below which the hosts are.
    under: Hosts,
    any: Paths,
}

/// The rules for a host below one path: the one for the path itself, and those for each segment that may follow.
#[derive(Debug, Clone, Default)]
struct Paths {
    rule: Option<Arc<Rule>>,
    below: RedBlackTreeMapSync<Box<str>, Paths>,
}

#[derive(Debug)]
struct Rule {
    service: HttpService,
    /// The deployments that have it, all of them of the service. Never zero.
    owners: usize,
}

/// A rule that is to become another one; `None`: that is not there.
type Change<'a> = &'a dyn Fn(Option<&Arc<Rule>>) -> Result<Option<Arc<Rule>>, ChangeRefusal>;

impl HttpRules {
    pub(super) fn new(hasher: &Hasher) -> Self {
        let hosts = || Hosts::new_with_hasher_and_ptr_kind(hasher.clone());
        Self { exact: hosts(), under: hosts(), any: Paths::default() }
    }

    /// The service with the most specific rule. `host` is in its canonical form, `path` without its query.
    pub(super) fn find(&self, host: &str, path: &str) -> Option<&HttpService> {
        let domains = host.match_indices('.').map(|(at, _)| &host[at + 1..]);
        let under = domains.filter_map(|domain| self.under.get(domain));
        let mut by_host = self.exact.get(host).into_iter().chain(under).chain([&self.any]);
        by_host.find_map(|paths| paths.longest(path)).map(|rule| &rule.service)
    }

    /// Adds the rules of `deployment`. Refused, some may have been added: the view that they were for is not made.
    pub(super) fn put(&mut self, deployment: &Deployment) -> Result<(), ChangeRefusal> {
        deployment.http().map_or(Ok(()), |http| {
            http.routes.iter().try_for_each(|route| {
                if self
                    .of(&route.host)
                    .and_then(Paths::any)
                    .is_some_and(|rule| rule.service.tenant != *deployment.tenant())
                {
                    return Err(ChangeRefusal::HttpRouteTaken { route: route.clone(), service: None });
                }
                self.change(route, &|found| added(found, route, http, deployment).map(Some))
            })
        })
    }

    /// Takes the rules of `deployment`, which are there, away.
    pub(super) fn take(&mut self, deployment: &Deployment) {
        let one_less = |found: Option<&Arc<Rule>>| {
            let left = found.filter(|rule| rule.owners > 1);
            Ok(left.map(|rule| Arc::new(Rule { service: rule.service.clone(), owners: rule.owners - 1 })))
        };
        for route in deployment.http().into_iter().flat_map(|http| &http.routes) {
            self.change(route, &one_less).expect("to take a rule away is never refused");
        }
    }

    /// The rules for exactly this pattern.
    fn of(&self, host: &HostPattern) -> Option<&Paths> {
        match host {
            HostPattern::Any => Some(&self.any),
            HostPattern::Exact(host) => self.exact.get(host),
            HostPattern::Under(domain) => self.under.get(domain),
        }
    }

    fn change(&mut self, route: &HttpRoute, change: Change<'_>) -> Result<(), ChangeRefusal> {
        let segments = &mut path_segments(&route.path);
        match &route.host {
            HostPattern::Any => self.any = self.any.changed(segments, change)?,
            HostPattern::Exact(host) => change_host(&mut self.exact, host, segments, change)?,
            HostPattern::Under(domain) => change_host(&mut self.under, domain, segments, change)?,
        }
        Ok(())
    }
}

fn change_host(
    hosts: &mut Hosts,
    host: &str,
    segments: &mut dyn Iterator<Item = Cow<'_, str>>,
    change: Change<'_>,
) -> Result<(), ChangeRefusal> {
    let paths = hosts.get(host).unwrap_or(&Paths::default()).changed(segments, change)?;
    if paths.is_empty() {
        hosts.remove_mut(host);
    } else {
        hosts.insert_mut(host.into(), paths);
    }
    Ok(())
}

impl Paths {
    fn is_empty(&self) -> bool {
        self.rule.is_none() && self.below.is_empty()
    }

    /// One of the rules.
    fn any(&self) -> Option<&Rule> {
        let mut at = self;
        while at.rule.is_none() {
            at = at.below.first()?.1;
        }
        at.rule.as_deref()
    }

    /// The rule with the longest prefix of `path`.
    fn longest(&self, path: &str) -> Option<&Rule> {
        let (mut at, mut longest) = (self, self.rule.as_deref());
        for segment in path_segments(path) {
            let Some(next) = at.below.get(&*segment) else { break };
            at = next;
            longest = next.rule.as_deref().or(longest);
        }
        longest
    }

    /// These rules, of which the one that `segments` lead to is another. No deeper than a route has segments.
    fn changed(
        &self,
        segments: &mut dyn Iterator<Item = Cow<'_, str>>,
        change: Change<'_>,
    ) -> Result<Self, ChangeRefusal> {
        let Some(segment) = segments.next() else {
            return Ok(Self { rule: change(self.rule.as_ref())?, below: self.below.clone() });
        };
        let next = self.below.get(&*segment).unwrap_or(&Self::default()).changed(segments, change)?;
        let below = if next.is_empty() {
            self.below.remove(&*segment)
        } else {
            self.below.insert(segment.into_owned().into(), next)
        };
        Ok(Self { rule: self.rule.clone(), below })
    }
}

/// The rule for `route`, which `deployment` has too from now on.
fn added(
    found: Option<&Arc<Rule>>,
    route: &HttpRoute,
    http: &HttpIngress,
    deployment: &Deployment,
) -> Result<Arc<Rule>, ChangeRefusal> {
    let Some(rule) = found else {
        let service = HttpService {
            tenant: deployment.tenant().clone(),
            service: deployment.service().clone(),
            authentication: http.authentication,
        };
        return Ok(Arc::new(Rule { service, owners: 1 }));
    };
    let HttpService { tenant, service, authentication } = &rule.service;
    if tenant != deployment.tenant() || service != deployment.service() {
        let service = (tenant == deployment.tenant()).then(|| service.clone());
        return Err(ChangeRefusal::HttpRouteTaken { route: route.clone(), service });
    }
    if *authentication != http.authentication {
        return Err(ChangeRefusal::HttpAuthentication { route: route.clone(), found: *authentication });
    }
    Ok(Arc::new(Rule { service: rule.service.clone(), owners: rule.owners + 1 }))
}
