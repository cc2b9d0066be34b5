//! Which node a command means: the one that the flags or the profile that they name say, else that of the nearest `.latent`
//! directory, else that of the user's own profile, else the one at the default address.
//!
//! Invariant: a token goes only to the address that it was found with, or that was named together with it.

mod profile;

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use latent_wire::client::{CONNECT_TIMEOUT, Target, Tls, Token};
use serde::Deserialize;

use crate::cli::OutputForm;
use crate::ending::{Exit, Failure};
use crate::input;

/// What a development node calls its directory.
const DIRECTORY: &str = ".latent";
/// Where a node writes on which addresses it listens.
const LISTENERS: &str = "listeners.json";
/// Where a development node keeps the token that it made for itself.
const CREDENTIAL: &str = "dev-credential";
const DEFAULT_INVOKE: &str = "http://127.0.0.1:7070";
const DEFAULT_CONTROL: &str = "http://127.0.0.1:7071";
const INVOKE_PORT: u16 = 7070;
const CONTROL_PORT: u16 = 7071;
/// The most that is read of a file of the user's that names or proves something.
const FILE_BYTES_MAX: u64 = 1 << 20;

// Which node, and how to print what it says. No doc comment: it would take the place of each command's help.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Node")]
pub struct NodeArgs {
    /// Where the node takes invocations [default: port 7070 of the host of --control-url; as the nearest .latent directory
    /// or the profile says; or `http://127.0.0.1:7070`]
    #[arg(long, value_name = "URL", global = true)]
    pub invoke_url: Option<String>,

    /// Where the node is managed and watched [default: port 7071 of the host of --invoke-url; as the nearest .latent
    /// directory or the profile says; or `http://127.0.0.1:7071`]
    #[arg(long, value_name = "URL", global = true)]
    pub control_url: Option<String>,

    /// File that says which node and who calls: `invoke_url`, `control_url`, `token_file`, `ca`, `cert`, `key` in TOML [default:
    /// `latent/client.toml` in the user's configuration directory, where no .latent directory is here or above]
    #[arg(long, value_name = "FILE", global = true, conflicts_with_all = ["invoke_url", "control_url"])]
    pub profile: Option<PathBuf>,

    /// File with the token to send [default: the one in the nearest .latent directory, unless a URL is given]
    #[arg(long, value_name = "FILE", global = true)]
    pub token_file: Option<PathBuf>,

    /// For https: certificate of the authority that vouches for the node, in PEM
    #[arg(long, value_name = "FILE", global = true)]
    pub ca: Option<PathBuf>,

    /// For mutual TLS: one's own certificate, in PEM; needs --key
    #[arg(long, value_name = "FILE", global = true)]
    pub cert: Option<PathBuf>,

    /// For mutual TLS: the key of --cert, in PEM
    #[arg(long, value_name = "FILE", global = true)]
    pub key: Option<PathBuf>,

    /// How to print what the node answers
    #[arg(long, value_name = "FORM", value_enum, default_value_t = OutputForm::Text, global = true)]
    pub output: OutputForm,
}

/// Where an address comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A flag.
    Flag(&'static str),
    /// A flag or a profile that names the other listener of the node.
    Beside(String),
    /// The file of a node's directory, or a profile.
    File(PathBuf),
    /// Neither: there is no such directory.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "named by {flag}"),
            Self::Beside(url) => write!(f, "the usual port on the host of {url}"),
            Self::File(path) => write!(f, "found in {}", path.display()),
            Self::Default => write!(f, "the default, as no {DIRECTORY} directory is here or above"),
        }
    }
}

/// An address, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The URL.
    pub url: String,
    /// How it came to be this one.
    pub origin: Origin,
}

/// The node that is meant.
#[derive(Debug)]
pub struct Found {
    /// Where it takes invocations.
    pub invoke: Address,
    /// Where it is managed.
    pub control: Address,
    /// Who calls.
    pub token: Option<Token>,
    /// For `https`.
    pub tls: Tls,
}

