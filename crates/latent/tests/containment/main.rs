//! Containment on the real engine: the backend, the runner and the pool together, over guests that misbehave.
//!
//! After every test the same holds: the pool is exact, nothing is registered or running, the engine holds nothing
//! but cached code, and a healthy call of another tenant succeeds at once ([`support::Node::settled`]).

mod budgets;
mod calls;
mod cancels;
mod classes;
mod concurrent;
mod deadlines;
mod exits;
mod identity;
mod logs;
mod panics;
mod polls;
mod prompt;
mod repeated;
mod spinning;
mod support;
mod threads;
mod traps;
