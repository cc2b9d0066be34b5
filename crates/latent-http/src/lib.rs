//! HTTP for guests: requests that come in to `wasi:http` handlers, and those that guests make.

pub mod egress;
