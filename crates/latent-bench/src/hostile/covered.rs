//! Rows that nobody outside of a process can bring about or see: the tests that cover them.
//!
//! Invariant: a test that is gone, ignored or no test any more fails its row; a file that is gone fails the build.

use super::case::Outcome;

/// A test, by its name and the source that has it.
#[derive(Debug, Clone, Copy)]
pub struct Covered {
    /// Its path, as the list of tests has it.
    pub test: &'static str,
    /// The file that it is in.
    pub source: &'static str,
}

/// `covered!("package::path::of_the_test" in "../path/of/the/source.rs")`.
macro_rules! covered {
    ($($test:literal in $source:literal,)*) => {
        &[$($crate::hostile::covered::Covered { test: $test, source: include_str!($source) },)*]
    };
}

pub(super) use covered;

/// Names the tests of a row, when all are there.
pub fn all(tests: &[Covered]) -> Outcome {
    for Covered { test, source } in tests {
        let name = test.rsplit("::").next().unwrap_or(test);
        is_test(source, name).map_err(|wrong| format!("in process: {test}: {wrong}"))?;
    }
    Ok(format!("in process: {}", tests.iter().map(|covered| covered.test).collect::<Vec<_>>().join(", ")))
}

/// Whether `source` has a test of this name: an attribute that makes it one stands above it, and none that ignores it.
fn is_test(source: &str, name: &str) -> Result<(), &'static str> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let begins = [format!("fn {name}("), format!("async fn {name}(")];
    let at = lines.iter().position(|line| begins.iter().any(|begin| line.starts_with(begin)));
    let above = &lines[..at.ok_or("there is no function of this name")?];
    let attributes = || above.iter().rev().take_while(|line| line.starts_with("#["));
    if attributes().any(|line| line.starts_with("#[ignore")) {
        return Err("it is ignored");
    }
    let tests = |line: &&str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    if attributes().any(tests) { Ok(()) } else { Err("it is no test") }
}

#[cfg(test)]
mod tests {
    use super::is_test;

    #[test]
    fn only_a_test_that_runs_counts() {
        let source = "#[test]\nfn one() {}\n\n#[tokio::test(flavor = \"x\")]\nasync fn two() {}\n\nfn three() {}\n\
                      #[test]\n#[ignore]\nfn four() {}\n// #[test]\n// fn five() {}\n";
        assert_eq!((is_test(source, "one"), is_test(source, "two")), (Ok(()), Ok(())));
        assert_eq!(is_test(source, "three"), Err("it is no test"));
        assert_eq!(is_test(source, "four"), Err("it is ignored"));
        assert_eq!(is_test(source, "five"), Err("there is no function of this name"));
    }
}
