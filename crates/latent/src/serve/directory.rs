//! The data directory: private to its owner, with the notes by which clients find the node.
//!
//! Invariant: a note is written whole or not at all.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::Path;

/// Makes `dir` if need be, and refuses one that another user can write to, as what is kept there is run, or that this one
/// cannot.
///
/// # Errors
/// One sentence that names the directory and what to do.
pub fn make_private(dir: &Path) -> Result<(), String> {
    let refused = |why: &dyn std::fmt::Display| format!("data_dir: cannot use the directory {}: {why}", dir.display());
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| refused(&error))?;
    let about = dir.metadata().map_err(|error| refused(&error))?;
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused(&"it belongs to another user; run the node as that user, or name another directory"));
    }
    if about.mode() & 0o022 != 0 {
        return Err(refused(&"other users may write to it, and what is in it is run; close it with chmod go-w"));
    }
    can_be_written(dir).map_err(|error| {
        refused(&format_args!("nothing can be written to it ({error}); make it writable, or name another directory"))
    })
}

/// Tries it. Permissions do not say everything: a file system may be read-only, or full.
fn can_be_written(dir: &Path) -> io::Result<()> {
    let probe = dir.join(format!(".writable-{}", std::process::id()));
    File::create(&probe)?.write_all(b"?")?;
    fs::remove_file(&probe)
}

/// Writes where the listeners for calls, for control and for HTTP are:
/// `{"invoke":"http://127.0.0.1:7070","control":"http://127.0.0.1:7071","http":"http://127.0.0.1:8080"}`. An address that stands for all of the machine is written as the loopback.
///
/// # Errors
/// When the disk refuses.
pub fn note_listeners(file: &Path, places: [(SocketAddr, bool); 3]) -> io::Result<()> {
    let [invoke, control, http] = places.map(url);
    let note = serde_json::json!({"invoke": invoke, "control": control, "http": http});
    let staged = file.with_extension("json.new");
    let mut to = File::create(&staged)?;
    writeln!(to, "{note}")?;
    to.sync_all()?;
    fs::rename(&staged, file)
}

/// Takes the note away. One that is gone already is as good.
pub fn forget_listeners(file: &Path) {
    let _gone = fs::remove_file(file);
}

/// The address of a listener as a client writes it.
pub fn url((address, is_tls): (SocketAddr, bool)) -> String {
    let reached = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::new(std::net::Ipv4Addr::LOCALHOST.into(), address.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::new(std::net::Ipv6Addr::LOCALHOST.into(), address.port()),
        _ => address,
    };
    format!("{}://{reached}", if is_tls { "https" } else { "http" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_directory_that_others_can_write_to_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("a/b");
        make_private(&data).unwrap();
        assert_eq!(data.metadata().unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
        let told = make_private(&data).unwrap_err();
        assert!(told.contains(data.to_str().unwrap()) && told.contains("chmod go-w"), "{told}");
        assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "nothing is left of looking");
        fs::write(dir.path().join("file"), "").unwrap();
        assert!(make_private(&dir.path().join("file")).unwrap_err().contains("data_dir"));
    }

    #[test]
    fn a_directory_that_cannot_be_written_to_is_refused_by_name_and_key() {
        // It is one's own, and takes no files from anybody.
        let told = make_private(Path::new("/proc/self")).unwrap_err();
        let named = told.starts_with("data_dir: ") && told.contains("/proc/self");
        assert!(named && told.contains("nothing can be written to it"), "{told}");
    }

    #[test]
    fn the_note_is_what_clients_read() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("listeners.json");
        let [invoke, control, http] = ["0.0.0.0:1", "[::1]:2", "[::]:3"].map(|address| address.parse().unwrap());
        note_listeners(&file, [(invoke, false), (control, true), (http, false)]).unwrap();
        let note = fs::read_to_string(&file).unwrap();
        assert_eq!(
            note,
            "{\"control\":\"https://[::1]:2\",\"http\":\"http://[::1]:3\",\"invoke\":\"http://127.0.0.1:1\"}\n"
        );
        forget_listeners(&file);
        assert!(!file.exists());
        forget_listeners(&file);
    }
}
