//! The table of fixtures by name; each is built at most once a process and then handed out for ever.

use std::sync::{LazyLock, OnceLock};

use crate::encoding::{assemble, componentize};

/// The name that every fixture gives its world, which may not be that of its interface.
const WORLD: &str = "fixture";

/// What a fixture is written in.
enum Source {
    /// A core module and the WIT whose world [`WORLD`] it implements.
    Module { wit: &'static str, wat: &'static str },
    /// A whole component in text.
    Component(&'static str),
    /// A component committed as its own toolchain built it from the crate in its folder.
    Prebuilt(&'static [u8]),
}

struct Fixture {
    name: &'static str,
    source: Source,
    built: OnceLock<Vec<u8>>,
}

macro_rules! module {
    ($name:literal) => {
        Fixture {
            name: $name,
            source: Source::Module {
                wit: include_str!(concat!("../", $name, "/world.wit")),
                wat: include_str!(concat!("../", $name, "/", $name, ".wat")),
            },
            built: OnceLock::new(),
        }
    };
}

macro_rules! component {
    ($name:literal) => {
        Fixture {
            name: $name,
            source: Source::Component(include_str!(concat!("../", $name, "/component.wat"))),
            built: OnceLock::new(),
        }
    };
}

macro_rules! prebuilt {
    ($name:literal) => {
        Fixture {
            name: $name,
            source: Source::Prebuilt(include_bytes!(concat!("../", $name, "/", $name, ".wasm"))),
            built: OnceLock::new(),
        }
    };
}

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    vec![
        module!("containment-capsule"),
        module!("echo"),
        prebuilt!("echo-rust"),
        prebuilt!("http-probe"),
        module!("http-set-twice"),
        module!("types"),
        component!("spin-start"),
        module!("spin-realloc"),
        module!("spin-post-return"),
        module!("endless-list"),
        module!("park-start"),
        module!("clock-park"),
        module!("memory-fill"),
        module!("stack-overflow"),
        module!("host-calls"),
        component!("trap-start"),
        module!("trap-post-return"),
        module!("bad-results"),
        component!("fails-data-segment"),
        component!("fails-element-segment"),
        component!("fails-second-instance"),
        component!("fails-start-growth"),
        component!("fails-start-null-call"),
        component!("fails-start-recursion"),
        module!("table-growth"),
        module!("handles"),
        module!("random"),
        module!("environment"),
        module!("alias-list"),
        module!("memory-pattern"),
        module!("stdout"),
        module!("exit"),
        module!("exit-with-code"),
        module!("log-context"),
        module!("unknown-import"),
        module!("wrong-version"),
        module!("wrong-shape"),
        module!("newer-patch"),
        module!("resource-signature"),
    ]
});

/// A fixture's component bytes, built on the first call for that name. Those in Rust come prebuilt: their toolchain is no
/// part of this build.
///
/// # Panics
/// When no fixture has the name (the message lists those there are), and when its text no longer builds.
#[must_use]
pub fn component(name: &str) -> &'static [u8] {
    let fixture = FIXTURES.iter().find(|fixture| fixture.name == name).unwrap_or_else(|| {
        let known = names().collect::<Vec<_>>().join(", ");
        panic!("no fixture is named `{name}`; expected one of: {known}")
    });
    let text = match fixture.source {
        Source::Prebuilt(bytes) => return bytes,
        Source::Module { wit, wat } => (Some(wit), wat),
        Source::Component(text) => (None, text),
    };
    fixture.built.get_or_init(|| {
        let built = match text {
            (Some(wit), wat) => componentize(wit, WORLD, wat),
            (None, component) => assemble(component),
        };
        built.unwrap_or_else(|reason| panic!("fixture `{name}` does not build: {reason}"))
    })
}

/// The names that [`component`] knows.
pub fn names() -> impl Iterator<Item = &'static str> {
    FIXTURES.iter().map(|fixture| fixture.name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{FIXTURES, Source, component, names};

    const COMPONENT_BYTES_MAX: usize = 100 * 1024;

    #[test]
    fn every_fixture_is_a_valid_small_component() {
        for name in names() {
            let bytes = component(name);
            if let Err(error) = wasmparser::validate(bytes) {
                panic!("`{name}` is not valid: {error}");
            }
            assert!(wasmparser::Parser::is_component(bytes), "`{name}` is not a component");
            assert!(bytes.len() <= COMPONENT_BYTES_MAX, "`{name}` is {} bytes", bytes.len());
        }
    }

    #[test]
    fn a_fixture_is_built_once_a_process() {
        assert_eq!(component("echo").as_ptr(), component("echo").as_ptr());
    }

    #[test]
    #[should_panic(expected = "no fixture is named `eccho`; expected one of: containment-capsule, echo")]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let _ = component("eccho");
    }

    #[test]
    fn every_fixture_says_what_it_is_for_and_stands_in_the_readme() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let readme = fs::read_to_string(folder.join("README.md")).expect("the fixtures have a README");
        for fixture in FIXTURES.iter() {
            let (text, comment) = match fixture.source {
                Source::Module { wat: text, .. } | Source::Component(text) => (text.to_owned(), ";; "),
                Source::Prebuilt(_) => {
                    let source = folder.join(fixture.name).join("src/lib.rs");
                    (fs::read_to_string(source).expect("a prebuilt fixture keeps its source"), "//! ")
                }
            };
            assert!(text.starts_with(comment), "the first line of `{}` is its purpose", fixture.name);
            assert!(readme.contains(&format!("`{}`", fixture.name)), "the README names `{}`", fixture.name);
        }
    }

    #[test]
    fn every_folder_of_text_is_a_fixture() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for entry in fs::read_dir(folder).expect("the folder of fixtures can be listed") {
            let entry = entry.expect("the folder of fixtures can be listed");
            let name = entry.file_name().into_string().expect("fixtures have plain names");
            if entry.path().is_dir() && name != "src" {
                assert!(names().any(|known| known == name), "`{name}` is not in the table");
            }
        }
    }
}
