//! The client commands where no node answers as one should: which exit code, and which sentence.

use std::io::Read as _;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use crate::support::{Scratch, end, latent, signal};

/// An address at which nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("it is bound"))
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address: SocketAddr = listener.local_addr().expect("it is bound");
    (listener, format!("http://{address}"))
}

fn start(directory: &Scratch, arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
    command.args(arguments).current_dir(directory.path()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

#[test]
fn where_nobody_listens_the_address_and_its_origin_are_told() {
    let url = nobody();
    let ran = latent(&["node", "--control-url", &url]);
    ran.assert_refused(5, &[&url, "--control-url", "refused", "latent serve"]);
    let ran = latent(&["invoke", "s#f", "--invoke-url", &url]);
    ran.assert_refused(5, &[&url, "--invoke-url", "refused", "latent up"]);
    assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
}

#[test]
fn the_nearest_directory_of_a_node_is_found_and_named() {
    let (scratch, url) = (Scratch::new(), nobody());
    let data = scratch.path().join(".latent/data");
    std::fs::create_dir_all(&data).expect("a directory");
    std::fs::write(data.join("listeners.json"), format!(r#"{{"invoke":"{url}","control":"{url}"}}"#)).expect("a file");
    std::fs::write(data.join("dev-credential"), "latent_abc\n").expect("a file");
    let ran = end(start(&scratch, &["activation", "list"]));
    ran.assert_refused(5, &[&url, "listeners.json"]);
    assert!(!ran.stderr.contains("latent_abc"), "{ran:?}");
}

#[test]
fn a_node_that_hangs_up_is_the_transports_and_leaves_open_what_came_of_the_call() {
    let (listener, url) = listener();
    let hanging_up = std::thread::spawn(move || drop(listener.accept()));
    let ran = latent(&["deployment", "delete", "s", "d", "--control-url", &url]);
    ran.assert_refused(5, &[&url, "not known"]);
    hanging_up.join().expect("somebody came");
}

#[test]
fn an_interrupt_ends_an_invocation_that_nobody_answers() {
    let ((listener, url), scratch) = (listener(), Scratch::new());
    let child = start(&scratch, &["invoke", "s#f", "--invoke-url", &url, "--control-url", &nobody()]);
    let (mut connection, _) = listener.accept().expect("the command connects");
    // What a client sends first in HTTP/2: the command waits for an answer from here on.
    connection.read_exact(&mut [0; 24]).expect("it sends its preface");
    signal(child.id(), "INT");
    let ran = end(child);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.stdout.is_empty() && ran.stderr.contains("could not be cancelled"), "{ran:?}");
}

#[test]
fn an_interrupt_ends_every_other_command_too() {
    let ((listener, url), scratch) = (listener(), Scratch::new());
    let child = start(&scratch, &["activation", "watch", "a", "--control-url", &url]);
    let (mut connection, _) = listener.accept().expect("the command connects");
    connection.read_exact(&mut [0; 24]).expect("it sends its preface");
    signal(child.id(), "TERM");
    assert_eq!(end(child).code, Some(130));
}

#[test]
fn what_cannot_be_read_is_a_local_failure_and_nothing_is_sent() {
    let url = nobody();
    for arguments in [
        &["release", "publish", "/no/such.wasm"][..],
        &["deploy", "/no/such.json"],
        &["invoke", "s#f", "--args", "@/no/such"],
    ] {
        let ran = latent(&[arguments, &["--control-url", &url, "--invoke-url", &url]].concat());
        ran.assert_refused(1, &["/no/such", "there is no such file"]);
    }
    latent(&["node", "--control-url", &url, "--token-file", "/no/such"]).assert_refused(1, &["/no/such"]);
}

#[test]
fn flags_that_make_no_sense_are_wrong_usage() {
    for (arguments, named) in [
        (&["invoke", "s"][..], "it names no function"),
        (&["node", "--control-url", "ftp://x:1"], "expected http:// or https://"),
        (&["node", "--control-url", "https://x:1"], "the authority"),
        (&["node", "--cert", "c", "--control-url", "https://x:1"], "--cert needs --key"),
        (&["deploy", "--control-url", "http://127.0.0.1:1"], "say what to deploy"),
        (&["backup", "relative"], "is not absolute"),
    ] {
        let ran = latent(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {ran:?}");
        assert!(ran.stderr.contains(named) && ran.stdout.is_empty(), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn a_token_that_can_be_read_on_the_way_is_warned_about() {
    let scratch = Scratch::new();
    let token = scratch.file("token", "latent_abc");
    let token = token.to_str().expect("a path in UTF-8");
    let unencrypted = ["node", "--control-url", "http://localhost.invalid:1", "--token-file", token];
    let ran = latent(&unencrypted);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.starts_with("warning: the token goes to http://localhost.invalid:1 unencrypted"), "{ran:?}");
    assert!(!ran.stderr.contains("latent_abc"), "{ran:?}");
}

#[test]
fn restoring_what_is_no_backup_is_a_local_failure() {
    let scratch = Scratch::new();
    let (from, to) = (scratch.path().join("none"), scratch.path().join("data"));
    let ran = latent(&["restore", from.to_str().expect("UTF-8"), to.to_str().expect("UTF-8")]);
    ran.assert_refused(1, &["none"]);
}

#[test]
fn completions_are_printed() {
    let ran = latent(&["completions", "bash"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.text().contains("_latent"), "{ran:?}");
    assert_eq!(latent(&["completions", "sh"]).code, Some(2));
}
