//! What `latent check` found, for programs: one object a component. Pure.

use std::path::Path;

use latent_core::FunctionTarget;
use latent_executor::ComponentInspection;
use serde::Serialize;

use super::examine::{Compiled, Examined, Read};
use crate::errors::ErrorBody;

/// The line about the component at `path`, closed by a line feed.
pub fn line(path: &Path, examined: &Examined) -> Vec<u8> {
    let component = path.display().to_string();
    let unread;
    let line = match examined {
        Examined::Unread(failure) => {
            unread = failure.to_string();
            Line { error: Some(Reason::Unread { message: &unread }), ..Line::of(&component, None, None, None) }
        }
        Examined::Unknown { read, error } => {
            Line { error: Some(Reason::Refused(ErrorBody::of(error))), ..Line::of(&component, Some(read), None, None) }
        }
        Examined::Refused { read, inspection, error } => Line {
            taken: Some(false),
            error: Some(Reason::Refused(ErrorBody::of(error))),
            ..Line::of(&component, Some(read), inspection.as_ref(), None)
        },
        Examined::Taken { read, inspection, compiled } => {
            Line { taken: Some(true), ..Line::of(&component, Some(read), Some(inspection), Some(compiled)) }
        }
    };
    let mut bytes = serde_json::to_vec(&line).expect("numbers and strings always have a JSON form");
    bytes.push(b'\n');
    bytes
}

#[derive(Serialize)]
struct Line<'a> {
    component: &'a str,
    taken: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exports: Option<Vec<Export<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_callable: Option<Vec<Export<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    imports: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    image_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compile_millis: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Reason<'a>>,
}

#[derive(Serialize)]
struct Export<'a> {
    contract: &'a str,
    function: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Reason<'a> {
    Unread { message: &'a str },
    Refused(ErrorBody<'a>),
}

impl<'a> Line<'a> {
    fn of(
        component: &'a str,
        read: Option<&Read>,
        inspection: Option<&'a ComponentInspection>,
        compiled: Option<&Compiled>,
    ) -> Self {
        let took = compiled.and_then(|compiled| compiled.took);
        Self {
            component,
            taken: None,
            digest: read.map(|read| format!("sha256:{}", read.digest)),
            bytes: read.map(|read| read.bytes),
            exports: inspection.map(exports),
            not_callable: inspection.map(not_callable),
            imports: inspection.map(|known| known.imports.iter().map(|import| &*import.0).collect()),
            memory_bytes: inspection.map(|known| known.declared_memory_bytes),
            image_bytes: compiled.map(|compiled| compiled.image_bytes),
            compile_millis: took.map(|took| u64::try_from(took.as_millis()).unwrap_or(u64::MAX)),
            error: None,
        }
    }
}

fn exports(known: &ComponentInspection) -> Vec<Export<'_>> {
    let functions = known.surface.functions.iter();
    functions.map(|(target, signature)| Export { signature: Some(signature.to_string()), ..named(target) }).collect()
}

fn not_callable(known: &ComponentInspection) -> Vec<Export<'_>> {
    known.surface.refused.iter().map(|(target, reason)| Export { reason: Some(reason), ..named(target) }).collect()
}

fn named(target: &FunctionTarget) -> Export<'_> {
    Export { contract: &target.contract, function: &target.function, signature: None, reason: None }
}
