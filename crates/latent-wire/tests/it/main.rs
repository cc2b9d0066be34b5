//! The API over a node of real parts, with a scripted backend and durable stores kept in memory.

mod api;
mod json;
mod support;
