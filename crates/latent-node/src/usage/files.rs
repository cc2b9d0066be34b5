//! The numbered files of a usage log: which there are, which is written, and which has to go.
//!
//! Invariant: `end` is behind the last line that is known to be whole. What a failed write left behind it is cut off
//! before the next one, so that no line is joined with half of another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::config::UsageLogConfig;

/// The numbers of the files in `directory`, in order.
pub(super) fn numbers(directory: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("usage-")?.strip_suffix(".jsonl")?.parse().ok());
        numbers.extend(number.filter(|number| name == *file_name(*number)));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

pub(super) fn file_name(number: u64) -> String {
    format!("usage-{number}.jsonl")
}

/// The file that is written, and those before it.
pub(super) struct Files {
    directory: PathBuf,
    file_bytes_max: u64,
    kept_max: usize,
    number: u64,
    file: Option<File>,
    /// Bytes of whole lines.
    end: u64,
    /// A write has failed since the last that did not.
    torn: bool,
}

impl Files {
    pub(super) fn open(directory: &Path, config: &UsageLogConfig) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        let number = numbers(directory)?.last().copied().unwrap_or(1);
        Ok(Self {
            directory: directory.to_owned(),
            file_bytes_max: config.file_bytes_max,
            kept_max: config.files_max,
            number,
            file: None,
            end: 0,
            torn: false,
        })
    }

    /// Adds whole lines. After an error none of them counts as written.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.reach()?;
        if self.end > 0 && self.end + lines.len() as u64 > self.file_bytes_max {
            self.begin_next();
            self.reach()?;
        }
        let Some(file) = &mut self.file else { return Err(io::ErrorKind::NotFound.into()) };
        if self.torn {
            file.set_len(self.end)?;
        }
        self.torn = true;
        file.write_all(lines)?;
        self.torn = false;
        self.end += lines.len() as u64;
        Ok(())
    }

    fn begin_next(&mut self) {
        self.file = None;
        self.number += 1;
    }

    /// Opens the file that is written, and closes a line that a former process left unfinished.
    fn reach(&mut self) -> io::Result<()> {
        if self.file.is_some() {
            return Ok(());
        }
        let path = self.directory.join(file_name(self.number));
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        self.end = file.seek(SeekFrom::End(0))?;
        self.torn = false;
        if self.end > 0 {
            let mut last = [0];
            file.seek(SeekFrom::Start(self.end - 1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
                self.end += 1;
            }
        }
        self.file = Some(file);
        self.delete_oldest()
    }

    fn delete_oldest(&self) -> io::Result<()> {
        let numbers = numbers(&self.directory)?;
        for number in &numbers[..numbers.len().saturating_sub(self.kept_max)] {
            fs::remove_file(self.directory.join(file_name(*number)))?;
        }
        Ok(())
    }
}

#[cfg(test)]
impl Files {
    /// As a write that fails after it has written a part.
    pub(super) fn fail_after(&mut self, part: &[u8]) {
        self.torn = true;
        self.file.as_mut().expect("something has been written").write_all(part).unwrap();
    }
}