impl Found {
    /// What the client half connects to.
    pub fn target(&self) -> Target {
        Target {
            invoke: self.invoke.url.clone(),
            control: self.control.url.clone(),
            token: self.token.clone(),
            tls: self.tls.clone(),
            connect_timeout: CONNECT_TIMEOUT,
        }
    }
}

/// The file of a node's directory that says where it listens.
#[derive(Debug, Deserialize)]
struct Listeners {
    invoke: String,
    control: String,
}

/// Finds the node that `args` mean, from `working_directory` upwards where they name none, and in `profile`, the user's own
/// if there is one, where nothing is found there.
///
/// # Errors
/// One sentence about a file that cannot be used, or flags that do not fit together.
pub fn find(args: &NodeArgs, working_directory: &Path, profile: Option<&Path>) -> Result<Found, Failure> {
    if let Some(named) = &args.profile {
        return profile::read(named, args);
    }
    if args.invoke_url.is_some() || args.control_url.is_some() {
        return named(args, args.token_file.as_deref(), Origin::Flag);
    }
    let Some(directory) = nearest(working_directory)? else {
        return match profile.filter(|profile| profile.exists()) {
            Some(profile) => profile::read(profile, args),
            None => named(args, args.token_file.as_deref(), Origin::Flag),
        };
    };
    let (invoke, control) = addresses(&directory)?;
    let credential = Some(directory.join(CREDENTIAL)).filter(|file| file.exists());
    let token_file = args.token_file.clone().or(credential);
    Ok(Found { invoke, control, token: token_file.as_deref().map(token).transpose()?, tls: tls(args)? })
}

