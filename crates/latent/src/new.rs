//! `latent new`: a small HTTP service in a directory of its own, with what builds it.
//!
//! Invariant: a directory that is there already is never written into, and what is written is what the example in this
//! repository has, but for the name.

mod template;

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::cli::OutputForm;
use crate::ending::{Exit, Failure};
use crate::terminal;
use template::Language;

/// The longest name, in bytes: a label of a host has no more, and `NAME.localhost` is one of the service's hosts.
const NAME_BYTES_MAX: usize = 63;

pub const NEW_LONG_ABOUT: &str = "\
Writes a small HTTP service into a new directory: a greeting, JSON that comes back, an echo that streams, and a request \
of its own.

The service is an ordinary component for `wasi:http`, with nothing in it that only this node has. `build.sh` builds it \
with the language's own toolchain, and says what to install where that is missing. Nothing is downloaded by this command.";

pub const NEW_AFTER_LONG_HELP: &str = "\
Prints the three commands that build, serve and call the service. With --output json: one object {directory, language, \
files, commands}.

Exit codes: 0 done; 1 the directory is there already or cannot be written; 2 wrong usage.

Examples:
  latent new shop --lang rust
  latent new shop --lang js --output json";

/// What `latent new` takes.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// What the service and its directory are called: `a` to `z`, digits and `-`, beginning with a letter
    #[arg(value_name = "NAME", value_parser = parse_name)]
    pub name: String,

    /// The language that it is written in
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    pub lang: Language,

    /// How to print what was made
    #[arg(long, value_name = "FORM", value_enum, default_value_t = OutputForm::Text)]
    pub output: OutputForm,
}

/// A name that can be that of a directory, a package of each language and a label of a host.
fn parse_name(text: &str) -> Result<String, String> {
    let is_begun = text.starts_with(|first: char| first.is_ascii_lowercase()) && !text.ends_with('-');
    let is_plain = text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if is_begun && is_plain && text.len() <= NAME_BYTES_MAX {
        return Ok(text.to_owned());
    }
    Err(format!(
        "expected at most {NAME_BYTES_MAX} of a to z, digits and `-`, beginning with a letter and not ending with `-`"
    ))
}

/// `latent new`.
pub fn new(args: &NewArgs) -> Exit {
    let NewArgs { name, lang, output } = args;
    match make(Path::new(name), *lang, name) {
        Ok(()) => terminal::to_stdout(told(name, *lang, *output).as_bytes())
            .map_or_else(|lost| terminal::lost_output(&lost, Exit::Success), |()| Exit::Success),
        Err(failure) => terminal::failure(&failure),
    }
}

/// Writes the service called `name` into `directory`, which is made.
///
/// # Errors
/// One sentence: the directory is there, or what could not be written.
fn make(directory: &Path, language: Language, name: &str) -> Result<(), Failure> {
    std::fs::create_dir(directory).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let place = directory.display();
            Failure::local(format!("{place} is there already and stays as it is; choose another name or remove it"))
        }
        _ => unwritten(directory, &error),
    })?;
    for file in language.files() {
        let path = directory.join(file.path);
        let text = file.text_for(name);
        write(&path, &text, file.is_program()).map_err(|error| {
            Failure::local(format!("{}; remove {name} before you try again", unwritten(&path, &error)))
        })?;
    }
    Ok(())
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::local(format!("cannot write {}: {error}", path.display()))
}

fn write(path: &Path, text: &str, is_program: bool) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mode = if is_program { 0o777 } else { 0o666 };
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?.write_all(text.as_bytes())
}

/// The commands that build, serve and call the service, one after the other in one shell.
fn commands(name: &str) -> [String; 3] {
    [
        format!("cd {name} && ./build.sh {name}.wasm"),
        format!("latent up {name}.wasm"),
        "curl http://127.0.0.1:8080/".to_owned(),
    ]
}

fn told(name: &str, language: Language, output: OutputForm) -> String {
    let [build, serve, call] = commands(name);
    let paths: Vec<_> = language.files().map(|file| PathBuf::from(name).join(file.path)).collect();
    match output {
        OutputForm::Json => {
            let language = language.to_possible_value().map(|value| value.get_name().to_owned());
            let object = json!({
                "directory": name, "language": language, "files": paths, "commands": [build, serve, call],
            });
            format!("{object}\n")
        }
        OutputForm::Text => format!(
            "made {name} with {} files; README.md says more\n\n  {build}\n  {serve}\n\n\
             and, while that runs, from another terminal\n\n  {call}\n",
            paths.len()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_a_directory_a_package_and_a_host_can_have() {
        for name in ["a", "shop", "shop-2", "a--b", &"a".repeat(63)] {
            assert_eq!(parse_name(name).as_deref(), Ok(name));
        }
        for name in ["", "-a", "a-", "2a", "Shop", "a_b", "a.b", "a/b", "..", "ä", "a b", "a\n", &"a".repeat(64)] {
            assert!(parse_name(name).is_err_and(|told| told.contains("beginning with a letter")), "{name:?}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let inside = dir.path().join("missing/shop");
        let failure = make(&inside, Language::Js, "shop").unwrap_err();
        assert!(failure.to_string().contains(inside.to_str().unwrap()), "{failure}");
        assert_eq!(failure.exit(), Exit::LocalFailure);
        assert!(write(dir.path(), "", false).is_err(), "a directory is no file");
    }
}
