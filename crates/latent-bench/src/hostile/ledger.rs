//! The usage log, read from the file system as it grows: one line for each activation that ended.
//!
//! Invariant: an end that is there twice is found when its second line is read.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde_json::Value;

/// What was read so far.
#[derive(Debug)]
pub struct Ledger {
    directory: PathBuf,
    read: u64,
    ends: HashSet<(String, String)>,
}

impl Ledger {
    /// The log in `directory`, of which nothing was read.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), read: 0, ends: HashSet::new() }
    }

    /// Reads what is new. Answers how many activations have ended.
    ///
    /// # Errors
    /// When one has ended twice, when there is a line that is no end, and when there is more than one file: the log is
    /// configured to need no second.
    pub fn read(&mut self) -> Result<u64, String> {
        let io = |error: std::io::Error| format!("the usage log in {}: {error}", self.directory.display());
        let files: Vec<_> = std::fs::read_dir(&self.directory).map_err(io)?.collect::<Result<_, _>>().map_err(io)?;
        let [file] = files.as_slice() else {
            return Err(format!("the usage log has {} files, expected one", files.len()));
        };
        let mut file = File::open(file.path()).map_err(io)?;
        file.seek(SeekFrom::Start(self.read)).map_err(io)?;
        let mut lines = BufReader::new(file);
        let mut line = String::new();
        while lines.read_line(&mut line).map_err(io)? > 0 && line.ends_with('\n') {
            self.read += line.len() as u64;
            let end = end_of(&line)?;
            if self.ends.contains(&end) {
                return Err(format!("an activation ended twice: {}", line.trim()));
            }
            self.ends.insert(end);
            line.clear();
        }
        Ok(self.ends.len() as u64)
    }
}

/// Which activation of which tenant a line says the end of.
fn end_of(line: &str) -> Result<(String, String), String> {
    let value: Value = serde_json::from_str(line).map_err(|error| format!("the usage log has {line:?}: {error}"))?;
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let state = text("state");
    match (text("tenant"), text("activation"), state) {
        (Some(tenant), Some(activation), Some(_)) => Ok((tenant, activation)),
        _ => Err(format!("the usage log has a line that is no end: {}", line.trim())),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::Ledger;

    #[test]
    fn a_second_end_is_found_and_a_line_without_its_end_waits() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = std::fs::File::create(dir.path().join("usage-1")).unwrap();
        let mut ledger = Ledger::new(dir.path());
        let line = |id: &str| format!("{{\"tenant\":\"t\",\"activation\":\"{id}\",\"state\":\"completed\"}}\n");
        write!(file, "{}{}", line("a"), &line("b")[..10]).unwrap();
        assert_eq!(ledger.read(), Ok(1));
        write!(file, "{}", &line("b")[10..]).unwrap();
        assert_eq!(ledger.read(), Ok(2));
        write!(file, "{}", line("a")).unwrap();
        assert!(ledger.read().unwrap_err().contains("twice"));
    }

    #[test]
    fn a_line_about_dropped_ends_is_told() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("usage-1"), "{\"dropped\":3}\n").unwrap();
        assert!(Ledger::new(dir.path()).read().unwrap_err().contains("no end"));
    }
}
