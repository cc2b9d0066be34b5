//! Where a call would go, and why.

use latent_catalog::{Choice, Explained, RouteRequest};
use latent_core::{FunctionTarget, RouteName, ServiceName};
use latent_node::access::Role;

use super::activations::activation_id;
use super::targets::{self, Shortened};
use super::{Api, CallContext, Refused};
use crate::convert::{activation, deploy as convert, field};
use crate::proto;

impl Api {
    /// `GetRoute`. Every candidate counts as eligible, as there is no function that it could lack.
    ///
    /// # Errors
    /// As [`Api`] says; `route-unavailable` where the tenant's service has no such route.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn get_route(
        &self,
        caller: &CallContext,
        request: proto::GetRouteRequest,
    ) -> Result<proto::Route, Refused> {
        caller.require(Role::Deploy)?;
        let service = field::id("service", request.service, ServiceName::new)?;
        let route = targets::route(request.route)?;
        let view = self.ports.deployments.view();
        let candidates = view.candidates(caller.tenant(), &service, &route)?;
        let candidates = candidates.map(|deployment| convert::candidate(deployment, true)).collect();
        let catalog_generation = latent_catalog::ActivationCatalog::generation(&*view);
        Ok(proto::Route { service: service.to_string(), route: route.to_string(), candidates, catalog_generation })
    }

    /// `Resolve`.
    ///
    /// # Errors
    /// As [`Api`] says; `route-unavailable` and `incompatible-contract` as an activation would end.
    #[expect(clippy::unused_async, reason = "every call is awaited alike")]
    pub async fn resolve(
        &self,
        caller: &CallContext,
        request: proto::ResolveRequest,
    ) -> Result<proto::ResolveResponse, Refused> {
        caller.require(Role::Deploy)?;
        let service = field::id("service", request.service, ServiceName::new)?;
        let route = targets::route(request.route)?;
        let id = activation_id(request.activation_id)?;
        let view = self.ports.deployments.view();
        let shortened = Shortened { contract: &request.contract, function: &request.function };
        let target = shortened.target(&view, caller.tenant(), &service, &route)?;
        let key = RouteRequest {
            tenant: caller.tenant(),
            service: &service,
            route: &route,
            target: &target,
            activation_id: &id,
        };
        let Explained { resolved, candidates, choice } = view.explain(&key)?;
        Ok(proto::ResolveResponse {
            revision: Some(activation::revision(&resolved)),
            candidates: candidates.iter().map(|(one, eligible)| convert::candidate(one, *eligible)).collect(),
            why: why(&route, &target, &choice),
            total_weight: choice.total_weight,
            ticket: choice.ticket,
        })
    }
}

fn why(
    route: &RouteName,
    target: &FunctionTarget,
    choice: &Choice<std::sync::Arc<latent_catalog::Deployment>>,
) -> String {
    let chosen = choice.chosen.id();
    match choice.ticket {
        Some(ticket) => {
            let last = choice.weight_before + u64::from(choice.chosen.weight().get()) - 1;
            format!(
                "the id drew ticket {ticket} of {total}, and deployment {chosen} has tickets {first} to {last}",
                total = choice.total_weight,
                first = choice.weight_before,
            )
        }
        None if route.is_default() => format!("only deployment {chosen} on this route offers {target}"),
        None => format!("route {route} is deployment {chosen}'s own"),
    }
}
