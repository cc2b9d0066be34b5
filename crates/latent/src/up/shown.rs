//! What is told of a service: that it is deployed, what it offers, and how to call it. Pure.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use latent_catalog::Release;
use latent_core::http::HttpIngress;
use latent_core::{ContractSurface, FunctionTarget, ServiceName};

use super::deploying::Change;
use super::{routing, sample};
use crate::printable::Printable;

/// Where the node is.
#[derive(Debug)]
pub struct Place {
    /// The URL of the invoke listener.
    pub invoke: String,
    /// The URL of the control listener.
    pub control: String,
    /// The URL of the listener for HTTP requests of components.
    pub http: String,
    /// The file with the token.
    pub credential: PathBuf,
}

/// A service as it is deployed.
#[derive(Debug)]
pub struct Service {
    /// What it is called.
    pub name: ServiceName,
    /// What answers.
    pub release: Arc<Release>,
    /// The HTTP requests that it answers.
    pub http: HttpIngress,
}

impl Service {
    /// Its functions.
    pub fn surface(&self) -> &ContractSurface {
        self.release.surface()
    }

    /// Whether `other` has the same functions.
    pub fn offers_as(&self, other: &Self) -> bool {
        self.surface() == other.surface()
    }
}

/// The line of a deployment that took `took`.
pub fn deployed(service: &Service, path: &Path, change: Change, took: Duration) -> String {
    let (name, path) = (Printable(service.name.as_str()), path.to_string_lossy());
    let release = service.release.digest().to_string();
    let (again, until) = match change {
        Change::Made | Change::Nothing => ("", ""),
        Change::Replaced => (" again", "; calls under way end on the code that they began with"),
    };
    let (path, release) = (Printable(&path), release.get(..12).unwrap_or(&release));
    format!("{name}: deployed {path}{again} as release {release}, after {:.2} s{until}\n", took.as_secs_f64())
}

/// A line for each function of `service`, and one that calls the first of them.
pub fn functions(service: &Service, place: &Place) -> String {
    let mut text = String::new();
    for (target, signature) in &service.surface().functions {
        let (target, signature) = (target.to_string(), signature.to_string());
        let _infallible = writeln!(text, "  {}: {}", Printable(&target), Printable(&signature));
    }
    if let Some((target, signature)) = service.surface().functions.first() {
        let _infallible = writeln!(text, "  {}", curl(service, target, &sample::arguments(signature), place));
    }
    match (routing::url(&service.http, &place.http), service.surface().http_handler()) {
        (Some(url), Some(_)) => {
            let _infallible = writeln!(text, "  curl {}", quoted(&url));
        }
        (None, Some(_)) => {
            text.push_str("  it answers HTTP, and has no route: give it one with `latent deploy --http`\n");
        }
        (_, None) if service.surface().functions.is_empty() => {
            text.push_str("  it exports no function that can be called\n");
        }
        (_, None) => {}
    }
    text
}

/// The command that calls `target` with `arguments`.
fn curl(service: &Service, target: &FunctionTarget, arguments: &str, place: &Place) -> String {
    let credential = quoted(&place.credential.to_string_lossy());
    let mut path = escaped(service.name.as_str());
    if !target.contract.is_empty() {
        let _infallible = write!(path, "/{}", escaped(short(service.surface(), target)));
    }
    let url = format!("{}/v1/invoke/{path}/{}", place.invoke, escaped(&target.function));
    format!(
        "curl -H \"authorization: Bearer $(cat {credential})\" -H 'content-type: application/json' -d {} {}",
        quoted(arguments),
        quoted(&url)
    )
}

/// The last part of the contract's name where that is enough, otherwise all of it.
fn short<'t>(surface: &ContractSurface, target: &'t FunctionTarget) -> &'t str {
    let unversioned = target.contract.split_once('@').map_or(&*target.contract, |(name, _)| name);
    let last = unversioned.rsplit_once('/').map_or(unversioned, |(_, last)| last);
    let is_enough = surface.find(&format!("{last}#{}", target.function)) == Ok(target);
    if is_enough { last } else { &target.contract }
}

/// A part of a URL's path: everything but what is never special there is written as bytes.
fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _infallible = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// A word of a shell's command line.
fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/:%@+=,".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_more_into_them() {
        assert_eq!(quoted(".latent/dev-credential"), ".latent/dev-credential");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $(x)"), r"'it'\''s $(x)'");
        assert_eq!(quoted(""), "''");
    }

    #[test]
    fn a_path_has_nothing_that_a_url_would_read_otherwise() {
        assert_eq!(escaped("a:b/c@1.0.0"), "a%3Ab%2Fc%401.0.0");
        assert_eq!(escaped("grün?"), "gr%C3%BCn%3F");
    }
}
