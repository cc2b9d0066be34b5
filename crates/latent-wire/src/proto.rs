//! The messages and services of `latent.v1`, generated from `proto/latent/v1/latent.proto`, which documents them.

#![allow(missing_docs, clippy::all, clippy::pedantic, reason = "generated code")]

tonic::include_proto!("latent.v1");
include!(concat!(env!("OUT_DIR"), "/latent.v1.serde.rs"));

/// The package with everything that it imports, for reflection.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
