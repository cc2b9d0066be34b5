//! A small file system in memory, where this process may mount one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system that is mounted; not any more once it is dropped.
#[derive(Debug)]
pub struct Mount {
    at: PathBuf,
}

impl Mount {
    /// A file system of `mebibytes` at the directory `at`.
    ///
    /// # Errors
    /// What `mount` says, without the right to it for example.
    pub fn new(at: &Path, mebibytes: u64) -> Result<Self, String> {
        let options = format!("size={mebibytes}m,mode=0700");
        command("mount", &["-t", "tmpfs", "-o", &options, "none"], at)?;
        Ok(Self { at: at.to_owned() })
    }

    /// Forbids or allows everybody to write.
    pub fn read_only(&self, is: bool) -> Result<(), String> {
        command("mount", &["-o", if is { "remount,ro" } else { "remount,rw" }], &self.at)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Lazily: a node that is being killed may still have files there.
        let _stays_until_the_machine_ends = command("umount", &["-l"], &self.at);
    }
}

fn command(program: &str, arguments: &[&str], at: &Path) -> Result<(), String> {
    let output = Command::new(program).args(arguments).arg(at).output();
    let output = output.map_err(|error| format!("cannot start {program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}
