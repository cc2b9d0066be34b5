//! The usage log beside the calls: exactly one line for each activation that was accepted.
//!
//! Invariant: calls are known by number, and so are the lines of their activations.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

use super::caller::Known;

/// What the ids of a soak's activations begin with; the call's number comes after it.
pub const ID: &str = "soak-";

/// How often each call has a line.
#[derive(Debug)]
pub struct Lines {
    of: Vec<u8>,
    /// Lines of other activations, and lines that say nothing of one.
    pub foreign: u64,
}

/// How the lines compare with the calls.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Calls that were accepted, or may have been, and have one line.
    pub once: u64,
    /// Calls that were accepted and have none.
    pub missing: u64,
    /// Calls with more than one.
    pub repeated: u64,
    /// Calls that were left before they were accepted, and have none.
    pub left: u64,
    /// The numbers of some that are missing or repeated.
    pub some: Vec<usize>,
}

impl Lines {
    /// Reads the log in `directory`, for calls with numbers below `calls`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(directory: &Path, calls: usize) -> io::Result<Self> {
        let mut lines = Self { of: vec![0; calls], foreign: 0 };
        for file in std::fs::read_dir(directory)? {
            for line in BufReader::new(File::open(file?.path())?).lines() {
                lines.enter(&line?);
            }
        }
        Ok(lines)
    }

    fn enter(&mut self, line: &str) {
        let number = number(line).and_then(|number| self.of.get_mut(number));
        match number {
            Some(count) => *count = count.saturating_add(1),
            None => self.foreign += 1,
        }
    }

    /// Compares with what is known of each call.
    pub fn compare(&self, known: &[Option<Known>]) -> Compared {
        let mut compared = Compared::default();
        for (number, (lines, known)) in self.of.iter().zip(known).enumerate() {
            let count = match (lines, known) {
                (1, Some(_)) => &mut compared.once,
                (0, Some(Known::Left)) => &mut compared.left,
                // A call whose end was wrong is counted where it was made.
                (0 | 1, None) => continue,
                (0, Some(Known::Accepted)) => &mut compared.missing,
                _ => &mut compared.repeated,
            };
            *count += 1;
            if (*lines > 1 || *known == Some(Known::Accepted) && *lines == 0) && compared.some.len() < 5 {
                compared.some.push(number);
            }
        }
        compared
    }
}

/// The number in a line's activation id.
fn number(line: &str) -> Option<usize> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    line["activation"].as_str()?.strip_prefix(ID)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_accepted_call_has_exactly_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let line = |number| format!("{{\"activation\":\"soak-{number}\",\"state\":\"completed\"}}\n");
        std::fs::write(dir.path().join("a"), [line(0), line(1), line(1), "{\"dropped\":1}\n".to_owned()].concat())
            .unwrap();
        std::fs::write(dir.path().join("b"), [line(3), line(9)].concat()).unwrap();
        let lines = Lines::read(dir.path(), 6).unwrap();
        assert_eq!(lines.foreign, 2);
        let accepted = Some(Known::Accepted);
        let compared = lines.compare(&[accepted, accepted, accepted, Some(Known::Left), Some(Known::Left), None]);
        assert_eq!(compared, Compared { once: 2, missing: 1, repeated: 1, left: 1, some: vec![1, 2] });
    }
}
