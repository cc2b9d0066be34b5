//! What guests get: the state behind one store, and the interfaces that can be bound to it. Deny by default: only
//! the imports that a component declares are bound, and each store has its own state (reference, section 8).

mod bind;
mod context;
mod lines;
mod log;
mod state;

pub use bind::{bind_imports, mistyped, offered_interfaces, refuse_unoffered};
pub use state::{HostState, Services, Subject};
