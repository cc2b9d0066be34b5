//! Each call over gRPC: what it answers, and each way in which it is refused.

mod access;
mod activations;
mod deployments;
mod disconnects;
mod frames;
mod invoke;
mod logs;
mod node;
mod releases;
mod routes;
mod tenants;
mod watch;
