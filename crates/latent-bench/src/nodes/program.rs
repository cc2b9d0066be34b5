//! A node as a process: its directory and configuration, its start, its signals and its end.
//!
//! Invariant: a process that was started is killed when its [`Served`] is dropped.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use latent_wire::client::{CONNECT_TIMEOUT, Client, Target, Tls, Token};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use crate::process::Process;

/// After this a node that says nothing, or does not end, is a deadlock.
const WATCHDOG: Duration = Duration::from_secs(20);
/// What is kept of what a node says to standard error, in bytes.
const STDERR_BYTES_MAX: u64 = 1 << 20;
/// How long the last words of a node that has ended are waited for.
const HEARD: Duration = Duration::from_secs(1);
/// Lines of standard output that may wait to be read.
const LINES_MAX: usize = 16;

/// Where a node is at home.
#[derive(Debug, Clone)]
pub struct Home {
    program: PathBuf,
    dir: PathBuf,
    /// What a shell does before it becomes the node; empty for no shell.
    before: String,
}

impl Home {
    /// A node of `program` in `dir`, which must be there: free ports, no look at the machine's pressure, and what `more`
    /// adds to the configuration.
    pub fn new(program: &Path, dir: &Path, more: &str) -> io::Result<Self> {
        let home = Self { program: program.to_owned(), dir: dir.to_owned(), before: String::new() };
        home.configure(&format!("[pressure]\nsource = \"none\"\n{more}"))?;
        Ok(home)
    }

    /// Replaces what the configuration has besides directory and ports.
    pub fn configure(&self, more: &str) -> io::Result<()> {
        let config = format!(
            "data_dir = \"data\"\n[listeners.invoke]\naddress = \"127.0.0.1:0\"\n[listeners.control]\n\
             address = \"127.0.0.1:0\"\n[listeners.http]\naddress = \"127.0.0.1:0\"\n{more}\n"
        );
        std::fs::write(self.dir.join("latent.toml"), config)
    }

    /// The same, started by a shell that does `before` first, such as `ulimit -v 1048576`.
    pub fn after(&self, before: &str) -> Self {
        Self { before: before.to_owned(), ..self.clone() }
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Starts a node and waits until it says that it is ready.
    ///
    /// # Errors
    /// What it said instead.
    pub async fn serve(&self) -> Result<Served, String> {
        let refused = |ended: Ended| format!("the node did not start: {}: {}", ended.status, ended.stderr.trim());
        self.start().await?.map_err(refused)
    }

    /// Starts a node: it is ready, or it ended.
    ///
    /// # Errors
    /// When it is neither, or says something else.
    pub async fn start(&self) -> Result<Result<Served, Ended>, String> {
        let mut served = self.begin()?;
        let mut lines = Vec::new();
        while lines.len() < 4 {
            let Some(line) = served.line().await else { break };
            lines.push(line);
        }
        let [invoke, control, http, ready] = lines.as_slice() else { return served.ended().await.map(Err) };
        served.invoke = address(invoke, "invoke ")?;
        served.control = address(control, "control ")?;
        served.http = address(http, "http ")?;
        if ready != "ready" {
            return Err(format!("the node said {ready:?} instead of being ready"));
        }
        let credential = self.data().join("dev-credential");
        served.token = std::fs::read_to_string(&credential)
            .map_err(|error| format!("the credential in {}: {error}", credential.display()))?;
        Ok(Ok(served))
    }

    /// Starts a node.
    ///
    /// # Errors
    /// When there is no process to be had.
    pub fn begin(&self) -> Result<Served, String> {
        let mut arguments: Vec<OsString> = vec!["serve".into(), "--config".into(), self.dir.join("latent.toml").into()];
        let mut command = if self.before.is_empty() {
            Command::new(&self.program)
        } else {
            arguments.insert(0, self.program.clone().into());
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(format!("{} && exec \"$0\" \"$@\"", self.before));
            shell
        };
        command.args(arguments).env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| format!("cannot start {}: {error}", self.program.display()))?;
        Ok(Served::of(child))
    }
}

fn address(line: &str, name: &str) -> Result<SocketAddr, String> {
    let address = line.strip_prefix(name).and_then(|url| url.strip_prefix("http://")).and_then(|at| at.parse().ok());
    address.ok_or_else(|| format!("the node said {line:?} instead of where it listens"))
}

/// A node that was started.
#[derive(Debug)]
pub struct Served {
    /// Its process.
    pub id: Pid,
    /// The listener that has `Invoke`.
    pub invoke: SocketAddr,
    /// The other one.
    pub control: SocketAddr,
    /// The one that takes requests for components.
    pub http: SocketAddr,
    token: String,
    lines: mpsc::Receiver<String>,
    end: Option<oneshot::Receiver<(io::Result<ExitStatus>, Instant)>>,
    stderr: Arc<Mutex<String>>,
}

/// How a node ended.
#[derive(Debug)]
pub struct Ended {
    /// As what.
    pub status: ExitStatus,
    /// When.
    pub at: Instant,
    /// What it said.
    pub stderr: String,
}

