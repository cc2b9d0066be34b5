//! Functions as callers name them: the contract whole, shortened, or left out.
//!
//! Invariant: a name that is whole is taken as it is; a shortened one stands for one function of the route's candidates or
//! is refused.

use std::collections::BTreeSet;

use latent_catalog::CatalogView;
use latent_core::contract::LookupError;
use latent_core::id::DEFAULT_ROUTE;
use latent_core::{ErrorDetail, FunctionTarget, PlatformError, PlatformErrorCode, RouteName, ServiceName, TenantId};

use crate::convert::field;

/// The functions that an ambiguous name is answered with, at most.
const LISTED_MAX: usize = 8;

/// A function as a request names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shortened<'a> {
    pub contract: &'a str,
    pub function: &'a str,
}

/// The route that a request names.
pub(super) fn route(text: String) -> Result<RouteName, PlatformError> {
    let text = if text.is_empty() { DEFAULT_ROUTE.to_owned() } else { text };
    field::id("route", text, RouteName::new)
}

impl Shortened<'_> {
    /// The one function that is meant. What nobody offers stays as it is, for resolution to refuse; so does everything
    /// where there is no such route.
    pub(super) fn target(
        self,
        view: &CatalogView,
        tenant: &TenantId,
        service: &ServiceName,
        route: &RouteName,
    ) -> Result<FunctionTarget, PlatformError> {
        if self.function.is_empty() {
            return Err(field::invalid("function", "the name of a function"));
        }
        let given = FunctionTarget { contract: self.contract.into(), function: self.function.into() };
        let surfaces = || {
            let candidates = view.candidates(tenant, service, route).into_iter().flatten();
            candidates.map(|deployment| deployment.release().surface())
        };
        if self.function.contains('#') || surfaces().any(|surface| surface.signature(&given).is_some()) {
            return Ok(given);
        }
        let name = given.to_string();
        let mut meant = BTreeSet::new();
        for surface in surfaces() {
            match surface.find(&name) {
                Ok(target) => drop(meant.insert(target)),
                Err(LookupError::Ambiguous(targets)) => {
                    // The same texts, from the surface that owns them.
                    let named = surface.functions.iter().map(|(target, _)| target);
                    meant.extend(named.filter(|target| targets.contains(target)));
                }
                Err(LookupError::Unknown) => {}
            }
        }
        match meant.first() {
            Some(only) if meant.len() == 1 => Ok(FunctionTarget::clone(only)),
            Some(_) => Err(ambiguous(&name, &meant)),
            None => Ok(given),
        }
    }
}

fn ambiguous(name: &str, meant: &BTreeSet<&FunctionTarget>) -> PlatformError {
    let listed: Vec<String> = meant.iter().take(LISTED_MAX).map(ToString::to_string).collect();
    let detail = ErrorDetail::new("api.ambiguous-function").with("found", meant.len());
    let detail = listed.iter().fold(detail, |detail, name| detail.with("function", name));
    let message = format_args!("{name} may be {}; name the contract of the one that is meant", listed.join(" or "));
    PlatformError::new(PlatformErrorCode::InvalidArgument, message).with_detail(detail)
}

#[cfg(test)]
mod tests;
