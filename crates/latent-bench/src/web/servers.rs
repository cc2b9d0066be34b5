//! The servers: processes on free ports that answer `GET /`, and what the system says they use.
//!
//! Invariant: a process that was started is killed when its [`Server`] is dropped.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::Options;
use crate::process::Process;

/// After this a server that does not answer is taken to be broken. Components of scripting languages take a while to
/// compile.
const WATCHDOG: Duration = Duration::from_mins(5);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// The fuel and the time that one request may have, in either node.
const FUEL: u64 = 100_000_000;
const TIME_SECONDS: u64 = 10;

/// A server that answers.
pub struct Server {
    /// What it is.
    pub name: &'static str,
    /// What is asked of it.
    pub url: String,
    child: Child,
    /// Where it keeps what it makes.
    home: Option<TempDir>,
}

impl Server {
    /// The three of a comparison, answering.
    ///
    /// # Errors
    /// Which one did not start.
    pub fn all(options: &Options, component: &Path) -> Result<Vec<Self>, String> {
        Ok(vec![bare(options)?, wasmtime(options, component)?, latent(options, component)?])
    }

    /// Processor time that it has used.
    ///
    /// # Errors
    /// When it is gone.
    pub fn processor_time(&self) -> Result<Duration, String> {
        Process::of(self.child.id()).processor_time().map_err(|error| self.gone(&error))
    }

    /// The most memory that it has had resident, in bytes.
    ///
    /// # Errors
    /// When it is gone.
    pub fn peak_resident_bytes(&self) -> Result<u64, String> {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).map_err(|error| self.gone(&error))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
        let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().map_err(|_| "the system tells no peak")?;
        Ok(kibibytes << 10)
    }

    fn gone(&self, error: &impl std::fmt::Display) -> String {
        format!("{} is gone: {error}", self.name)
    }

    fn start(
        name: &'static str,
        command: &mut Command,
        address: SocketAddr,
        home: Option<TempDir>,
    ) -> Result<Self, String> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| format!("cannot start {}: {error}", command.get_program().display()))?;
        let mut server = Self { name, url: format!("http://{address}/"), child, home };
        server.until_it_answers(address)?;
        Ok(server)
    }

    #[expect(clippy::disallowed_methods, reason = "another process is waited for")]
    fn until_it_answers(&mut self, address: SocketAddr) -> Result<(), String> {
        let begun = Instant::now();
        while begun.elapsed() < WATCHDOG {
            if answers(address) {
                return Ok(());
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("{} ended before it answered: {status}", self.name));
            }
            std::thread::sleep(LOOK);
        }
        Err(format!("{} has not answered within {WATCHDOG:?}", self.name))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended_before = self.child.kill();
        let _status = self.child.wait();
    }
}

fn bare(options: &Options) -> Result<Server, String> {
    let address = free()?;
    Server::start("bare hyper", Command::new(&options.bare).args(["--bare", &address.to_string()]), address, None)
}

/// With the pooling allocator, fuel and a time limit, so that it has the limits that it can have; compiled before, because
/// a node keeps what it has compiled.
fn wasmtime(options: &Options, component: &Path) -> Result<Server, String> {
    let home = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let compiled = home.path().join("compiled");
    let limits = format!("fuel={FUEL},timeout={TIME_SECONDS}s,epoch-interruption=y");
    let limits = ["-O", "pooling-allocator=y", "-W", &limits];
    let compile =
        Command::new(&options.wasmtime).arg("compile").args(limits).arg(component).arg("-o").arg(&compiled).status();
    if !compile.map_err(|error| format!("cannot start {}: {error}", options.wasmtime.display()))?.success() {
        return Err(format!("wasmtime does not compile {}", component.display()));
    }
    let address = free()?;
    let mut command = Command::new(&options.wasmtime);
    command.arg("serve").args(limits).args(["-S", "cli=y", "--allow-precompiled", "--addr", &address.to_string()]);
    Server::start("wasmtime serve", command.arg(&compiled), address, Some(home))
}

/// A node with its default limits, quotas and records, without the lines that `latent up` prints of each activation. It is
/// started again once its component is compiled: what is measured is serving, for either node.
fn latent(options: &Options, component: &Path) -> Result<Server, String> {
    let home = tempfile::tempdir().map_err(|error| format!("no directory: {error}"))?;
    let address = free()?;
    let config = format!(
        "data_dir = \".latent\"\n[listeners.invoke]\naddress = \"127.0.0.1:0\"\n[listeners.control]\naddress = \
         \"127.0.0.1:0\"\n[listeners.http]\naddress = \"{address}\"\n[pressure]\nsource = \"none\"\n[limits]\nfuel = \
         {FUEL}\nwall = \"{TIME_SECONDS}s\"\n[cells.standard]\nqueue = 256\n"
    );
    let file = home.path().join(CONFIG);
    fs::write(&file, config).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let child = node(options, home.path())?;
    let mut server = Server { name: "latent", url: format!("http://{address}/"), child, home: Some(home) };
    until_it_listens(&mut server, address)?;
    let component = fs::canonicalize(component).map_err(|error| format!("{}: {error}", component.display()))?;
    let mut command = Command::new(&options.latent);
    command.current_dir(home_of(&server)).args(["deploy", "--service", "hello", "--deployment", "main", "--http", "/"]);
    command.arg("--component").arg(&component).stdout(Stdio::null());
    if !command.status().map_err(|error| format!("cannot start {}: {error}", options.latent.display()))?.success() {
        return Err(format!("latent does not deploy {}", component.display()));
    }
    server.until_it_answers(address)?;
    let stopped = server.child.kill().and_then(|()| server.child.wait());
    stopped.map_err(|error| format!("latent cannot be stopped: {error}"))?;
    server.child = node(options, home_of(&server))?;
    server.until_it_answers(address)?;
    Ok(server)
}

/// The configuration of a node, in its directory.
const CONFIG: &str = "latent.toml";

fn node(options: &Options, home: &Path) -> Result<Child, String> {
    let mut serve = Command::new(&options.latent);
    serve.args(["serve", "--config"]).arg(home.join(CONFIG)).env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
    let child = serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.map_err(|error| format!("cannot start {}: {error}", options.latent.display()))
}

/// The directory of a server that has one; a client in it finds its node.
fn home_of(server: &Server) -> &Path {
    server.home.as_ref().map_or(Path::new("."), TempDir::path)
}

#[expect(clippy::disallowed_methods, reason = "another process is waited for")]
fn until_it_listens(server: &mut Server, address: SocketAddr) -> Result<(), String> {
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        if begun.elapsed() > WATCHDOG || server.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return Err(format!("{} does not listen on {address}", server.name));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// An address that was free just now.
fn free() -> Result<SocketAddr, String> {
    let taken = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    taken.map_err(|error| format!("no port is free: {error}"))
}

fn answers(address: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        Ok::<_, std::io::Error>(head.ends_with(b" 200"))
    };
    ask().unwrap_or(false)
}