impl Served {
    fn of(mut child: Child) -> Self {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process has an id");
        let (said, lines) = mpsc::channel(LINES_MAX);
        let (done, end) = oneshot::channel();
        let stderr = Arc::new(Mutex::new(String::new()));
        let (out, err) = (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
        let kept = stderr.clone();
        std::thread::spawn(move || pass_on(out, &said));
        let (all, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            keep(err, &kept);
            let _nobody_asks = all.send(());
        });
        std::thread::spawn(move || {
            let (status, at) = (child.wait(), Instant::now());
            // What it said last; a child of its own may hold the pipe for longer.
            let _late = heard.recv_timeout(HEARD);
            let _nobody_asks = done.send((status, at));
        });
        Self {
            id,
            invoke: nowhere,
            control: nowhere,
            http: nowhere,
            token: String::new(),
            lines,
            end: Some(end),
            stderr,
        }
    }

    /// The next line of standard output; `None` at its end, and when none comes.
    pub async fn line(&mut self) -> Option<String> {
        timeout(WATCHDOG, self.lines.recv()).await.ok().flatten()
    }

    /// A client of this node, with connections of its own and the credential that the node made.
    ///
    /// # Errors
    /// When the token is none.
    pub fn client(&self) -> Result<Client, String> {
        client([self.invoke, self.control], &self.token)
    }

    /// A client that shows another token than the one that the node made for its operator.
    ///
    /// # Errors
    /// When the token is none.
    pub fn client_with(&self, token: &str) -> Result<Client, String> {
        client([self.invoke, self.control], token)
    }

    /// What the system says of its process.
    pub fn process(&self) -> Process {
        Process::of(self.id.as_raw_nonzero().get().cast_unsigned())
    }

    /// Asks for `/healthz` over a connection of its own.
    ///
    /// # Errors
    /// Whatever is not the status 200.
    pub async fn healthz(&self) -> Result<(), String> {
        healthz(self.control).await
    }

    /// Sends a signal. One that has ended does not get it.
    pub fn signal(&self, signal: Signal) {
        if self.end.is_some() {
            let _ended_just_now = kill_process(self.id, signal);
        }
    }

    /// Waits for the end, at most as long as a deadlock is told from.
    ///
    /// # Errors
    /// When it does not end, or has ended before.
    pub async fn ended(&mut self) -> Result<Ended, String> {
        let Some(end) = &mut self.end else { return Err("the node ended before".to_owned()) };
        let Ok(Ok((status, at))) = timeout(WATCHDOG, end).await else {
            return Err(format!("the node has not ended within {WATCHDOG:?}; it said: {}", self.said()));
        };
        self.end = None;
        let status = status.map_err(|error| format!("cannot wait for the node: {error}"))?;
        Ok(Ended { status, at, stderr: self.said() })
    }

    /// What it said to standard error so far.
    pub fn said(&self) -> String {
        self.stderr.lock().map(|text| text.clone()).unwrap_or_default()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// A client of the listeners *invoke* and *control*, with connections of its own.
///
/// # Errors
/// When the token is none.
pub fn client([invoke, control]: [SocketAddr; 2], token: &str) -> Result<Client, String> {
    let token = Token::parse(token).map_err(|wrong| format!("the credential for {invoke}: {wrong}"))?;
    let target = Target {
        invoke: format!("http://{invoke}"),
        control: format!("http://{control}"),
        token: Some(token),
        tls: Tls::default(),
        connect_timeout: CONNECT_TIMEOUT,
    };
    Client::connect(target).map_err(|bad| format!("{bad:?}"))
}

/// Asks the listener *control* for `/healthz`, over a connection of its own.
///
/// # Errors
/// Whatever is not the status 200.
pub async fn healthz(control: SocketAddr) -> Result<(), String> {
    let ask = async {
        let mut stream = TcpStream::connect(control).await?;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: node\r\nconnection: close\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, io::Error>(answer)
    };
    let answer = ask.await.map_err(|error| format!("/healthz: {error}"))?;
    if answer.starts_with("HTTP/1.1 200") { Ok(()) } else { Err(format!("/healthz answered {answer:?}")) }
}

fn pass_on(out: ChildStdout, said: &mpsc::Sender<String>) {
    for line in BufReader::new(out).lines() {
        let Ok(line) = line else { return };
        if said.blocking_send(line).is_err() {
            return;
        }
    }
}

/// Keeps the first of what is said, and reads the rest so that nobody waits to say it.
fn keep(err: ChildStderr, kept: &Mutex<String>) {
    let mut err = BufReader::new(err);
    let mut line = Vec::new();
    while err.by_ref().take(STDERR_BYTES_MAX).read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        if let Ok(mut kept) = kept.lock()
            && (kept.len() + line.len()) as u64 <= STDERR_BYTES_MAX
        {
            kept.push_str(&String::from_utf8_lossy(&line));
        }
        line.clear();
    }
}
