//! Tenants and credentials through the public face of the registry, over a store in memory that fails on demand.

mod authentication;
mod changes;
mod documents;
mod files;
mod policies;
mod support;
