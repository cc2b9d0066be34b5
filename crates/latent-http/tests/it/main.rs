//! The ingress over real sockets: a node of real parts whose guests are closures.

mod support;

mod bodies;
mod callers;
mod disconnects;
mod failures;
mod heads;
mod hello;
mod hostile;
mod readers;
mod targets;
