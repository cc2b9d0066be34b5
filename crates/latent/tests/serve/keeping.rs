//! What outlives a node: backups, credentials that are made without it, secrets that it only reads.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Served, Setup};

#[test]
fn what_was_backed_up_answers_from_where_it_is_restored() {
    let setup = Setup::new("");
    let node = setup.serve();
    node.deploy("echo");
    let backup = setup.path("backup");
    let asked = json!({"directory": backup}).to_string();
    let answer = node.call(node.control, "POST /v1/node/backup", asked.as_bytes());
    assert_eq!((answer.status, answer.json["deployments"].as_str()), (200, Some("1")), "{answer:?}");
    let again = node.call(node.control, "POST /v1/node/backup", asked.as_bytes());
    assert_eq!(again.status, 400, "the directory has something in it: {again:?}");
    for inside in ["data/backup", "data/usage/../backup", "data"] {
        let asked = json!({"directory": setup.path(inside)}).to_string();
        let answer = node.call(node.control, "POST /v1/node/backup", asked.as_bytes());
        assert_eq!((answer.status, setup.data().join("backup").exists()), (400, false), "{inside}: {answer:?}");
    }
    let file = setup.path("latent.toml");
    let answer = node.call(node.control, "POST /v1/node/backup", json!({"directory": file}).to_string().as_bytes());
    assert!(answer.status == 400 && answer.body.contains(&file), "{answer:?}");
    node.signal(Signal::TERM);
    assert_eq!(node.ended().code, Some(0));

    let restored = Setup::new("");
    let output = Setup::plain("restore").args([Path::new(&file), &restored.data()]).output().unwrap();
    assert_eq!((output.status.code(), restored.data().exists()), (Some(1), false), "{output:?}");
    let output = Setup::plain("restore").args([Path::new(&backup), &restored.data()]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let output = Setup::plain("restore").args([Path::new(&backup), &restored.data()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "a storage is not written over: {output:?}");
    // Credentials are in the backup; the token of the development node is in its own directory alone.
    std::fs::copy(setup.data().join("dev-credential"), restored.data().join("dev-credential")).unwrap();
    let node = restored.serve();
    let answer = node.call(node.invoke, "POST /v1/invoke/echo/echo/echo-string", b"[\"back\"]");
    assert_eq!((answer.status, answer.body.as_str()), (200, "\"back\""), "{answer:?}");
}

#[test]
fn an_operator_without_a_credential_makes_one_while_no_node_runs() {
    let setup = Setup::new("");
    let token = setup.path("operator-token");
    let recover = || {
        let mut command = setup.command("recover");
        command.args(["--tenant", "operations", "--token-file", &token]);
        command.output().unwrap()
    };
    let made = recover();
    assert!(made.status.success(), "{made:?}");
    assert_eq!(Path::new(&token).metadata().unwrap().permissions().mode() & 0o777, 0o600);

    let mut node = setup.serve_with(&token);
    let answer = node.call(node.control, "GET /v1/node", b"");
    assert_eq!((answer.status, answer.json["state"].as_str()), (200, Some("ready")), "{answer:?}");
    assert!(!setup.data().join("dev-credential").exists(), "a node that has credentials makes none by itself");
    let refused = recover();
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(1) && told.contains(setup.data().to_str().unwrap()), "{told}");
    node.token.push('x');
    assert_eq!(node.call(node.control, "GET /v1/node", b"").status, 401);
}

#[test]
fn a_secret_is_read_for_each_activation_and_shown_to_nobody_else() {
    const SECRET: &str = "tr0ub4dor";
    let setup = Setup::of("\nsecrets_dir = \"secrets\"", "");
    let own = Path::new(&setup.path("secrets")).join("dev");
    std::fs::create_dir_all(&own).unwrap();
    write_secret(&own.join("password"), SECRET);
    let mut node = setup.serve();
    node.deploy("environment");
    let deployed = node.call(node.control, "GET /v1/deployments/environment/main", b"");
    let mut manifest: Value = serde_json::from_str(deployed.json["manifest"].as_str().unwrap()).unwrap();
    manifest["secrets"] = json!({"PASSWORD": "password"});
    let applied = node.call(node.control, "POST /v1/deployments", manifest.to_string().as_bytes());
    assert_eq!(applied.status, 200, "{applied:?}");

    let seen = |node: &Served| node.call(node.invoke, "POST /v1/invoke/environment/variables/all", b"[]");
    assert_eq!(seen(&node).json, json!([["PASSWORD", SECRET]]));
    write_secret(&own.join("password"), "another");
    assert_eq!(seen(&node).json, json!([["PASSWORD", "another"]]), "a file that was replaced is seen at once");

    std::fs::remove_file(own.join("password")).unwrap();
    let answer = seen(&node);
    assert_eq!((answer.status, answer.json["code"].as_str()), (502, Some("dependency-failed")), "{answer:?}");
    assert!(!answer.body.contains(own.to_str().unwrap()), "{answer:?}");

    for path in ["/v1/deployments", "/v1/usage", "/v1/activations", "/v1/node", "/metrics"] {
        let answer = node.call(node.control, &format!("GET {path}"), b"");
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!answer.body.contains(SECRET), "{path}: {answer:?}");
    }
    node.signal(Signal::TERM);
    let token = std::mem::take(&mut node.token);
    let ended = node.ended();
    assert!(ended.stderr.contains("a secret could not be read"), "the operator is told: {ended:?}");
    assert!(!ended.stderr.contains(SECRET) && !ended.stderr.contains(&token), "{ended:?}");
    assert!(!held_anywhere(&setup.data(), SECRET.as_bytes()), "a secret is nowhere in the data directory");
}

