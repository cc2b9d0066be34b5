//! The example of a configuration: every key with what it does, its bounds and its default. Pure.

use std::fmt::Write as _;

use super::effective::range;
use super::keys::{KEYS, Key};
use super::settings::Config;

const HEAD: &str = "\
# The configuration of a latent node: `latent serve --config latent.toml`.
#
# Every key is here with its default, so that this file changes nothing. Keys that are not here are refused. Sizes are
# written as \"64Mi\", durations as \"500ms\", \"30s\" or \"1h\". `latent config --config latent.toml` shows what is in force, and
# from where. Relative paths are relative to this file.
";

const TAIL: &str = "
# Tenants that are made at the start when they do not exist; those that do are left as they are. A key that is not set
# restricts nothing that the node does not.
#
# [tenants.acme]
# live = 32          # activations at once, waiting ones included
# queued = 16        # of those, activations without a cell
# fuel = 3200000000  # what live activations may have together
# memory = \"2Gi\"     # what live activations may have together
# payload = \"1Mi\"    # one payload
# priority = 10      # the highest
# disk = \"1Gi\"       # releases on disk
";

/// The text.
pub fn text() -> String {
    let mut config = Config::default();
    let (mut text, mut section) = (HEAD.to_owned(), "");
    for key in KEYS {
        let (of, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        if of != section {
            let _infallible = write!(text, "\n[{of}]");
            section = of;
        }
        write_key(&mut text, key, name, (key.field)(&mut config).written());
    }
    text.push_str(TAIL);
    text
}

fn write_key(text: &mut String, key: &Key, name: &str, value: Option<String>) {
    let bounds = key.bounds.map_or(String::new(), |bounds| format!(" [{}]", range(key, bounds)));
    let _infallible = write!(text, "\n# {}{bounds}\n", key.about);
    let _infallible = match value {
        Some(value) => writeln!(text, "{name} = {value}"),
        None => writeln!(text, "# {name} ="),
    };
}
