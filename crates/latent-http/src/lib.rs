//! HTTP for guests: requests that come in to `wasi:http` handlers, and those that guests make.
//!
//! [`ingress`] turns a request into an activation of the service that its host and path lead to, and the guest's response
//! into an answer. It is served by a [`Listener`](latent_wire::listener::Listener), whose bounds and times hold for it.
//! [`egress`] makes the requests of guests, of those that their deployments grant.

mod coding;

pub mod egress;
pub mod ingress;