/// The node of the URLs in `args`; of one, the other listener is on the same host.
fn named(
    args: &NodeArgs,
    token_file: Option<&Path>,
    origin: impl Fn(&'static str) -> Origin,
) -> Result<Found, Failure> {
    let address = |url: &Option<String>, flag| {
        url.as_ref().map(|url| Address { url: url.trim_end_matches('/').to_owned(), origin: origin(flag) })
    };
    let (invoke, control) = (address(&args.invoke_url, "--invoke-url"), address(&args.control_url, "--control-url"));
    let other = |of: &Option<Address>, port, default| {
        let beside = of.as_ref().and_then(|of| Some((on_host_of(&of.url, port)?, of.url.clone())));
        beside.map_or_else(|| default_address(default), |(url, of)| Address { url, origin: Origin::Beside(of) })
    };
    Ok(Found {
        invoke: invoke.clone().unwrap_or_else(|| other(&control, INVOKE_PORT, DEFAULT_INVOKE)),
        control: control.unwrap_or_else(|| other(&invoke, CONTROL_PORT, DEFAULT_CONTROL)),
        token: token_file.map(token).transpose()?,
        tls: tls(args)?,
    })
}

/// A URL of the same scheme and host, with another port. `None` for what is no URL, about which whoever connects complains.
fn on_host_of(url: &str, port: u16) -> Option<String> {
    let (scheme, authority) = url.split_once("://")?;
    let host = match authority.rsplit_once(':') {
        Some((host, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    Some(format!("{scheme}://{host}:{port}"))
}

fn default_address(url: &str) -> Address {
    Address { url: url.to_owned(), origin: Origin::Default }
}

/// The directory that has the file of a node's listeners: the nearest `.latent`, or its `data`.
///
/// # Errors
/// When no node runs there, or when it belongs to somebody else, who could have calls sent to where they like.
fn nearest(from: &Path) -> Result<Option<PathBuf>, Failure> {
    for above in from.ancestors() {
        let directory = above.join(DIRECTORY);
        if !directory.is_dir() {
            continue;
        }
        let data = [directory.join("data"), directory.clone()].into_iter().find(|data| data.join(LISTENERS).exists());
        return match data {
            Some(data) => own(&data).map(|()| Some(data)),
            None => Err(Failure::with(
                Exit::Transport,
                format!(
                    "no node runs on {}, as it has no {LISTENERS}; start one with `latent up` or `latent serve`, or name \
                     another with --control-url or --profile",
                    directory.display()
                ),
            )),
        };
    }
    Ok(None)
}

fn own(data: &Path) -> Result<(), Failure> {
    let file = data.join(LISTENERS);
    let (owner, me) = (file.metadata().map(|about| about.uid()), rustix::process::geteuid().as_raw());
    match owner {
        Ok(owner) if owner == me || owner == 0 => Ok(()),
        Ok(_) => Err(Failure::local(format!(
            "{} belongs to another user, who could have calls sent anywhere; name the node with --invoke-url, \
             --control-url and --token-file",
            file.display()
        ))),
        Err(error) => Err(Failure::local(format!("cannot read {}: {error}", file.display()))),
    }
}

fn addresses(data: &Path) -> Result<(Address, Address), Failure> {
    let path = data.join(LISTENERS);
    let bytes = input::file(&path, FILE_BYTES_MAX)?;
    let Listeners { invoke, control } = serde_json::from_slice(&bytes).map_err(|error| {
        Failure::local(format!(
            "{} does not say where a node listens: {error}; expected {{\"invoke\": URL, \"control\": URL}}, as \
             the node writes it when it starts",
            path.display()
        ))
    })?;
    let address = |url| Address { url, origin: Origin::File(path.clone()) };
    Ok((address(invoke), address(control)))
}

fn token(path: &Path) -> Result<Token, Failure> {
    let bytes = input::file(path, FILE_BYTES_MAX)?;
    let text = std::str::from_utf8(&bytes).map_err(|_not_text| "expected one token, of visible ASCII characters");
    text.and_then(Token::parse)
        .map_err(|reason| Failure::local(format!("{} has no token that can be sent: {reason}", path.display())))
}

fn tls(args: &NodeArgs) -> Result<Tls, Failure> {
    let read = |path: &PathBuf| input::file(path, FILE_BYTES_MAX);
    let authority = args.ca.as_ref().map(read).transpose()?;
    let identity = match (&args.cert, &args.key) {
        (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
        (None, None) => None,
        (Some(_), None) => {
            return Err(Failure::usage("--cert needs --key: a certificate proves nothing without its key"));
        }
        (None, Some(_)) => {
            return Err(Failure::usage("--key needs --cert: a key is of use with its certificate alone"));
        }
    };
    Ok(Tls { authority, identity })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn args() -> NodeArgs {
        NodeArgs {
            invoke_url: None,
            control_url: None,
            profile: None,
            token_file: None,
            ca: None,
            cert: None,
            key: None,
            output: OutputForm::Text,
        }
    }

    fn directory(below: &Path, data: &str, listeners: &str) -> PathBuf {
        let data = below.join(data);
        std::fs::create_dir_all(&data).unwrap();
        std::fs::write(data.join(LISTENERS), listeners).unwrap();
        data
    }

    const TWO: &str = r#"{"invoke":"http://127.0.0.1:1","control":"http://127.0.0.1:2"}"#;

    #[test]
    fn without_anything_the_default_is_meant_and_no_token_is_sent() {
        let empty = TempDir::new().unwrap();
        let found = find(&args(), empty.path(), None).unwrap();
        assert_eq!((found.invoke.url.as_str(), found.control.url.as_str()), (DEFAULT_INVOKE, DEFAULT_CONTROL));
        assert_eq!(found.control.origin, Origin::Default);
        assert!(found.token.is_none());
    }

    #[test]
    fn the_nearest_directory_upwards_is_meant_with_its_token() {
        for data in [".latent", ".latent/data"] {
            let root = TempDir::new().unwrap();
            let data = directory(root.path(), data, TWO);
            std::fs::write(data.join(CREDENTIAL), "latent_abc\n").unwrap();
            let deep = root.path().join("a/b");
            std::fs::create_dir_all(&deep).unwrap();
            let found = find(&args(), &deep, None).unwrap();
            assert_eq!(
                (found.invoke.url.as_str(), found.control.url.as_str()),
                ("http://127.0.0.1:1", "http://127.0.0.1:2")
            );
            assert_eq!(found.invoke.origin, Origin::File(data.join(LISTENERS)));
            assert!(found.token.is_some());
        }
    }

    #[test]
    fn a_token_that_was_found_is_not_sent_to_an_address_that_was_named() {
        let root = TempDir::new().unwrap();
        let data = directory(root.path(), ".latent", TWO);
        std::fs::write(data.join(CREDENTIAL), "latent_abc").unwrap();
        let named = NodeArgs { control_url: Some("http://elsewhere:1/".to_owned()), ..args() };
        let found = find(&named, root.path(), None).unwrap();
        assert!(found.token.is_none());
        let address = Address { url: "http://elsewhere:1".to_owned(), origin: Origin::Flag("--control-url") };
        assert_eq!(found.control, address);
        let beside = Origin::Beside("http://elsewhere:1".to_owned());
        assert_eq!((found.invoke.url.as_str(), found.invoke.origin), ("http://elsewhere:7070", beside));
    }

    #[test]
    fn one_address_is_enough_for_a_node_on_the_usual_ports() {
        let here = TempDir::new().unwrap();
        for (control, invoke) in [
            ("https://node.example:9071/", "https://node.example:7070"),
            ("https://node.example", "https://node.example:7070"),
            ("http://[::1]:7071", "http://[::1]:7070"),
            ("http://[::1]", "http://[::1]:7070"),
            ("no URL", DEFAULT_INVOKE),
        ] {
            let named = NodeArgs { control_url: Some(control.to_owned()), ..args() };
            let found = find(&named, here.path(), None).unwrap();
            assert_eq!((found.invoke.url.as_str(), &*found.control.url), (invoke, control.trim_end_matches('/')));
        }
        let named = NodeArgs { invoke_url: Some("https://node.example:9070".to_owned()), ..args() };
        assert_eq!(find(&named, here.path(), None).unwrap().control.url, "https://node.example:7071");
    }

    #[test]
    fn a_directory_whose_node_does_not_run_is_told() {
        let root = TempDir::new().unwrap();
        std::fs::create_dir(root.path().join(DIRECTORY)).unwrap();
        let failure = find(&args(), root.path(), None).unwrap_err();
        assert_eq!(failure.exit(), Exit::Transport);
        assert!(failure.to_string().contains(DIRECTORY) && failure.to_string().contains("latent up"), "{failure}");
        let named = NodeArgs { control_url: Some("http://127.0.0.1:1".to_owned()), ..args() };
        assert!(find(&named, root.path(), None).is_ok());
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let root = TempDir::new().unwrap();
        directory(root.path(), ".latent", r#"{"invoke":"http://127.0.0.1:1"}"#);
        let sentence = find(&args(), root.path(), None).unwrap_err().to_string();
        assert!(sentence.contains("listeners.json") && sentence.contains("control"), "{sentence}");
        let empty = root.path().join("empty");
        std::fs::write(&empty, " \n").unwrap();
        let named = NodeArgs { control_url: Some("http://x".to_owned()), token_file: Some(empty.clone()), ..args() };
        let sentence = find(&named, root.path(), None).unwrap_err().to_string();
        assert!(sentence.contains(&*empty.to_string_lossy()) && sentence.contains("it is empty"), "{sentence}");
        let named = NodeArgs { control_url: Some("http://x".to_owned()), ca: Some("/no/such".into()), ..args() };
        assert!(find(&named, root.path(), None).unwrap_err().to_string().contains("/no/such"));
    }

    #[test]
    fn a_certificate_and_its_key_come_together() {
        let root = TempDir::new().unwrap();
        for (cert, key, wanted) in [(Some("c"), None, "--cert needs --key"), (None, Some("k"), "--key needs --cert")] {
            let flags = NodeArgs { cert: cert.map(PathBuf::from), key: key.map(PathBuf::from), ..args() };
            let failure = find(&flags, root.path(), None).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.to_string().contains(wanted), "{failure}");
        }
    }
}
