//! The runner over a fake backend and the real pool, or over pools that record, wait, lie and fail.

mod cost;
mod disposition;
mod drops;
mod handoff;
mod identity;
mod mapping;
mod order;
mod queue;
mod races;
mod support;
