//! The adapter on real guests: the port's contract, then every way in which a guest can misbehave.

mod allocations;
mod contract;
mod instantiation;
mod isolation;
mod limits;
mod memory;
mod support;
