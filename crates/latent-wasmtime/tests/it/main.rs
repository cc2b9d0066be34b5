//! The adapter on real guests: the port's contract, then every way in which a guest can misbehave.

mod allocations;
mod bombs;
mod bytes;
mod contract;
mod grants;
mod host;
mod hostile_types;
mod http;
mod images;
mod imports;
mod inspection;
mod instantiation;
mod isolation;
mod limits;
mod logs;
mod memory;
mod preparation;
mod repository;
mod secrets;
mod support;
mod values;
