//! Unary echo over loopback: a bare tonic server, and a node over gRPC and over plain HTTP, side by side.
//!
//! The servers are in this process, on a runtime set up as a node's, and [`load`] is the process that calls them, so that
//! what a call costs its server can be told apart. Invariant: every answer is compared with the argument that was sent.

pub mod load;
pub mod servers;
pub mod table;

mod calls;
mod echo;
mod node;
mod ports;

/// Cells of the node.
const CELLS: u32 = 16;
/// Places in its queue.
const QUEUED: usize = 48;
/// The one tenant.
const TENANT: &str = "bench";
/// The arguments, and the result, which is the only one of them.
const PAYLOAD: &[u8] = b"[\"hello\"]";
const RESULT: &[u8] = b"\"hello\"";
/// The function that is called.
const FUNCTION: &str = "echo-string";

/// The contract of the fixture `guest`.
fn contract(guest: &str) -> String {
    format!("fixture:{guest}/echo@0.1.0")
}

/// What is asked of the service of the fixture `guest`.
fn request(guest: &str) -> latent_wire::proto::InvokeRequest {
    latent_wire::proto::InvokeRequest {
        service: guest.to_owned(),
        contract: contract(guest),
        function: FUNCTION.to_owned(),
        media_type: "application/json".to_owned(),
        payload: PAYLOAD.into(),
        ..Default::default()
    }
}
