//! HTTP: how a handler is called with a request and answers it, and how guests make requests of their own.
//!
//! Bodies are streamed: what the host keeps of one is bounded by its settings, and a body that did not come to its end
//! never looks as if it had.

mod body;
mod errors;
mod handler;
mod outgoing;
mod response;

pub use handler::{HandlerPlan, expect_exchange, not_matching};
pub use outgoing::Run;
pub use response::AnswerSlot;
