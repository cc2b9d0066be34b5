//! The runner over a fake backend and the real pool, or over pools that record, wait, lie and fail; what reads files.

mod cost;
mod disposition;
mod drops;
mod handoff;
mod identity;
mod mapping;
mod order;
mod pressure;
mod queue;
mod races;
mod support;
