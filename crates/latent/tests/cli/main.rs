//! The commands that need no running node, from outside: the real binary, its output and its exit codes.

mod bad_component;
mod bad_request;
mod bytes;
mod caching;
mod check;
mod client;
mod failures;
mod interrupt;
mod lifecycle;
mod load;
mod logs;
mod new;
mod results;
mod support;
mod text_stats;
