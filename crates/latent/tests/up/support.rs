//! What the tests share: a directory with components, a node under `latent up` in it, and the few lines of HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// After this a node that has not answered is a deadlock. No test relies on it.
pub const WATCHDOG: Duration = Duration::from_mins(2);

/// A directory to be in.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file as editors do: whole, under another name, which is then its name.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let staged = self.path("staged");
        std::fs::write(&staged, bytes).expect("the directory takes files");
        std::fs::rename(&staged, self.path(name)).expect("the directory takes files");
    }

    /// The program with these arguments, in this directory.
    pub fn latent(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_latent"));
        command.args(args).current_dir(self.0.path()).env_remove("OTEL_EXPORTER_OTLP_ENDPOINT").stdin(Stdio::null());
        command
    }

    /// `latent up` on free ports, with these arguments. Not yet ready.
    pub fn begin(&self, args: &[&str]) -> Up {
        let mut command =
            self.latent(&["up", "--invoke", "127.0.0.1:0", "--control", "127.0.0.1:0", "--http", "127.0.0.1:0"]);
        let mut child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (stdout, stderr) = (child.stdout.take().expect("piped"), child.stderr.take().expect("piped"));
        let [out, err] = [lines(stdout), lines(stderr)];
        Up {
            child,
            out,
            err,
            told: Vec::new(),
            invoke: String::new(),
            control: String::new(),
            http: String::new(),
            token: String::new(),
        }
    }

    /// The same, once it is ready.
    pub fn up(&self, args: &[&str]) -> Up {
        let mut up = self.begin(args);
        up.until("ready");
        let address = |name: &str| {
            let line = up.told.iter().find_map(|line| line.strip_prefix(name)).expect("it says where it listens");
            line.strip_prefix("http://").expect("no TLS").to_owned()
        };
        (up.invoke, up.control, up.http) = (address("invoke "), address("control "), address("http "));
        let token = std::fs::read_to_string(self.path(".latent/dev-credential")).expect("a token");
        token.trim().clone_into(&mut up.token);
        up
    }
}

fn lines(from: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (told, hears) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if told.send(line).is_err() {
                return;
            }
        }
    });
    hears
}

/// A node. Killed when it is dropped.
pub struct Up {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
    pub told: Vec<String>,
    pub invoke: String,
    pub control: String,
    pub http: String,
    token: String,
}

impl Up {
    /// Waits for a line of standard error with `part` in it.
    #[track_caller]
    pub fn until(&mut self, part: &str) -> String {
        loop {
            match self.err.recv_timeout(WATCHDOG) {
                Ok(line) => {
                    self.told.push(line.clone());
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no line with {part:?}: {:#?}", self.told)
                }
            }
        }
    }

    /// The next line of standard output.
    #[track_caller]
    pub fn result(&self) -> String {
        self.out.recv_timeout(WATCHDOG).expect("a line of standard output")
    }

    /// The memory of the node that is resident, or the most that was since it was asked for with `anew`: KiB.
    pub fn resident_max_kib(&self, anew: bool) -> u64 {
        let of_node = |file: &str| format!("/proc/{}/{file}", self.child.id());
        if anew {
            std::fs::write(of_node("clear_refs"), "5").expect("it is our child");
        }
        let status = std::fs::read_to_string(of_node("status")).expect("it is our child");
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        peak.and_then(|kib| kib.parse().ok()).expect("it says its peak")
    }

    pub fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(id, signal).expect("it is our child");
    }

    /// Waits for the end: the exit code, and the rest of both outputs.
    pub fn ended(&mut self) -> (Option<i32>, String) {
        // Standard error is closed by the end.
        while let Ok(line) = self.err.recv_timeout(WATCHDOG) {
            self.told.push(line);
        }
        let status = self.child.wait().expect("it is our child");
        (status.code(), self.told.join("\n"))
    }

    /// Calls over HTTP, and answers status, head and body.
    pub fn call(&self, head: &str, body: &str) -> Answer {
        let to = if head.contains("/v1/invoke/") { &self.invoke } else { &self.control };
        Answer::of(self.ask(to, head, "", body))
    }

    /// Sends a call, and leaves its answer to be read.
    pub fn ask(&self, to: &str, head: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(to).expect("the node listens");
        stream.set_read_timeout(Some(WATCHDOG)).expect("a socket has timeouts");
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "{head} HTTP/1.1\r\nhost: node\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             {headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("the node reads");
        stream
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    head: String,
    pub body: String,
}

impl Answer {
    pub fn of(mut stream: TcpStream) -> Self {
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer in text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no HTTP: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    #[track_caller]
    pub fn header(&self, name: &str) -> String {
        let value = self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.unwrap_or_else(|| panic!("no {name} in {}", self.head)).to_owned()
    }
}

/// Component text with one function, which answers `number`.
pub fn answering(number: u32) -> String {
    format!(
        "(component (core module $m (func (export \"answer\") (result i32) i32.const {number}))\n\
         (core instance $i (instantiate $m))\n\
         (func (export \"answer\") (result u32) (canon lift (core func $i \"answer\"))))"
    )
}

/// The fixture called `name`, and a section beside it that makes it another component.
pub fn marked(name: &str, mark: u8) -> Vec<u8> {
    [latent_guests::component(name), &[0, 3, 1, b'm', mark][..]].concat()
}

/// Whether `path` is a file that its owner alone can read.
pub fn is_private(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|about| about.permissions().mode().trailing_zeros() >= 6)
}
