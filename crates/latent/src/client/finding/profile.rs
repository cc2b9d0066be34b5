//! A file that says which node a command means and who calls, so that a node elsewhere is named once.
//!
//! Invariant: the token of a profile goes only to the addresses of the same profile.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{FILE_BYTES_MAX, Found, NodeArgs, Origin, named};
use crate::ending::Failure;
use crate::input;

/// What a profile may say. Paths are relative to its directory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    invoke_url: Option<String>,
    control_url: Option<String>,
    token_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
}

/// The node of the profile in `file`, with what `args` say of the caller and of TLS in the place of what it says.
///
/// # Errors
/// One sentence about the file, or a file that it names.
pub fn read(file: &Path, args: &NodeArgs) -> Result<Found, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::local(format!("{} is no profile: {why}", file.display()));
    let bytes = input::file(file, FILE_BYTES_MAX)?;
    let text = std::str::from_utf8(&bytes).map_err(|_not_text| wrong(&"expected TOML in UTF-8"))?;
    let profile: Profile = toml::from_str(text).map_err(|error| wrong(&error.message()))?;
    if profile.invoke_url.is_none() && profile.control_url.is_none() {
        return Err(wrong(&"it names no node; set control_url, such as \"https://node.example:7071\""));
    }
    let beside = |path: Option<PathBuf>| path.map(|path| file.parent().unwrap_or(Path::new("")).join(path));
    // A certificate and its key come from one place.
    let (cert, key) = match (&args.cert, &args.key) {
        (None, None) => (beside(profile.cert), beside(profile.key)),
        (cert, key) => (cert.clone(), key.clone()),
    };
    let token_file = args.token_file.clone().or(beside(profile.token_file));
    let together = NodeArgs {
        invoke_url: profile.invoke_url,
        control_url: profile.control_url,
        ca: args.ca.clone().or(beside(profile.ca)),
        cert,
        key,
        ..args.clone()
    };
    named(&together, token_file.as_deref(), |_flag| Origin::File(file.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::cli::OutputForm;
    use tempfile::TempDir;

    const REMOTE: &str = "control_url = \"https://node.example:7071\"\ntoken_file = \"ci.token\"\nca = \"ca.pem\"\n";

    fn args(profile: Option<PathBuf>) -> NodeArgs {
        let (invoke_url, control_url, token_file, ca, cert, key) = (None, None, None, None, None, None);
        NodeArgs { invoke_url, control_url, profile, token_file, ca, cert, key, output: OutputForm::Text }
    }

    fn written(text: &str) -> (TempDir, PathBuf) {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("client.toml");
        std::fs::write(&file, text).unwrap();
        std::fs::write(dir.path().join("ci.token"), "latent_abc").unwrap();
        std::fs::write(dir.path().join("ca.pem"), "authority").unwrap();
        (dir, file)
    }

    #[test]
    fn a_profile_names_a_node_its_authority_and_the_caller() {
        let (dir, file) = written(REMOTE);
        let named = find(&args(Some(file.clone())), dir.path(), None).unwrap();
        let users = find(&args(None), dir.path(), Some(&file)).unwrap();
        for found in [named, users] {
            assert_eq!(
                (&*found.control.url, &*found.invoke.url),
                ("https://node.example:7071", "https://node.example:7070")
            );
            assert_eq!(found.control.origin, Origin::File(file.clone()));
            assert!(found.token.is_some() && found.tls.authority.as_deref() == Some(b"authority"));
        }
        let other = NodeArgs { ca: Some(dir.path().join("ci.token")), ..args(Some(file)) };
        assert_eq!(find(&other, dir.path(), None).unwrap().tls.authority.as_deref(), Some(&b"latent_abc"[..]));
    }

    #[test]
    fn the_users_profile_is_for_where_no_node_is_named_or_near() {
        let (dir, file) = written(REMOTE);
        let elsewhere = NodeArgs { control_url: Some("http://elsewhere:1".to_owned()), ..args(None) };
        let found = find(&elsewhere, dir.path(), Some(&file)).unwrap();
        assert!(found.token.is_none() && found.tls.authority.is_none() && found.control.url == "http://elsewhere:1");
        let near = dir.path().join(".latent");
        std::fs::create_dir(&near).unwrap();
        let listeners = r#"{"invoke":"http://127.0.0.1:1","control":"http://127.0.0.1:2"}"#;
        std::fs::write(near.join("listeners.json"), listeners).unwrap();
        let found = find(&args(None), dir.path(), Some(&file)).unwrap();
        assert!(found.token.is_none() && found.control.url == "http://127.0.0.1:2");
        let absent = find(&args(None), Path::new("/"), Some(Path::new("/nowhere/client.toml"))).unwrap();
        assert_eq!(absent.control.origin, Origin::Default);
    }

    #[test]
    fn a_profile_that_cannot_be_used_is_named_with_what_is_wrong() {
        for (text, wanted) in [
            ("control_url = 3", "client.toml is no profile"),
            ("control = \"https://x\"", "control_url"),
            ("token_file = \"ci.token\"", "it names no node"),
            ("control_url = \"https://x:1\"\ntoken_file = \"gone.token\"", "gone.token"),
            ("control_url = \"https://x:1\"\ncert = \"ca.pem\"", "--cert needs --key"),
        ] {
            let (dir, file) = written(text);
            let told = find(&args(Some(file)), dir.path(), None).unwrap_err().to_string();
            assert!(told.contains(wanted), "{text}: {told}");
        }
        assert!(
            find(&args(Some("/nowhere/p.toml".into())), Path::new("/"), None)
                .unwrap_err()
                .to_string()
                .contains("p.toml")
        );
    }
}
