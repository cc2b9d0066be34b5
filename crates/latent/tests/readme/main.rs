//! The README's commands, run as they stand there: the first of its two commands, then its tour, line by line in one bash.
//!
//! Invariant: what the README shows below a command is what the command prints, `…` standing for whatever differs from
//! run to run. A command fails only where the README goes on with `echo $?`.

mod page;
mod shown;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use page::Step;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// Where the README says that the node takes invocations.
const INVOKE: &str = "127.0.0.1:7070";
/// What ends the output of each command, with the command's exit code behind it.
const END: char = '\u{1e}';
/// After this a tour that has not ended hangs, in seconds. No test relies on it.
const WATCHDOG_SECS: &str = "300";
/// What the tour needs besides the node. The fixtures that `componentize` writes are there already, since a test cannot
/// build while it is built itself. What runs behind an `&` speaks when it is waited for, so that nothing is mixed up, and
/// the next command comes once it runs, so that nobody sleeps.
const AROUND: &str = r#"
cargo() { cp "fixtures/$6.wasm" "$7"; }
running() { latent activation list --output json | grep '"phase":"running"' | grep -qv '"terminal"'; }
begun() { for _ in {1..600}; do running && return; done; echo 'nothing runs' >&2; return 1; }
"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A directory that looks like the repository to the commands of the README.
fn checkout() -> TempDir {
    let dir = TempDir::new().expect("a temporary directory");
    std::os::unix::fs::symlink(root().join("examples"), dir.path().join("examples")).expect("a link");
    for name in ["target", "fixtures"] {
        std::fs::create_dir(dir.path().join(name)).expect("a directory");
    }
    for fixture in ["clock-park", "stdout"] {
        let path = dir.path().join(format!("fixtures/{fixture}.wasm"));
        std::fs::write(path, latent_guests::component(fixture)).expect("the directory takes files");
    }
    dir
}

/// A program that has bash run `line` in `dir`, where the binary is found under its name.
fn bash(line: &str, dir: &Path) -> Command {
    let bin = Path::new(env!("CARGO_BIN_EXE_latent")).parent().expect("it is in a directory");
    let mut command = Command::new("bash");
    command.args(["-c", &format!("PATH=\"$BIN:$PATH\"; {line}")]);
    command.current_dir(dir).env("BIN", bin).env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// The node of the README's first command, on free ports.
struct Node {
    dir: TempDir,
    child: Child,
    answer: String,
}

impl Node {
    fn up() -> Self {
        let dir = checkout();
        let told = page::first_command(&readme());
        let line = format!("exec latent {told} --invoke 127.0.0.1:0 --control 127.0.0.1:0 --http 127.0.0.1:0");
        let mut child = bash(&line, dir.path()).spawn().expect("bash is there");
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut answer = String::new();
        while !answer.starts_with('{') {
            answer.clear();
            assert_ne!(stdout.read_line(&mut answer).expect("it is text"), 0, "the node ended without an answer");
        }
        // Whatever else it says is read, so that it never waits for a reader.
        std::thread::spawn(move || std::io::copy(&mut stdout.into_inner(), &mut std::io::sink()));
        Self { dir, child, answer }
    }

    /// Where it takes invocations, as HOST:PORT.
    fn invoke(&self) -> String {
        let text = std::fs::read(self.dir.path().join(".latent/listeners.json")).expect("it listens");
        let listeners: Value = serde_json::from_slice(&text).expect("it is JSON");
        listeners["invoke"].as_str().expect("a URL").trim_start_matches("http://").to_owned()
    }

    /// Tells it to stop, and waits until it has.
    fn stop(mut self) -> Option<i32> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(id, Signal::TERM).expect("it is our child");
        self.child.wait().expect("a child can be waited for").code()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn readme() -> String {
    std::fs::read_to_string(root().join("README.md")).expect("the README is there")
}

/// What bash is given for `step`: its command, and the end of its output.
fn script(step: &Step, invoke: &str) -> String {
    let line = step.command.replace(INVOKE, invoke);
    let line = match line.strip_suffix(" &") {
        Some(line) => format!("{line} >behind 2>&1 &\nbegun"),
        None if line == "wait" => "wait; cat behind".to_owned(),
        None if line.starts_with("sleep ") => ":".to_owned(),
        None => line,
    };
    format!("{line}\ncode=$?; printf '{END}%s\\n' $code; (exit $code)\n")
}

/// Runs the steps in one bash in `dir`; what each printed, and its exit code.
fn run(steps: &[Step], dir: &Path, invoke: &str) -> Vec<(String, String)> {
    let path = dir.join("tour.sh");
    let mut file = std::fs::File::create(&path).expect("the directory takes files");
    file.write_all(AROUND.as_bytes()).expect("it takes text");
    for step in steps {
        file.write_all(script(step, invoke).as_bytes()).expect("it takes text");
    }
    let mut child =
        bash(&format!("exec timeout {WATCHDOG_SECS} bash tour.sh 2>&1"), dir).spawn().expect("bash is there");
    let mut said = String::new();
    child.stdout.take().expect("it is piped").read_to_string(&mut said).expect("it is text");
    child.wait().expect("a child can be waited for");
    let mut outputs = Vec::new();
    let mut rest = said.as_str();
    while let Some((output, after)) = rest.split_once(END) {
        let (code, after) = after.split_once('\n').expect("the code ends its line");
        outputs.push((output.to_owned(), code.to_owned()));
        rest = after;
    }
    assert_eq!(outputs.len(), steps.len(), "the tour hangs: {said}");
    outputs
}

#[test]
fn the_first_command_answers_and_the_tour_says_what_the_readme_shows() {
    let node = Node::up();
    assert!(readme().contains(&format!("```json\n{}```", node.answer)), "the node answered {}", node.answer);
    let steps = page::steps(&readme(), "## A tour");
    assert!(steps.len() > 20, "the tour has {} commands", steps.len());
    let outputs = run(&steps, node.dir.path(), &node.invoke());
    for (at, (step, (output, code))) in steps.iter().zip(&outputs).enumerate() {
        let Step { command, shown, line } = step;
        let fails = steps.get(at + 1).is_some_and(|next| next.command == "echo $?");
        assert_eq!(code != "0", fails, "README.md:{line}: {command}: exit code {code}\n{output}");
        assert!(shown::fits(shown, output), "README.md:{line}: {command}\nshown:\n{shown}\nprinted:\n{output}");
    }
    assert_eq!(node.stop(), Some(0));
}
