//! The adapter on real guests: the port's contract, then every way in which a guest can misbehave.

mod contract;
mod support;
