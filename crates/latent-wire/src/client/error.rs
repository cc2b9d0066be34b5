//! How a call can fail: by the node's own error, or before or without one.

use std::error::Error;
use std::fmt;

use latent_core::error::{DETAILS_MAX, FIELDS_MAX};
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use tonic::{ConnectError, Status};

use super::innermost;
use crate::grpc::error_of;
use crate::proto;

/// An error that the node gave, with what it said of the activation it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeError {
    /// What went wrong.
    pub error: PlatformError,
    /// The activation, once there was one.
    pub activation_id: Option<String>,
    /// The revision, once it was pinned to one.
    pub revision: Option<String>,
    /// What it used.
    pub consumption: Option<proto::Consumption>,
}

impl NodeError {
    /// The error in `message`; `None` for a code that this client does not know.
    #[must_use]
    pub fn of(message: proto::Error) -> Option<Self> {
        let code = *PlatformErrorCode::ALL.iter().find(|code| code.as_str() == message.code)?;
        let error = PlatformError::new(code, message.message);
        let error = if message.retryable { error.retryable() } else { error };
        let error = message.details.into_iter().take(DETAILS_MAX).fold(error, |error, detail| {
            let fields = detail.fields.into_iter().take(FIELDS_MAX);
            error.with_detail(
                fields.fold(ErrorDetail::new(&detail.kind), |detail, field| detail.with(&field.name, field.value)),
            )
        });
        let known = |text: String| (!text.is_empty()).then_some(text);
        Some(Self {
            error,
            activation_id: known(message.activation_id),
            revision: known(message.revision),
            consumption: message.consumption,
        })
    }
}

/// Why a call has no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum CallError {
    /// The node answered with an error.
    Node(Box<NodeError>),
    /// No connection came to be: nothing was sent. Has the reason, a lower-case fragment.
    Unreachable(String),
    /// The connection was lost, or what answers is no latent node: whether the call took effect is not known. Has one
    /// sentence without a full stop.
    Transport(String),
}

impl CallError {
    pub(super) fn of(status: &Status) -> Self {
        if let Some(error) = error_of(status).and_then(NodeError::of) {
            return Self::Node(Box::new(error));
        }
        let mut below = status.source();
        while let Some(error) = below {
            if error.is::<ConnectError>() {
                return Self::Unreachable(innermost(error));
            }
            below = error.source();
        }
        match status.source() {
            Some(error) => Self::Transport(format!("the connection to the node was lost: {}", innermost(error))),
            None => Self::Transport(format!(
                "the node gave an answer that this client does not understand: {:?}: {}",
                status.code(),
                status.message()
            )),
        }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => node.error.fmt(f),
            Self::Unreachable(reason) => write!(f, "no connection to the node: {reason}"),
            Self::Transport(sentence) => f.write_str(sentence),
        }
    }
}

impl Error for CallError {}
