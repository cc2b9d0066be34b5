//! Between the node's own types and the messages of the API.
//!
//! Invariant: outward nothing is lost but what a message has no field for; inward nothing is believed unchecked.

pub(crate) mod field;

pub(crate) mod time;

pub(crate) mod error;

pub(crate) mod activation;

pub(crate) mod deploy;

pub(crate) mod logs;

pub(crate) mod node;

pub(crate) mod tenants;