#[test]
fn whoever_follows_logs_is_cut_off_when_its_credential_is_revoked() {
    let setup = Setup::new("");
    let mut node = setup.serve();
    let wanted = json!({"tenant": "dev", "subject": "reader", "roles": ["invoke"]}).to_string();
    let made = node.call(node.control, "POST /v1/credentials", wanted.as_bytes());
    let reader = made.json["token"].as_str().unwrap_or_else(|| panic!("{made:?}")).to_owned();
    let operator = std::mem::replace(&mut node.token, reader);
    let mut following = node.ask(node.control, "GET /v1/logs", b"");
    let mut first = [0; 1];
    following.read_exact(&mut first).expect("the stream begins");
    node.token = operator;
    let id = made.json["credential"]["id"].as_str().unwrap_or_else(|| panic!("{made:?}"));
    let revoked = node.call(node.control, &format!("DELETE /v1/credentials/{id}"), b"");
    assert_eq!(revoked.status, 200, "{revoked:?}");
    let mut rest = String::new();
    following.read_to_string(&mut rest).expect("the stream ends, which the watchdog would not wait for");
    assert!(rest.contains("unauthenticated"), "{rest}");
}

#[test]
fn a_tenant_with_an_activation_under_way_is_not_deleted() {
    let setup = Setup::new("");
    let node = setup.serve();
    node.deploy("clock-park");
    let parked = node.ask(node.invoke, "POST /v1/invoke/clock-park/park/park", b"[60000]");
    let id = loop {
        let listed = node.call(node.control, "GET /v1/activations", b"").json;
        let newest = &listed["activations"][0];
        if newest["phase"] == "running" {
            break newest["activation_id"].as_str().expect("it has an id").to_owned();
        }
    };
    let refused = node.call(node.control, "DELETE /v1/tenants/dev", b"");
    assert_eq!((refused.status, refused.json["code"].as_str()), (409, Some("state-conflict")), "{refused:?}");
    assert!(refused.body.contains("access.tenant-active"), "{refused:?}");
    let cancelled = node.call(node.control, &format!("POST /v1/activations/{id}/cancel"), b"");
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    drop(parked);
}

#[test]
fn a_directory_of_secrets_that_is_not_there_is_named() {
    let setup = Setup::of("\nsecrets_dir = \"nowhere\"", "");
    let output = setup.command("serve").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("secrets_dir") && told.contains("nowhere"), "{told}");
}

/// Puts a secret into place as an operator should: whole, and for its owner alone.
fn write_secret(file: &Path, secret: &str) {
    let staged = file.with_extension("new");
    std::fs::write(&staged, format!("{secret}\n")).unwrap();
    std::fs::set_permissions(&staged, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::rename(&staged, file).unwrap();
}

fn held_anywhere(directory: &Path, bytes: &[u8]) -> bool {
    std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            return held_anywhere(&path, bytes);
        }
        std::fs::read(&path).unwrap().windows(bytes.len()).any(|window| window == bytes)
    })
}
