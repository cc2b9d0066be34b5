//! A node in use: publish, deploy, invoke, look, and find all of it again after a restart.

use rustix::process::Signal;

use crate::support::Setup;

#[test]
fn what_was_deployed_answers_before_and_after_a_restart() {
    let setup = Setup::new("");
    let node = setup.serve();
    node.deploy("echo");
    let path = "POST /v1/invoke/echo/echo/echo-string";
    let answer = node.call(node.invoke, path, b"[\"hello\"]");
    assert_eq!((answer.status, answer.body.as_str()), (200, "\"hello\""), "{answer:?}");
    assert!(answer.head.contains("latent-activation-id: "), "{answer:?}");
    node.signal(Signal::TERM);
    let ended = node.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!setup.data().join("listeners.json").exists());

    let node = setup.serve();
    let answer = node.call(node.invoke, path, b"[\"again\"]");
    assert_eq!((answer.status, answer.body.as_str()), (200, "\"again\""), "{answer:?}");
    let usage = node.call(node.control, "GET /v1/usage", b"");
    assert_eq!(usage.status, 200, "{usage:?}");
}

#[test]
fn a_caller_without_a_credential_is_refused() {
    let setup = Setup::new("");
    let mut node = setup.serve();
    node.token = "latent_wrong".to_owned();
    let answer = node.call(node.invoke, "POST /v1/invoke/echo/echo/echo-string", b"[\"hello\"]");
    assert_eq!((answer.status, answer.json["code"].as_str()), (401, Some("unauthenticated")), "{answer:?}");
}
