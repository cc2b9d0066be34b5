//! The same calls over plain HTTP.

mod activations;
mod invoke;
mod management;
mod open;
mod requests;

use std::collections::BTreeMap;

use axum::body::Body;
use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use latent_wire::api::Listener;
use latent_wire::json::Edge;
use serde_json::Value;
use tower::ServiceExt as _;

use crate::support::{Node, WATCHDOG};

/// An answer with its whole body.
pub struct Answer {
    pub status: StatusCode,
    headers: http::HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("visible"))
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/json", "{:?}", self.body);
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("text")
    }

    /// The code of an error and the kind of its first detail, after a look at the status.
    #[track_caller]
    pub fn refused(&self, status: u16) -> (String, String) {
        assert_eq!(self.status.as_u16(), status, "{}", self.text());
        let error = self.json();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&error["code"]), text(&error["details"][0]["kind"]))
    }

    #[track_caller]
    pub fn message(&self, status: u16) -> String {
        self.refused(status);
        self.json()["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// A call that is being put together, by the holder of all roles of tenant `t`.
pub struct Ask(http::request::Builder, Body);

pub fn ask(method: Method, target: &str) -> Ask {
    let builder = Request::builder().method(method).uri(target).header("host", "here");
    Ask(builder, Body::empty())
}

pub fn get(target: &str) -> Ask {
    ask(Method::GET, target)
}

pub fn post(target: &str, body: impl Into<Body>) -> Ask {
    ask(Method::POST, target).with_body(body)
}

impl Ask {
    pub fn with_body(self, body: impl Into<Body>) -> Self {
        Self(self.0, body.into())
    }

    pub fn with(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        Self(self.0.header(name, value.as_ref()), self.1)
    }

    pub fn by(self, token: &str) -> Self {
        self.with("authorization", format!("Bearer {token}"))
    }

    pub fn request(self) -> Request<Body> {
        self.0.body(self.1).expect("a well-formed request")
    }

    /// Asks in the name of the holder of all roles.
    pub async fn of(self, edge: &Edge) -> Answer {
        self.by("all").raw(edge).await
    }

    /// Asks as it is.
    pub async fn raw(self, edge: &Edge) -> Answer {
        let answer = async {
            let Ok(response) = edge.clone().oneshot(self.request()).await;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.expect("a body that does not break").to_bytes();
            Answer { status: parts.status, headers: parts.headers, body }
        };
        tokio::time::timeout(WATCHDOG, answer).await.expect("an answer")
    }
}

pub fn edge(node: &Node, listener: Listener) -> Edge {
    node.edge(listener, node.routes(listener))
}

/// The events of a body of server-sent events: their fields by name.
pub fn events(text: &str) -> Vec<BTreeMap<&str, &str>> {
    text.split_terminator("\n\n")
        .map(|block| block.lines().filter_map(|line| line.split_once(": ")).collect())
        .collect()
}
