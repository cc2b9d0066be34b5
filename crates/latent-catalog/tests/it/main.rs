//! The catalog through its public face: manifests, routes, changes, pins, pages, and what a deployment costs.

mod allocations;
mod changes;
mod concurrency;
mod explained;
mod footprint;
mod hostile;
mod http_manifests;
mod http_model;
mod http_routes;
mod manifests;
mod model;
mod pages;
mod pinning;
mod restore;
mod routes;
mod selection;
mod support;
