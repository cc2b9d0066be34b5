//! The edge of a node: one API in gRPC and in JSON over HTTP, on two listeners, and the client half of it.
//!
//! The API itself is in `proto/latent/v1/latent.proto`. What it needs of a node besides activations is in [`ports`].

pub mod client;
pub mod ports;
pub mod proto;
pub mod status;
