//! The toolchains that build services: those that are there, and what is done where one is not.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::Place;

/// Where distributions put the sources of their standard library.
const STD_SOURCES: &str = "/usr/lib/rustlib/src/rust/library";
const WASI: &str = "wasm32-wasip2";
const PLAIN: &str = "wasm32-unknown-unknown";

/// What builds the services of one language.
#[derive(Debug, Clone, Copy)]
pub enum Toolchain {
    /// Cargo, with its component target.
    Rust,
    /// A distribution's cargo, which builds the standard library too, and jco for the component.
    RustOfDistribution,
    /// jco, which the build script finds or asks npx for.
    JavaScript,
    /// componentize-py, from the PATH or an environment that is made.
    Python,
}

impl Toolchain {
    /// What there is for Rust, if that is wanted.
    pub fn of_rust() -> Option<Self> {
        wanted()?;
        let listed = Command::new("rustup").args(["target", "list", "--installed"]).output();
        if listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).lines().any(|line| line == WASI)) {
            return Some(Self::Rust);
        }
        if Path::new(STD_SOURCES).is_dir() && Path::new("/usr/bin/cargo").is_file() {
            return Some(Self::RustOfDistribution);
        }
        println!("skipped: there is neither rustup's target {WASI} nor a distribution's rustc with {STD_SOURCES}");
        None
    }

    /// What there is for JavaScript, if that is wanted.
    pub fn of_javascript() -> Option<Self> {
        wanted().map(|()| Self::JavaScript)
    }

    /// What there is for Python, if that is wanted.
    pub fn of_python() -> Option<Self> {
        wanted().map(|()| Self::Python)
    }

    /// As `latent new` calls it.
    pub fn language(self) -> &'static str {
        match self {
            Self::Rust | Self::RustOfDistribution => "rust",
            Self::JavaScript => "js",
            Self::Python => "python",
        }
    }

    /// Builds the service in the directory `shop` and puts it into its place as `shop.wasm`.
    #[track_caller]
    pub fn build(self, place: &Place) {
        let project = place.path("shop");
        let built = project.join("built.wasm");
        match self {
            Self::RustOfDistribution => of_distribution(&project, &built),
            Self::Python if !is_on_path("componentize-py") => {
                succeed(command("python3", &["-m", "venv", ".venv"], &project));
                succeed(command(
                    project.join(".venv/bin/pip"),
                    &["install", "--quiet", "-r", "requirements.txt"],
                    &project,
                ));
                scripted(&project);
            }
            Self::Rust | Self::JavaScript | Self::Python => scripted(&project),
        }
        place.put("shop.wasm", std::fs::read(built).expect("it was built"));
    }
}

#[expect(clippy::disallowed_methods, reason = "a switch for whoever runs the tests")]
fn wanted() -> Option<()> {
    let wanted = std::env::var("LATENT_EXAMPLES").is_ok_and(|value| value == "1");
    if !wanted {
        println!("skipped: set LATENT_EXAMPLES=1 to build and run the services");
    }
    wanted.then_some(())
}

#[track_caller]
fn scripted(project: &Path) {
    succeed(command(project.join("build.sh"), &["built.wasm"], project));
}

/// The same sources for a target without a system, which a distribution's toolchain links, made a component afterwards.
#[track_caller]
fn of_distribution(project: &Path, built: &Path) {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("services-rust");
    let sysroot = succeed(command("rustc", &["--print", "sysroot"], project));
    let sysroot = PathBuf::from(String::from_utf8_lossy(&sysroot.stdout).trim());
    let linker = sysroot.join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
    let mut cargo = command("/usr/bin/cargo", &["build", "--release", "--target", PLAIN], project);
    cargo.arg("-Zbuild-std=std,panic_abort").arg("--target-dir").arg(&kept);
    cargo.env("RUSTC", "/usr/bin/rustc").env("RUSTC_BOOTSTRAP", "1");
    succeed(cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker));
    let core = kept.join(PLAIN).join("release/service.wasm");
    let mut new = if is_on_path("jco") {
        command("jco", &["new"], project)
    } else {
        command("npx", &["--yes", "--package", "@bytecodealliance/jco@1.24.6", "jco", "new"], project)
    };
    succeed(new.arg(core).arg("--output").arg(built));
}

fn is_on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

fn command(program: impl AsRef<OsStr>, arguments: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory);
    command
}

/// Runs a command, which must succeed.
#[track_caller]
pub fn succeed(mut command: impl std::borrow::BorrowMut<Command>) -> Output {
    let command = command.borrow_mut();
    let output = command.output().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
    output
}
