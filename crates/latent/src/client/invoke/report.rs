//! What an invocation prints. Pure: the answer or the error in, text and lines out, in the shape of `latent run`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use latent_core::{MediaType, PlatformError};
use latent_wire::client::NodeError;
use latent_wire::proto::invoke_response::Outcome;
use latent_wire::proto::{Consumption, InvokeResponse, Revision};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::client::failing::{LimitText, invocation_exit};
use crate::client::session::json_line;
use crate::client::shown::{self, Used, short};
use crate::ending::Exit;
use crate::errors::{ErrorBody, ErrorText};
use crate::printable::{Printable, printable_json};

/// The exit code of an answer.
pub fn exit(answer: &InvokeResponse) -> Exit {
    match &answer.outcome {
        Some(Outcome::DeclaredError(_)) => Exit::DeclaredError,
        Some(Outcome::Result(_)) | None => Exit::Success,
    }
}

/// What standard output gets: the result or the declared error; JSON closed by a line feed, bytes as they are.
pub fn result_text(answer: &InvokeResponse) -> Vec<u8> {
    let Some(Outcome::Result(bytes) | Outcome::DeclaredError(bytes)) = &answer.outcome else { return Vec::new() };
    if is_bytes(&answer.media_type) { bytes.to_vec() } else { [&*printable_json(bytes), b"\n"].concat() }
}

/// What standard error gets of an activation that completed: one line.
pub fn note(answer: &InvokeResponse) -> String {
    let outcome = if exit(answer) == Exit::Success { "succeeded" } else { "declared error" };
    let (id, revision) = (Printable(&answer.activation_id), revision_text(answer.revision.as_ref()));
    format!("{outcome}: activation {id}{revision}{}", used_text(answer.consumption.as_ref()))
}

/// What standard error gets of an activation that failed, or never was: what happened, and which limit ended it.
pub fn failure(node: &NodeError) -> Vec<String> {
    let mut lines = vec![ErrorText(&node.error).to_string()];
    let limit = LimitText(&node.error);
    if limit.is_some() {
        lines.push(limit.to_string());
    }
    if let Some(id) = &node.activation_id {
        let revision = node.revision.as_deref().map(|id| format!(", revision {}", Printable(&short(id))));
        let used = used_text(node.consumption.as_ref());
        lines.push(format!("activation {}{}{used}", Printable(id), revision.unwrap_or_default()));
    }
    lines
}

fn revision_text(revision: Option<&Revision>) -> String {
    let Some(revision) = revision else { return String::new() };
    format!(", deployment {}, revision {}", Printable(&revision.deployment), Printable(&short(&revision.id)))
}

fn used_text(consumption: Option<&Consumption>) -> String {
    consumption.map(|consumption| format!("; {}", shown::used(consumption))).unwrap_or_default()
}

fn is_bytes(media_type: &str) -> bool {
    media_type == MediaType::OctetStream.as_str()
}

/// The line of an answer, closed by a line feed.
pub fn line(answer: &InvokeResponse) -> Vec<u8> {
    let is_bytes = is_bytes(&answer.media_type);
    let (result, declared_error) = match &answer.outcome {
        Some(Outcome::Result(bytes)) => (Some(Value::of(bytes, is_bytes)), None),
        Some(Outcome::DeclaredError(bytes)) => (None, Some(Value::of(bytes, is_bytes))),
        None => (None, None),
    };
    let revision = answer.revision.as_ref();
    json_line(&Line {
        activation_id: Some(&answer.activation_id),
        outcome: if declared_error.is_some() { "declared-error" } else { "succeeded" },
        terminal_state: "completed",
        media_type: is_bytes.then_some(answer.media_type.as_str()),
        result,
        declared_error,
        error: None,
        limit: None,
        consumption: answer.consumption.as_ref().map(Used::of),
        revision: revision.map(|revision| revision.id.as_str()),
        deployment: revision.map(|revision| revision.deployment.as_str()),
        release: revision.map(|revision| revision.release.as_str()),
    })
}

/// The line of an activation that failed, or never was.
pub fn failed_line(node: &NodeError) -> Vec<u8> {
    let limit = LimitText(&node.error);
    json_line(&Line {
        activation_id: node.activation_id.as_deref(),
        outcome: "failed",
        terminal_state: terminal_state(&node.error),
        media_type: None,
        result: None,
        declared_error: None,
        error: Some(ErrorBody::of(&node.error)),
        limit: limit.is_some().then(|| limit.to_string()),
        consumption: node.consumption.as_ref().map(Used::of),
        revision: node.revision.as_deref(),
        deployment: None,
        release: None,
    })
}

