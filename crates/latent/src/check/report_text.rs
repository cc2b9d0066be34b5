//! What `latent check` found, for people. Pure.

use std::fmt::{self, Write as _};
use std::path::Path;

use latent_executor::ComponentInspection;

use super::examine::{Compiled, Examined, Read};
use crate::errors::ErrorText;
use crate::printable::Printable;
use crate::quantities::Size;

/// Functions or imports that are listed; of more the number is told.
const LISTED_MAX: usize = 100;

/// The text about the component at `path`, closed by a line feed.
pub fn text(path: &Path, examined: &Examined) -> String {
    let path = path.display().to_string();
    let mut text = String::new();
    let verdict = match examined {
        Examined::Taken { .. } => "a node would take it".to_owned(),
        Examined::Refused { error, .. } => format!("refused: {}", ErrorText(error)),
        Examined::Unknown { error, .. } => format!("cannot tell: {}", ErrorText(error)),
        Examined::Unread(failure) => format!("cannot tell: {}", Printable(&failure.to_string())),
    };
    put(&mut text, format_args!("{}: {verdict}", Printable(&path)));
    match examined {
        Examined::Unread(_) => (),
        Examined::Unknown { read, .. } => about_bytes(&mut text, read),
        Examined::Refused { read, inspection, .. } => {
            about_bytes(&mut text, read);
            if let Some(inspection) = inspection {
                about_contract(&mut text, inspection);
            }
        }
        Examined::Taken { read, inspection, compiled } => {
            about_bytes(&mut text, read);
            about_contract(&mut text, inspection);
            about_code(&mut text, inspection, compiled);
        }
    }
    text
}

fn about_bytes(text: &mut String, read: &Read) {
    put(text, format_args!("  size      {}, sha256:{}", Size(read.bytes), read.digest));
}

fn about_contract(text: &mut String, inspection: &ComponentInspection) {
    let functions = inspection.surface.functions.iter();
    list(text, "exports", functions.map(|(target, signature)| format!("{target}: {signature}")));
    let refused = inspection.surface.refused.iter();
    list(text, "not callable", refused.map(|(target, reason)| format!("{target}: {reason}")));
    list(text, "imports", inspection.imports.iter().map(ToString::to_string));
}

fn about_code(text: &mut String, inspection: &ComponentInspection, compiled: &Compiled) {
    let (least, image) = (Size(inspection.declared_memory_bytes), Size(compiled.image_bytes));
    put(text, format_args!("  memory    {least} or more for each activation: what its largest memory begins with"));
    let compiled = match compiled.took {
        Some(took) => format!("compiled in {:.2} s", took.as_secs_f64()),
        None => "compiled before".to_owned(),
    };
    put(text, format_args!("  code      {image}, mapped once for all; {compiled}"));
}

/// One line for each of `lines`, under a heading if there are any.
fn list(text: &mut String, heading: &str, lines: impl ExactSizeIterator<Item = String>) {
    let more = lines.len().saturating_sub(LISTED_MAX);
    for (at, line) in lines.take(LISTED_MAX).enumerate() {
        if at == 0 {
            put(text, format_args!("  {heading}"));
        }
        put(text, format_args!("    {}", Printable(&line)));
    }
    if more > 0 {
        put(text, format_args!("    and {more} more"));
    }
}

fn put(text: &mut String, line: fmt::Arguments<'_>) {
    let _infallible = writeln!(text, "{line}");
}
