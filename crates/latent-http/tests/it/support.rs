//! A node that answers HTTP on a socket, and peers that speak to it.
//!
//! Invariant: everything between the socket and the backend is what a node runs; a guest is a closure.

mod catalog;
mod guest;
mod node;
mod peers;

pub use catalog::Routes;
pub use guest::{Writer, answer, body_of, hello, returned, trapped};
pub use node::{Served, served, served_with};
pub use peers::{Answer, h1, h2, raw, read_head, request, soon, until_closed, whole};