/// The state in which an activation with this error ended, as far as the error says it.
fn terminal_state(error: &PlatformError) -> &'static str {
    if invocation_exit(error) == Exit::ActivationFailed { error.code().terminal_state().as_str() } else { "rejected" }
}

#[derive(Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    activation_id: Option<&'a str>,
    outcome: &'static str,
    terminal_state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared_error: Option<Value<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorBody<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumption: Option<Used>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deployment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<&'a str>,
}

/// A payload: JSON as the node wrote it, or bytes as base64. What claims to be JSON and is not is shown as bytes.
#[derive(Serialize)]
#[serde(untagged)]
enum Value<'a> {
    Json(&'a RawValue),
    Bytes(String),
}

impl<'a> Value<'a> {
    fn of(bytes: &'a [u8], is_bytes: bool) -> Self {
        match serde_json::from_slice(bytes) {
            Ok(json) if !is_bytes => Self::Json(json),
            _ => Self::Bytes(STANDARD.encode(bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latent_core::{ErrorDetail, PlatformErrorCode};

    fn answer(media_type: &str, outcome: Outcome) -> InvokeResponse {
        InvokeResponse {
            activation_id: "a-1".to_owned(),
            revision: Some(Revision { id: "beef".to_owned(), deployment: "blue".to_owned(), ..Default::default() }),
            consumption: Some(Consumption { fuel: 7, ..Default::default() }),
            media_type: media_type.to_owned(),
            outcome: Some(outcome),
        }
    }

    fn failed(kind: &str) -> NodeError {
        let error =
            PlatformError::new(PlatformErrorCode::ResourceExhausted, "used up").with_detail(ErrorDetail::new(kind));
        NodeError { error, activation_id: Some("a-1".to_owned()), revision: Some("beef".to_owned()), consumption: None }
    }

    #[test]
    fn results_and_declared_errors_are_json_lines_and_bytes_are_bytes() {
        let json = |outcome| answer("application/json", outcome);
        let (result, declared) = (Outcome::Result("[1]".into()), Outcome::DeclaredError("{\"a\":1}".into()));
        assert_eq!(result_text(&json(result.clone())), b"[1]\n");
        assert_eq!((exit(&json(result)), exit(&json(declared.clone()))), (Exit::Success, Exit::DeclaredError));
        assert_eq!(result_text(&json(declared)), b"{\"a\":1}\n");
        let octets = answer("application/octet-stream", Outcome::Result(b"\xff"[..].into()));
        assert_eq!(result_text(&octets), b"\xff");
    }

    #[test]
    fn the_line_of_an_answer_has_the_keys_of_latent_run() {
        let line = line(&answer("application/json", Outcome::Result("{\"b\":1,\"a\":2}".into())));
        let wanted = concat!(
            r#"{"activation_id":"a-1","outcome":"succeeded","terminal_state":"completed","result":{"b":1,"a":2},"#,
            r#""consumption":{"fuel":7,"peak_memory_bytes":0,"wall_time_micros":0,"log_bytes":0,"outbound_requests":0},"#,
            r#""revision":"beef","deployment":"blue","release":""}"#,
            "\n"
        );
        assert_eq!(String::from_utf8(line).unwrap(), wanted);
    }

    #[test]
    fn bytes_are_base64_and_so_is_what_only_claims_to_be_json() {
        for (media_type, bytes) in [("application/octet-stream", "[1]"), ("application/json", "[1")] {
            let line = line(&answer(media_type, Outcome::Result(bytes.into())));
            let line: serde_json::Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(line["result"], STANDARD.encode(bytes));
        }
    }

    #[test]
    fn a_failure_says_what_happened_which_limit_fired_and_to_which_activation() {
        let lines = failure(&failed("activation.fuel-exhausted"));
        assert!(lines[0].starts_with("resource-exhausted: used up"), "{lines:?}");
        assert!(lines[1].contains("limit of fuel"), "{lines:?}");
        assert_eq!(lines[2], "activation a-1, revision beef");
        let line: serde_json::Value =
            serde_json::from_slice(&failed_line(&failed("activation.fuel-exhausted"))).unwrap();
        assert_eq!((&line["outcome"], &line["terminal_state"]), (&"failed".into(), &"resource-exhausted".into()));
        assert!(line["limit"].as_str().unwrap().contains("fuel"));
        assert_eq!(failure(&failed("values.json")).len(), 2);
    }

    #[test]
    fn one_line_says_which_activation_and_what_it_used() {
        let note = note(&answer("application/json", Outcome::Result("1".into())));
        assert!(note.starts_with("succeeded: activation a-1, deployment blue, revision beef; time "), "{note}");
    }
}
