//! The edge of a node: one API in gRPC and in JSON over HTTP, on two listeners, and the client half of it.
//!
//! The API itself is in `proto/latent/v1/latent.proto`; [`api`] is what each call means, whatever carries it. What it
//! needs of a node besides activations is in [`ports`].

pub mod api;
pub mod client;
pub mod grpc;
pub mod json;
pub mod listener;
pub mod ports;
pub mod proto;
pub mod status;
pub mod tls;

mod convert;
mod sse;
