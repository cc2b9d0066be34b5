//! What the tests share: the binary under a watchdog, files to give it, and its JSON lines read back.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// After this a command that has not ended is a deadlock. No test relies on it.
pub const WATCHDOG: Duration = Duration::from_mins(2);

/// A directory for one test, gone when the test is.
pub struct Scratch(TempDir);

impl Scratch {
    pub fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file and answers its path.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, bytes).expect("the temporary directory takes files");
        path
    }

    /// Writes a fixture's component.
    pub fn guest(&self, fixture: &str) -> PathBuf {
        self.file(&format!("{fixture}.wasm"), latent_guests::component(fixture))
    }
}

/// How one command ended.
#[derive(Debug)]
pub struct Ran {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ran {
    /// Standard output as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).expect("standard output is text")
    }

    /// The JSON lines: activations, and the last one, which must show a node at rest.
    #[track_caller]
    pub fn records(&self) -> (Vec<Value>, Value) {
        let parse = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line:?}: {self:?}"));
        let mut lines: Vec<Value> = self.text().lines().map(parse).collect();
        let rest = lines.pop().unwrap_or_else(|| panic!("no line at all: {self:?}"));
        assert_at_rest(&rest);
        (lines, rest)
    }

    /// The only activation.
    #[track_caller]
    pub fn record(&self) -> Value {
        let (mut records, _) = self.records();
        assert_eq!(records.len(), 1, "{self:?}");
        records.remove(0)
    }

    /// Asserts that the command ended with `code` and one plain sentence with all of `parts` in it.
    #[track_caller]
    pub fn assert_refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert!(self.stdout.is_empty(), "{self:?}");
        let sentence = self.stderr.lines().next().unwrap_or_default();
        assert!(sentence.starts_with("error: "), "{self:?}");
        for part in parts {
            assert!(sentence.contains(part), "no {part:?} in {sentence:?}");
        }
        assert!(!self.stderr.contains("panicked") && !self.stderr.contains("backtrace"), "{self:?}");
    }
}

#[track_caller]
fn assert_at_rest(rest: &Value) {
    let pool = &rest["pool"];
    assert_eq!(pool["available"], pool["capacity"], "{rest}");
    assert!(pool["capacity"].as_u64() > Some(0), "{rest}");
    for count in ["active_leases", "quarantined", "queue_depth"] {
        assert_eq!(pool[count], 0, "{count} in {rest}");
    }
    for (name, value) in rest["runtime"].as_object().expect("the runtime is an object") {
        if value.is_u64() && !name.starts_with("prepared_e") && !name.starts_with("prepared_b") {
            assert_eq!(*value, 0, "{name} in {rest}");
        }
    }
}

/// Starts `latent run` on `component` with `flags`, standard input closed unless `stdin` has bytes.
pub fn start(component: &Path, flags: &[&str], stdin: Option<&[u8]>) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
    command.arg("run").arg(component).args(flags);
    isolate(&mut command);
    command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    if let Some(bytes) = stdin {
        // A command that does not want its input closes it, which is its right.
        let _closed = child.stdin.take().expect("it was piped").write_all(bytes);
    }
    child
}

/// Keeps a command away from what the user of this machine has set up: it caches below the target directory.
fn isolate(command: &mut Command) {
    command
        .env_remove("RUST_BACKTRACE")
        .env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-cache"));
}

/// Waits for the end of a command, within the watchdog.
pub fn end(child: Child) -> Ran {
    let id = child.id();
    let (ended, wait) = mpsc::channel();
    std::thread::spawn(move || ended.send(child.wait_with_output()));
    let Ok(output) = wait.recv_timeout(WATCHDOG) else {
        signal(id, "KILL");
        panic!("the command did not end within {WATCHDOG:?}");
    };
    let Output { status, stdout, stderr } = output.expect("a child can be waited for");
    Ran { code: status.code(), stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() }
}

/// Runs `latent run` on `component` with `flags`.
pub fn run(component: &Path, flags: &[&str]) -> Ran {
    end(start(component, flags, None))
}

/// Runs a fixture and asks for JSON.
pub fn run_json(fixture: &str, flags: &[&str]) -> Ran {
    let scratch = Scratch::new();
    run(&scratch.guest(fixture), &[flags, &["--output", "json"]].concat())
}

/// Runs `latent` with these arguments alone.
pub fn latent(arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
    command.args(arguments.iter().map(OsStr::new)).stdin(Stdio::null());
    isolate(&mut command);
    end(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts"))
}

/// Sends a signal to one process.
pub fn signal(id: u32, name: &str) {
    let sent = Command::new("kill").args(["-s", name, &id.to_string()]).status().expect("there is a kill command");
    assert!(sent.success(), "signal {name} to process {id}");
}
