//! The client commands against a node: the binary talks to `latent serve`, found by its directory.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// How often an activation is asked for until it runs. Each is a process; no test relies on the number.
const ASKS_MAX: usize = 2000;

/// A node in a directory of its own, in which the commands run. Killed when it is dropped.
struct Node {
    dir: TempDir,
    child: Child,
    _stdout: BufReader<ChildStdout>,
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// How a command ended.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    #[track_caller]
    fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.stdout
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_str(self.stdout.trim()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
    command.args(arguments.iter().map(OsStr::new)).current_dir(dir).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Node {
    fn start() -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let config = "data_dir = \".latent\"\n[listeners.invoke]\naddress = \"127.0.0.1:0\"\n[listeners.control]\n\
                      address = \"127.0.0.1:0\"\n[listeners.http]\naddress = \"127.0.0.1:0\"\n[pressure]\nsource = \"none\"\n";
        std::fs::write(dir.path().join("latent.toml"), config).expect("the directory takes files");
        let mut serve = command(dir.path(), &["serve", "--config", "latent.toml"]);
        let mut child = serve.stderr(Stdio::null()).spawn().expect("the binary starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        while line.trim() != "ready" {
            line.clear();
            assert_ne!(stdout.read_line(&mut line).expect("it is text"), 0, "the node did not become ready");
        }
        Self { dir, child, _stdout: stdout }
    }

    fn latent(&self, arguments: &[&str]) -> Ran {
        ended(command(self.dir.path(), arguments).spawn().expect("the binary starts"))
    }

    /// The file of a fixture's component.
    fn guest(&self, fixture: &str) -> PathBuf {
        let path = self.dir.path().join(format!("{fixture}.wasm"));
        std::fs::write(&path, latent_guests::component(fixture)).expect("the directory takes files");
        path
    }

    /// A node with a fixture as its service `s`, deployment `blue`.
    fn with(fixture: &str) -> Self {
        let node = Self::start();
        let guest = node.guest(fixture);
        let file = guest.to_str().expect("a path in UTF-8");
        node.latent(&["deploy", "--service", "s", "--deployment", "blue", "--component", file]).ok();
        node
    }

    /// Starts an activation that ends when it is told to, and waits until it runs.
    fn parked(&self, id: &str) -> Child {
        let call = ["invoke", "s#delayed-echo", "--args", r#"["x", "3600000"]"#, "--id", id, "--output", "json"];
        let child = command(self.dir.path(), &call).spawn().expect("the binary starts");
        let runs = |_| {
            let ran = self.latent(&["activation", "get", id, "--output", "json"]);
            ran.code == Some(0) && ran.json()["phase"] == "running"
        };
        assert!((0..ASKS_MAX).any(runs), "{id} does not run");
        child
    }
}

fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().expect("a child can be waited for");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("it is text");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn the_tour_of_the_readme_goes_through() {
    let node = Node::start();
    let guest = node.guest("containment-capsule");
    let file = guest.to_str().expect("a path in UTF-8");
    let digest = node.latent(&["release", "publish", file]).ok();
    assert_eq!(digest.trim().len(), 64, "{digest}");
    assert!(node.latent(&["release", "list"]).ok().contains(digest.trim()));
    let to = |deployment| ["deploy", "--service", "s", "--deployment", deployment, "--release", digest.trim()];
    assert!(node.latent(&to("blue")).ok().starts_with("made s/blue, generation "));
    let green = node.latent(&[&to("green")[..], &["--fuel", "1000000", "--weight", "10"]].concat()).ok();
    assert!(green.contains("weight: 10\n") && green.contains("ceilings.fuel: 1000000\n"), "{green}");
    let shifted = ["deploy", "--service", "s", "--deployment", "green", "--weight", "100"];
    let told = node.latent(&[&shifted[..], &["--dry-run"]].concat()).ok();
    assert!(told.starts_with("would change s/green") && told.contains("weight: 10 → 100\n"), "{told}");
    let told = node.latent(&shifted).ok();
    assert!(told.starts_with("changed s/green") && !told.contains("fuel"), "{told}");
    assert!(node.latent(&shifted).ok().starts_with("unchanged: s/green"));
    assert!(node.latent(&["route", "get", "s"]).ok().contains("green"));
    let why = node.latent(&["route", "resolve", "s#declared", "--id", "order-1"]).ok();
    assert!(why.contains("ELIGIBLE"), "{why}");
    let called = ["invoke", "s#declared", "--args", "[false]", "--id", "order-1", "--output", "json"];
    let answer = node.latent(&called);
    assert_eq!((answer.code, &answer.json()["outcome"]), (Some(0), &"succeeded".into()), "{answer:?}");
    assert!(why.starts_with(answer.json()["deployment"].as_str().expect("it is named")), "{why}: {answer:?}");
    let watched = node.latent(&["activation", "watch", "order-1"]).ok();
    assert!(watched.trim_end().ends_with("completed"), "{watched}");
    assert!(node.latent(&["activation", "list"]).ok().contains("order-1"));
    assert!(node.latent(&["activation", "cancel", "order-1"]).ok().contains("it had ended: completed"));
    node.latent(&["logs", "order-1"]).ok();
    assert!(node.latent(&["node"]).ok().starts_with("state    ready\n"));
    assert!(node.latent(&["usage", "--since", "1h"]).ok().contains("completed 1"));
}

#[test]
fn each_ending_of_an_invocation_has_its_exit_code() {
    let node = Node::with("containment-capsule");
    let invoke = |call, more: &[&str]| node.latent(&[&["invoke", call][..], more].concat());
    let declared = invoke("s#declared", &["--args", "[true]"]);
    assert_eq!((declared.code, declared.stdout.as_str()), (Some(3), "\"declared failure\"\n"), "{declared:?}");
    let spun = invoke("s#spin", &["--fuel", "1000000"]);
    assert_eq!(spun.code, Some(4), "{spun:?}");
    assert!(spun.stderr.contains("resource-exhausted") && spun.stderr.contains("limit of fuel"), "{spun:?}");
    let late = invoke("s#delayed-echo", &["--args", r#"["x", "3600000"]"#, "--deadline", "100ms", "--output", "json"]);
    assert_eq!((late.code, &late.json()["terminal_state"]), (Some(4), &"deadline-exceeded".into()), "{late:?}");
    assert!(late.json()["limit"].as_str().is_some_and(|limit| limit.contains("deadline")), "{late:?}");
    let malformed = invoke("s#declared", &["--args", "[1]"]);
    assert_eq!(malformed.code, Some(1), "{malformed:?}");
    for missing in ["t#f", "s#declared --route red"] {
        let words: Vec<&str> = missing.split(' ').collect();
        let ran = invoke(words[0], &words[1..]);
        assert_eq!(ran.code, Some(6), "{missing}: {ran:?}");
    }
}

#[test]
fn what_is_not_there_is_not_found_and_what_is_stale_is_refused() {
    let node = Node::with("echo");
    let digest = "0".repeat(64);
    for arguments in [
        &["release", "get", &digest][..],
        &["deployment", "get", "s", "red"],
        &["activation", "get", "nobody"],
        &["activation", "cancel", "nobody"],
        &["tenant", "get", "nobody"],
        &["credential", "revoke", "nobody"],
        &["deploy", "--service", "s", "--deployment", "red", "--weight", "1"],
    ] {
        let ran = node.latent(arguments);
        assert_eq!(ran.code, Some(6), "{arguments:?}: {ran:?}");
        assert!(ran.stdout.is_empty() && ran.stderr.starts_with("error: not-found"), "{arguments:?}: {ran:?}");
    }
    let stale = ["deployment", "delete", "s", "blue", "--expected-generation", "99999", "--output", "json"];
    let ran = node.latent(&stale);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(1), &"state-conflict".into()), "{ran:?}");
}

#[test]
fn an_interrupt_cancels_the_activation_before_the_command_ends() {
    let node = Node::with("containment-capsule");
    let child = node.parked("order-2");
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(id, Signal::INT).expect("it is our child");
    let ran = ended(child);
    assert_eq!((ran.code, &ran.json()["error"]["code"]), (Some(130), &"cancelled".into()), "{ran:?}");
    let found = node.latent(&["activation", "get", "order-2", "--output", "json"]);
    assert_eq!(found.json()["terminal"]["state"], "cancelled", "{found:?}");
}

#[test]
fn a_cancel_from_elsewhere_ends_the_invocation_as_failed() {
    let node = Node::with("containment-capsule");
    let child = node.parked("order-3");
    let told = node.latent(&["activation", "cancel", "order-3", "--reason", "enough"]).ok();
    assert!(told.starts_with("accepted"), "{told}");
    let ran = ended(child);
    assert_eq!((ran.code, &ran.json()["terminal_state"]), (Some(4), &"cancelled".into()), "{ran:?}");
    assert!(node.latent(&["activation", "get", "order-3"]).ok().contains("enough"));
}

#[test]
fn a_credential_of_another_tenant_sees_nothing_of_this_one_and_none_is_refused() {
    let node = Node::with("echo");
    node.latent(&["tenant", "apply", "acme", "--live", "4"]).ok();
    let create = ["credential", "create", "--tenant", "acme", "--subject", "ci", "--role", "deploy"];
    let token = node.latent(&create).ok();
    let file = node.dir.path().join("acme.token");
    std::fs::write(&file, token).expect("the directory takes files");
    let as_acme = |arguments: &[&str]| {
        let file = file.to_str().expect("a path in UTF-8");
        node.latent(&[arguments, &["--token-file", file]].concat())
    };
    assert_eq!(as_acme(&["deployment", "get", "s", "blue"]).code, Some(6));
    let denied = as_acme(&["node", "--output", "json"]);
    assert_eq!((denied.code, &denied.json()["error"]["code"]), (Some(1), &"permission-denied".into()), "{denied:?}");
    let listed = node.latent(&["credential", "list", "--tenant", "acme", "--output", "json"]);
    let id = listed.json()["id"].as_str().expect("it has an id").to_owned();
    node.latent(&["credential", "revoke", &id]).ok();
    let revoked = as_acme(&["deployment", "list"]);
    assert_eq!(revoked.code, Some(1), "{revoked:?}");
    assert!(revoked.stderr.contains("unauthenticated") && revoked.stderr.contains("--token-file"), "{revoked:?}");
}

#[test]
fn a_backup_is_restored_into_a_directory_that_a_node_could_use() {
    let node = Node::with("echo");
    let (backup, data) = (node.dir.path().join("backup"), node.dir.path().join("restored"));
    let (backup, data) = (backup.to_str().expect("UTF-8"), data.to_str().expect("UTF-8"));
    assert!(node.latent(&["backup", backup]).ok().contains("1 releases, 1 deployments"));
    let restored = node.latent(&["restore", backup, data, "--output", "json"]);
    assert_eq!((restored.code, &restored.json()["deployments"]), (Some(0), &1.into()), "{restored:?}");
    assert_eq!(node.latent(&["restore", backup, data]).code, Some(1));
}

#[test]
fn a_drained_node_refuses_for_now_and_takes_calls_again_after_a_resume() {
    let node = Node::with("echo");
    assert!(node.latent(&["node", "drain", "--wait", "5s"]).ok().starts_with("drained"));
    let call = ["invoke", "s#echo-string", "--args", r#"["a"]"#];
    assert_eq!(node.latent(&call).code, Some(4));
    node.latent(&["node", "resume"]).ok();
    assert_eq!(node.latent(&call).ok(), "\"a\"\n");
}

#[test]
fn a_tenant_keeps_what_flags_do_not_name_and_a_file_is_its_whole_quota() {
    let node = Node::start();
    let quota = |ran: Ran| {
        let tenant: Value = serde_json::from_str(ran.ok().trim()).expect("one line of JSON");
        tenant["quota"].clone()
    };
    let apply = |more: &[&str]| quota(node.latent(&[&["tenant", "apply", "acme", "--output", "json"], more].concat()));
    assert_eq!(
        apply(&["--live", "4", "--memory", "1Gi"]),
        serde_json::json!({"live": "4", "memory_bytes": "1073741824"})
    );
    assert_eq!(apply(&["--live", "5"]), serde_json::json!({"live": "5", "memory_bytes": "1073741824"}));
    std::fs::write(node.dir.path().join("quota.json"), "{\"queued\": 2}").expect("the directory takes files");
    assert_eq!(apply(&["quota.json"]), serde_json::json!({"queued": "2"}));
    let both = node.latent(&["tenant", "apply", "acme", "quota.json", "--live", "4"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}
