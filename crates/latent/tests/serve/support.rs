//! What the tests share: a node under a watchdog, and the few lines of HTTP that they speak.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

/// After this a node that has not answered is a deadlock. No test relies on it.
pub const WATCHDOG: Duration = Duration::from_mins(2);

/// A directory with a configuration: free ports, no look at the machine's pressure, and what a test adds.
pub struct Setup {
    dir: TempDir,
}

impl Setup {
    pub fn new(more: &str) -> Self {
        Self::of("", more)
    }

    /// The same, with keys that stand before all sections, and sections.
    pub fn of(keys: &str, more: &str) -> Self {
        let dir = TempDir::new().expect("a temporary directory");
        let config = format!(
            "data_dir = \"data\"{keys}\n[listeners.invoke]\naddress = \"127.0.0.1:0\"\n[listeners.control]\n\
             address = \"127.0.0.1:0\"\n[listeners.http]\naddress = \"127.0.0.1:0\"\n[pressure]\nsource = \"none\"\n{more}\n"
        );
        std::fs::write(dir.path().join("latent.toml"), config).expect("the directory takes files");
        Self { dir }
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A path in the directory, as text.
    pub fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().expect("a temporary directory has a name in UTF-8").to_owned()
    }

    pub fn command(&self, verb: &str) -> Command {
        let mut command = Self::plain(verb);
        command.arg("--config").arg(self.dir.path().join("latent.toml"));
        command
    }

    /// A command that takes no configuration.
    pub fn plain(verb: &str) -> Command {
        let mut command = Self::piped(Command::new(env!("CARGO_BIN_EXE_latent")));
        command.arg(verb);
        command
    }

    fn piped(mut command: Command) -> Command {
        command.env_remove("OTEL_EXPORTER_OTLP_ENDPOINT").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `latent serve` in a shell that first does what it is told, such as setting limits.
    pub fn serve_after(&self, first: &str) -> Command {
        let serve = self.command("serve");
        let mut command = Self::piped(Command::new("sh"));
        command.arg("-c").arg(format!("{first} && exec \"$0\" \"$@\"")).arg(serve.get_program()).args(serve.get_args());
        command
    }

    /// Starts a node and waits until it says that it is ready.
    pub fn serve(&self) -> Served {
        self.serve_with(self.data().join("dev-credential"))
    }

    /// The same, with the token out of a file.
    pub fn serve_with(&self, token: impl AsRef<Path>) -> Served {
        Self::ready(self.begin(), token)
    }

    /// Waits until a node that was started says that it is ready.
    pub fn ready(mut served: Served, token: impl AsRef<Path>) -> Served {
        let lines: Vec<_> = (0..4).map(|_| served.line()).collect();
        assert_eq!(lines[3], "ready", "{lines:?}");
        served.invoke = address(&lines[0], "invoke ");
        served.control = address(&lines[1], "control ");
        served.http = address(&lines[2], "http ");
        let token = std::fs::read_to_string(token).expect("a token");
        token.trim().clone_into(&mut served.token);
        served
    }

    /// Starts a node.
    pub fn begin(&self) -> Served {
        Self::spawn(self.command("serve"))
    }

    /// Starts a node by a command.
    pub fn spawn(mut command: Command) -> Served {
        let mut child = command.spawn().expect("the binary starts");
        let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let stderr = child.stderr.take().expect("it is piped");
        let told = std::thread::spawn(move || all_of(stderr));
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
        Served {
            child,
            stdout,
            told: Some(told),
            invoke: nowhere,
            control: nowhere,
            http: nowhere,
            token: String::new(),
        }
    }
}

fn address(line: &str, name: &str) -> SocketAddr {
    let url = line.strip_prefix(name).unwrap_or_else(|| panic!("no {name:?} in {line:?}"));
    url.strip_prefix("http://").expect("no TLS").parse().expect("an address with a port")
}

fn all_of(mut stderr: ChildStderr) -> String {
    let mut text = String::new();
    let _text = stderr.read_to_string(&mut text);
    text
}

/// A node that was started. Killed when it is dropped.
pub struct Served {
    child: Child,
    stdout: BufReader<ChildStdout>,
    told: Option<JoinHandle<String>>,
    pub invoke: SocketAddr,
    pub control: SocketAddr,
    pub http: SocketAddr,
    pub token: String,
}

/// How a node ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stderr: String,
}

impl Served {
    /// The next line of standard output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("standard output is text");
        line.trim_end().to_owned()
    }

    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(id, signal).expect("it is our child");
    }

    /// Waits for the end.
    pub fn ended(mut self) -> Ended {
        let id = self.child.id();
        let (done, watch) = mpsc::channel::<()>();
        let watchdog = std::thread::spawn(move || {
            if watch.recv_timeout(WATCHDOG).is_err_and(|error| error == mpsc::RecvTimeoutError::Timeout) {
                let id = i32::try_from(id).ok().and_then(Pid::from_raw).expect("a process id");
                let _killed = kill_process(id, Signal::KILL);
            }
        });
        let status = self.child.wait().expect("it is our child");
        drop(done);
        watchdog.join().expect("the watchdog does not panic");
        let stderr = self.told.take().expect("it ends once").join().expect("it is read");
        Ended { code: status.code(), stderr }
    }

    /// One call over HTTP/1.1 and its answer, with the development credential.
    pub fn call(&self, to: SocketAddr, head: &str, body: &[u8]) -> Answer {
        let mut stream = self.ask(to, head, body);
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an answer");
        Answer::of(&answer)
    }

    /// Sends a call and leaves its answer to be read.
    pub fn ask(&self, to: SocketAddr, head: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(to).expect("the node listens");
        stream.set_read_timeout(Some(WATCHDOG)).expect("a socket has timeouts");
        let request = format!(
            "{head} HTTP/1.1\r\nhost: node\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            self.token,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("the node reads");
        stream.write_all(body).expect("the node reads");
        stream
    }

    /// Publishes a fixture and deploys it as the service of its name.
    pub fn deploy(&self, fixture: &str) {
        self.deploy_as(fixture, &serde_json::json!({"service": fixture, "deployment": "main"}));
    }

    /// Publishes a fixture and deploys it by a manifest, which need not name the release.
    pub fn deploy_as(&self, fixture: &str, manifest: &Value) {
        self.deploy_component(latent_guests::component(fixture), manifest);
    }

    /// The same for any component.
    pub fn deploy_component(&self, component: &[u8], manifest: &Value) {
        let published = self.call(self.control, "POST /v1/releases", component);
        assert!(published.status == 200 || published.status == 201, "{published:?}");
        let digest = published.json["release"]["digest"].as_str().unwrap_or_else(|| panic!("{published:?}")).to_owned();
        let mut manifest = manifest.clone();
        manifest["release"] = digest.into();
        let deployed = self.call(self.control, "POST /v1/deployments", manifest.to_string().as_bytes());
        assert!(deployed.status == 200 || deployed.status == 201, "{deployed:?}");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
    pub json: Value,
}

impl Answer {
    pub fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no HTTP: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        let json = serde_json::from_str(body).unwrap_or(Value::Null);
        Self { status, head: head.to_owned(), body: body.to_owned(), json }
    }
}
