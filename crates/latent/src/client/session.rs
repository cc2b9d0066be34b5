//! One command's connection to its node, and the form in which it prints.

use std::io;
use std::path::PathBuf;

use etcetera::BaseStrategy as _;
use latent_wire::client::{CallError, Client, NodeError};
use serde::Serialize;

use super::failing;
use super::finding::{Address, Found, NodeArgs, Origin, find};
use super::shown::Used;
use crate::cli::OutputForm;
use crate::ending::{Exit, Failure};
use crate::errors::ErrorBody;
use crate::printable::printable_json;
use crate::terminal::{to_stderr, to_stdout, warn};

/// A node, and how to print what it says.
pub struct Session {
    /// The node's calls.
    pub client: Client,
    form: OutputForm,
    found: Found,
}

/// Why a command ends before it has done what it was asked to.
#[derive(Debug)]
pub enum Ended {
    /// For a reason of its own.
    Failed(Failure),
    /// The node refused a call.
    Refused(Box<NodeError>),
    /// Nobody reads any more.
    Lost(io::Error),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// Where the user's own profile is, if they have one.
fn users_profile() -> Option<PathBuf> {
    etcetera::choose_base_strategy().ok().map(|user| user.config_dir().join("latent").join("client.toml"))
}

impl Session {
    /// The session with the node that `args` mean. Must be called within a runtime.
    ///
    /// # Errors
    /// One sentence about what cannot be used.
    pub fn open(args: &NodeArgs) -> Result<Self, Failure> {
        let here = std::env::current_dir()
            .map_err(|error| Failure::local(format!("cannot tell the working directory: {error}")))?;
        let found = find(args, &here, users_profile().as_deref())?;
        for address in [&found.invoke, &found.control] {
            // One that was found beside the other is said with it.
            let is_named = !matches!(address.origin, Origin::Beside(_));
            if found.token.is_some() && is_named && is_open(&address.url) {
                warn(&format!("the token goes to {} unencrypted, and who sees it can use it; use https", address.url));
            }
        }
        let client = Client::connect(found.target()).map_err(|bad| Failure::usage(bad.to_string()))?;
        Ok(Self { client, form: args.output, found })
    }

    /// Whether output is for programs.
    pub fn is_json(&self) -> bool {
        self.form == OutputForm::Json
    }

    /// Why a call has no answer. What is not `Invoke` was asked at the control address.
    pub fn ended(&self, error: CallError) -> Ended {
        self.at(error, &self.found.control)
    }

    /// Why an invocation has no answer.
    pub fn invocation_ended(&self, error: CallError) -> Ended {
        self.at(error, &self.found.invoke)
    }

    #[expect(clippy::unused_self, reason = "the address is the session's")]
    fn at(&self, error: CallError, address: &Address) -> Ended {
        match error {
            CallError::Node(node) => Ended::Refused(node),
            other => Ended::Failed(failing::unanswered(&other, address)),
        }
    }

    /// Prints one answer: as one line of JSON, or as `text`, which has its own line feeds.
    ///
    /// # Errors
    /// When standard output is lost.
    pub fn print(&self, answer: &impl Serialize, text: impl FnOnce() -> String) -> io::Result<()> {
        match self.form {
            OutputForm::Json => to_stdout(&json_line(answer)),
            OutputForm::Text => to_stdout(text().as_bytes()),
        }
    }

    /// Prints one answer, and says that all went well.
    ///
    /// # Errors
    /// When standard output is lost.
    pub fn done(&self, answer: &impl Serialize, text: impl FnOnce() -> String) -> Result<Exit, Ended> {
        self.print(answer, text)?;
        Ok(Exit::Success)
    }

    /// Tells people something that is no answer.
    pub fn note(&self, line: &str) {
        if self.form == OutputForm::Text {
            to_stderr(&format!("{line}\n"));
        }
    }

    /// Prints the object of a refused call; only the JSON form has it.
    ///
    /// # Errors
    /// When standard output is lost.
    pub fn print_refusal(&self, node: &NodeError) -> io::Result<()> {
        match self.form {
            OutputForm::Json => to_stdout(&json_line(&Refusal::of(node))),
            OutputForm::Text => Ok(()),
        }
    }
}

/// Whether what is sent to `url` can be read on the way.
fn is_open(url: &str) -> bool {
    let Some(authority) = url.strip_prefix("http://") else { return false };
    let host = authority.rsplit_once(':').map_or(authority, |(host, _port)| host);
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<std::net::IpAddr>();
    host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
}

/// A value as one line of JSON that cannot drive a terminal.
pub fn json_line(value: &impl Serialize) -> Vec<u8> {
    let json = serde_json::to_vec(value).expect("numbers, strings and maps of them always have a JSON form");
    [&*printable_json(&json), b"\n"].concat()
}

/// The object of a refused call.
#[derive(Serialize)]
struct Refusal<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    activation_id: Option<&'a str>,
    error: ErrorBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consumption: Option<Used>,
}

impl<'a> Refusal<'a> {
    fn of(node: &'a NodeError) -> Self {
        Self {
            activation_id: node.activation_id.as_deref(),
            error: ErrorBody::of(&node.error),
            revision: node.revision.as_deref(),
            consumption: node.consumption.as_ref().map(Used::of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_on_the_machine_or_is_encrypted_is_closed() {
        for url in
            ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost:1", "https://example.org", "http://127.0.0.1"]
        {
            assert!(!is_open(url), "{url}");
        }
        for url in ["http://example.org:1", "http://10.0.0.1:7071", "http://localhost.evil.org", "http://[fe80::1]:1"] {
            assert!(is_open(url), "{url}");
        }
    }

    #[test]
    fn json_cannot_drive_a_terminal() {
        assert_eq!(json_line(&"\u{9b}31m\u{1b}"), b"\"\\u009b31m\\u001b\"\n");
    }
}
