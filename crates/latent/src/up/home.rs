//! The directory of a development node: private, and ignored by version control.
//!
//! Invariant: a directory that holds something else gets no file that would hide it.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use crate::ending::Failure;
use crate::serve::make_private;

/// What `latent up` calls its directory.
const NAME: &str = ".latent";

/// Makes `dir` if need be. One that is new, empty or called `.latent` gets a `.gitignore`, unless it has one.
///
/// # Errors
/// One sentence about what cannot be made.
pub fn make(dir: &Path) -> Result<(), Failure> {
    make_private(dir).map_err(Failure::local)?;
    let is_empty = std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if !is_empty && dir.file_name() != Some(OsStr::new(NAME)) {
        return Ok(());
    }
    let file = dir.join(".gitignore");
    let written = OpenOptions::new().write(true).create_new(true).open(&file).and_then(|mut to| to.write_all(b"*\n"));
    match written {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(Failure::local(format!("cannot write {}: {error}", file.display())))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_control_ignores_the_directory_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let ignored = |of: &Path| std::fs::read_to_string(of.join(".gitignore")).ok();
        let (home, project) = (dir.path().join("a/.latent"), dir.path().join("project"));
        make(&home).unwrap();
        assert_eq!(ignored(&home).as_deref(), Some("*\n"));
        std::fs::write(home.join(".gitignore"), "!kept\n").unwrap();
        make(&home).unwrap();
        assert_eq!(ignored(&home).as_deref(), Some("!kept\n"));
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join("main.rs"), "").unwrap();
        make(&project).unwrap();
        assert_eq!(ignored(&project), None);
    }
}
