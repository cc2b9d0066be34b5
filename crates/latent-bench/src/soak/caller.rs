//! A caller: a connection of each way, one call after the other, and what of each call is known afterwards.
//!
//! Invariant: a call whose answer came is known to have been accepted; one that was left may have been.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use latent_core::PlatformErrorCode;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::CancelRequest;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::asks::{self, ECHOED, HELLO};
use super::mix::{Act, Call, Way};
use crate::nodes::fixtures::{LOOK, result};
use crate::nodes::program::client;

/// After how long a client leaves.
const LEAVES: Duration = Duration::from_millis(5);
/// After this a call without an answer is a deadlock.
const WATCHDOG: Duration = Duration::from_mins(1);

/// Where a node listens, and with what its tenant proves itself.
#[derive(Debug, Clone)]
pub struct Door {
    /// *invoke*.
    pub invoke: SocketAddr,
    /// *control*.
    pub control: SocketAddr,
    /// *http*.
    pub http: SocketAddr,
    /// The tenant's credential.
    pub token: String,
    /// The host of the tenant's HTTP service.
    pub host: String,
}

/// What is known of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// The node answered as one does that accepted it.
    Accepted,
    /// The client left before there was an answer.
    Left,
}

/// A caller of one tenant.
pub struct Caller {
    door: Door,
    grpc: Client,
    json: Option<SendRequest<Full<Bytes>>>,
    web: Option<SendRequest<Full<Bytes>>>,
}

impl Caller {
    /// One that has not connected yet.
    ///
    /// # Errors
    /// When the token is none.
    pub fn new(door: Door) -> Result<Self, String> {
        let grpc = client([door.invoke, door.control], &door.token)?;
        Ok(Self { door, grpc, json: None, web: None })
    }

    /// Makes a call as the activation `id`.
    ///
    /// # Errors
    /// How it ended instead of as it has to.
    pub async fn make(&mut self, call: Call, id: &str) -> Result<Known, String> {
        let made = async {
            match call.act {
                Act::Leave => self.leave(call.way, id).await,
                Act::Cancel => self.cancelled(call, id).await,
                _ => self.ended(call, id).await,
            }
        };
        timeout(WATCHDOG, made).await.map_err(|_| format!("without an answer after {WATCHDOG:?}"))?
    }

    /// Calls, and compares how it ended.
    async fn ended(&mut self, call: Call, id: &str) -> Result<Known, String> {
        let ended = self.answer(call, id).await?;
        let expected = match (call.act.code(), call.way) {
            (Some(code), _) => Err(code.to_owned()),
            (None, Way::Web) => Ok(Bytes::from_static(HELLO)),
            (None, _) => Ok(Bytes::from_static(ECHOED)),
        };
        if ended == expected { Ok(Known::Accepted) } else { Err(format!("ended with {ended:?}")) }
    }

    /// What returned, or the code of the error that came instead.
    async fn answer(&mut self, call: Call, id: &str) -> Result<Result<Bytes, String>, String> {
        let Call { way, act } = call;
        if way == Way::Grpc {
            return match self.grpc.invoke(asks::grpc(act, id)).await {
                Ok(answer) => Ok(Ok(Bytes::copy_from_slice(result(&answer)))),
                Err(CallError::Node(node)) if node.activation_id.as_deref() == Some(id) => {
                    Ok(Err(node.error.code().as_str().to_owned()))
                }
                Err(error) => Err(format!("{error:?}")),
            };
        }
        let (request, connection) = match way {
            Way::Web => (asks::web(act, id, &self.door.host), &mut self.web),
            _ => (self.door.json(act, id), &mut self.json),
        };
        if connection.as_ref().is_none_or(SendRequest::is_closed) {
            *connection = Some(self.door.connect(way).await?);
        }
        let sender = connection.as_mut().ok_or("there is a connection")?;
        let wrong = |error: hyper::Error| format!("the connection: {error}");
        sender.ready().await.map_err(wrong)?;
        let answer = sender.send_request(request).await.map_err(wrong)?;
        let (head, body) = answer.into_parts();
        let body = body.collect().await.map_err(wrong)?.to_bytes();
        let named = head.headers.get("latent-activation-id").is_some_and(|value| value.as_bytes() == id.as_bytes());
        match () {
            () if !named => Err(format!("{} without its activation's id: {body:?}", head.status)),
            () if head.status.is_success() => Ok(Ok(body)),
            () => code(&body).map(Err).ok_or_else(|| format!("{}: {body:?}", head.status)),
        }
    }

    /// Begins a call on a connection of its own, and closes that.
    async fn leave(&mut self, way: Way, id: &str) -> Result<Known, String> {
        let early = |answer: String| Err(format!("ended before its client left: {answer}"));
        if way == Way::Grpc {
            // Every other one leaves its stream alone, and the connection goes on.
            let own = client([self.door.invoke, self.door.control], &self.door.token)?;
            let by = if id.ends_with(['0', '2', '4', '6', '8']) { &own } else { &self.grpc };
            return match timeout(LEAVES, by.invoke(asks::grpc(Act::Leave, id))).await {
                Ok(answer) => early(format!("{answer:?}")),
                Err(_left) => Ok(Known::Left),
            };
        }
        let mut sender = self.door.connect(way).await?;
        let request = match way {
            Way::Web => asks::web(Act::Leave, id, &self.door.host),
            _ => self.door.json(Act::Leave, id),
        };
        match timeout(LEAVES, sender.send_request(request)).await {
            Ok(answer) => early(format!("{answer:?}")),
            Err(_left) => Ok(Known::Left),
        }
    }

    /// Calls, and cancels the activation as soon as the node knows it.
    async fn cancelled(&mut self, call: Call, id: &str) -> Result<Known, String> {
        let client = self.grpc.clone();
        let cancel = async {
            loop {
                let request = CancelRequest { activation_id: id.to_owned(), reason: "soak".to_owned() };
                match client.cancel(request).await {
                    Ok(_accepted) => return Ok(()),
                    // It may not have arrived yet.
                    Err(CallError::Node(node)) if node.error.code() == PlatformErrorCode::NotFound => (),
                    Err(error) => return Err(format!("its cancel: {error}")),
                }
                sleep(LOOK).await;
            }
        };
        let (known, cancelled) = tokio::join!(self.ended(call, id), cancel);
        cancelled.and(known)
    }
}

impl Door {
    fn json(&self, act: Act, id: &str) -> Request<Full<Bytes>> {
        asks::json(act, id, &self.invoke.to_string(), &self.token)
    }

    /// A connection over HTTP/1.1; closed when what it gives is dropped.
    async fn connect(&self, way: Way) -> Result<SendRequest<Full<Bytes>>, String> {
        let address = if way == Way::Web { self.http } else { self.invoke };
        let stream = TcpStream::connect(address).await.map_err(|error| format!("{address}: {error}"))?;
        stream.set_nodelay(true).map_err(|error| format!("{address}: {error}"))?;
        let (sender, driver) = handshake(TokioIo::new(stream)).await.map_err(|error| format!("{address}: {error}"))?;
        // How the connection ends, whoever sends on it is told.
        tokio::spawn(async { drop(driver.await) });
        Ok(sender)
    }
}

/// The code in an error's body.
fn code(body: &[u8]) -> Option<String> {
    let error: serde_json::Value = serde_json::from_slice(body).ok()?;
    error["code"].as_str().map(str::to_owned)
}
