//! Publishing a file, with a bar on the terminal while it is sent.

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use latent_core::Sha256Digest;
use latent_core::error::cut;
use latent_wire::proto::{PublishHead, PublishResponse};

use super::session::{Ended, Session};
use crate::input;
use crate::printable::Printable;

/// The largest component that is read, in bytes; the node has its own bound, which may be lower.
const COMPONENT_BYTES_MAX: u64 = 1 << 30;
/// The largest manifest that is read, in bytes, as the node's own bound.
const MANIFEST_BYTES_MAX: u64 = 64 << 10;
/// Bytes of a file's name that are shown, so that a line holds it.
const NAME_BYTES_MAX: usize = 30;

/// Publishes the component in the file at `path`, text in a `.wat` file included, with its capsule manifest, if any.
///
/// # Errors
/// One sentence about a file that cannot be read; what the node refuses.
pub async fn publish(session: &Session, path: &Path, manifest: Option<&Path>) -> Result<PublishResponse, Ended> {
    let manifest = manifest.map(text).transpose()?.unwrap_or_default();
    let artifact = input::component(path, COMPONENT_BYTES_MAX)?;
    let component = artifact.bytes().clone();
    let head = PublishHead { manifest, expected_digest: digest(&artifact.digest()), size: 0 };
    let bar = bar(session, path, component.len() as u64);
    let drawn = bar.clone();
    let answer = session.client.publish(head, component, move |sent| drawn.set_position(sent)).await;
    bar.finish_and_clear();
    answer.map_err(|error| session.ended(error))
}

/// Reads a manifest, which is text.
///
/// # Errors
/// One sentence with the file and what is wrong.
pub fn text(path: &Path) -> Result<String, Ended> {
    let bytes = input::file(path, MANIFEST_BYTES_MAX)?;
    let failure =
        |_not_text| crate::ending::Failure::local(format!("{} is no manifest: expected JSON in UTF-8", path.display()));
    Ok(String::from_utf8(bytes).map_err(failure)?)
}

fn digest(digest: &Sha256Digest) -> String {
    format!("sha256:{digest}")
}

/// Draws to standard error, and only if that is a terminal and people are to read it.
fn bar(session: &Session, path: &Path, bytes: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("sending {msg} {wide_bar} {bytes} of {total_bytes}");
    let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::hidden());
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    bar.set_message(Printable(cut(&name, NAME_BYTES_MAX)).to_string());
    bar.set_style(style.expect("the template is well-formed"));
    if !session.is_json() {
        bar.set_draw_target(ProgressDrawTarget::stderr());
    }
    bar
}
