//! The files of the services that are written: those of examples/http-service, which are tested.
//!
//! Invariant: only the name of the example stands for the name of a service, and nothing else in a file is changed.

use clap::ValueEnum;

/// What the example is called, in each file that names the service.
const EXAMPLE: &str = "http-service";

/// A file of a service.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Where it is, below the service's directory.
    pub path: &'static str,
    text: &'static str,
}

impl File {
    /// What is in it, for the service called `name`. Contracts are the same for all.
    pub fn text_for(&self, name: &str) -> String {
        if self.path.starts_with("wit/") { self.text.to_owned() } else { self.text.replace(EXAMPLE, name) }
    }

    /// Whether it is to be run.
    pub fn is_program(&self) -> bool {
        self.path == "build.sh"
    }
}

/// Files of one directory of the example, `$to` being what their paths begin with in a service.
macro_rules! files {
    ($from:literal, $to:literal, $($path:literal),+) => {
        &[$(File {
            path: concat!($to, $path),
            text: include_str!(concat!("../../../../examples/http-service/", $from, $path)),
        }),+]
    };
}

const RUST: &[File] =
    files!("rust/", "", ".gitignore", "Cargo.toml", "Cargo.lock", "README.md", "build.sh", "src/lib.rs");
const JS: &[File] = files!("js/", "", ".gitignore", "README.md", "build.sh", "package.json", "service.js");
const PYTHON: &[File] = files!("python/", "", ".gitignore", "README.md", "app.py", "build.sh", "requirements.txt");
const WIT: &[File] = files!(
    "wit/",
    "wit/",
    "service.wit",
    "deps/cli.wit",
    "deps/clocks.wit",
    "deps/http.wit",
    "deps/io.wit",
    "deps/random.wit"
);

/// A language that a service can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// With wstd, for cargo's target wasm32-wasip2
    Rust,
    /// With fetch events, for jco
    Js,
    /// With asyncio, for componentize-py
    Python,
}

impl Language {
    /// The files of a service in it. Rust takes the contract from a crate.
    pub fn files(self) -> impl Iterator<Item = &'static File> {
        let (own, wit) = match self {
            Self::Rust => (RUST, &[][..]),
            Self::Js => (JS, WIT),
            Self::Python => (PYTHON, WIT),
        };
        own.iter().chain(wit)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    const LANGUAGES: [(Language, &str); 3] =
        [(Language::Rust, "rust"), (Language::Js, "js"), (Language::Python, "python")];

    fn example() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/http-service")
    }

    #[test]
    fn a_service_called_as_the_example_has_exactly_its_files() {
        for (language, directory) in LANGUAGES {
            for file in language.files() {
                let from = if file.path.starts_with("wit/") { example() } else { example().join(directory) };
                let there = std::fs::read_to_string(from.join(file.path)).expect("the example has it");
                assert_eq!(file.text_for(EXAMPLE), there, "{directory}: {}", file.path);
            }
        }
    }

    #[test]
    fn every_contract_that_is_there_is_written() {
        let written: BTreeSet<_> = WIT.iter().map(|file| example().join(file.path)).collect();
        let read = |of: &str| std::fs::read_dir(example().join(of)).expect("the example has contracts");
        let there = read("wit").chain(read("wit/deps")).map(|entry| entry.expect("it can be read").path());
        let there: BTreeSet<_> = there.filter(|path| path.extension().is_some_and(|is| is == "wit")).collect();
        assert_eq!(there, written);
    }

    #[test]
    fn the_name_stands_wherever_the_examples_stood_and_nowhere_in_contracts() {
        for (language, directory) in LANGUAGES {
            let named = language.files().filter(|file| file.text_for("shop-2") != file.text).count();
            assert!(named >= 1, "{directory}");
            let mut own = language.files().filter(|file| !file.path.starts_with("wit/"));
            assert!(own.all(|file| !file.text_for("shop-2").contains(EXAMPLE)));
        }
        assert!(WIT.iter().all(|file| file.text_for("shop-2") == file.text));
    }
}
