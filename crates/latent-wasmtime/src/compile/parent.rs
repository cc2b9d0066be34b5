//! Compiling in a child process of the same program: the parent's half, which gives the order and judges the end.
//!
//! Invariant: when a compilation has returned, its child is dead and reaped, and no descriptor of it is left.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use latent_core::error::cut;
use latent_core::{ErrorDetail, PlatformError, PlatformErrorCode};
use rustix::event::{EventfdFlags, eventfd};
use wasmtime::{Engine, Precompiled};

use super::limits::{Budget, CompileLimits, Limit, Outer};
use super::protocol::{Mark, Order, REFUSED, Verdict, unable};
use super::tenants::FunctionsOptions;
use super::watch::{Ended, Watched};
use super::{CompileJob, Compiler};
use crate::engine::compatibility;
use crate::settings::EngineSettings;

/// The hidden command of the program that runs [`super::compile_child`].
pub const COMPILE_COMMAND: &str = "compile-component";

/// What the child's allocator is told, if it is mimalloc: that reserves address space ahead, by itself more than a
/// compilation may have.
const ARENA: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "32MiB");

/// What a [`ChildCompiler`] needs to know.
#[derive(Debug, Clone)]
pub struct ChildOptions {
    /// The program, which runs [`super::compile_child`] when its only argument is [`COMPILE_COMMAND`]. `/proc/self/exe`
    /// is this program, even after its file was replaced.
    pub program: PathBuf,
    /// What one compilation may use.
    pub limits: CompileLimits,
    /// Where compiled functions are kept between compilations; without it every compilation starts from nothing.
    pub functions: Option<FunctionsOptions>,
}

/// Compiles each component in a process of its own, within [`CompileLimits`] that the kernel enforces. Where the kernel
/// takes a filter of system calls from it, the child opens no socket or file and starts no process either; some containers
/// forbid such a filter, and then it works without.
///
/// The child contains crashes and what a compilation uses up. It is no defence against a compiler that a component has
/// taken over: the image is run.
pub struct ChildCompiler {
    options: ChildOptions,
    wasm_stack_bytes: u32,
    compatibility: u64,
    /// Readable from the interrupt on, for ever: it ends what is under way and what comes later.
    stop: OwnedFd,
}

impl ChildCompiler {
    /// A compiler of images for `engine`, which was built from `settings`.
    ///
    /// # Errors
    /// When the system gives no descriptor, or the directory of compiled functions cannot be used.
    pub fn new(mut options: ChildOptions, engine: &Engine, settings: &EngineSettings) -> io::Result<Self> {
        if let Some(functions) = &mut options.functions {
            functions.prepare()?;
        }
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let (wasm_stack_bytes, compatibility) = (settings.wasm_stack_bytes, compatibility(engine));
        Ok(Self { options, wasm_stack_bytes, compatibility, stop })
    }

    fn order(&self, job: CompileJob<'_>) -> Order {
        let component_bytes = job.artifact.bytes().len() as u64;
        Order {
            component_bytes,
            wasm_stack_bytes: self.wasm_stack_bytes,
            compatibility: self.compatibility,
            budget: self.options.limits.budget(component_bytes),
            functions: self.options.functions.as_ref().zip(job.tenant).map(|(functions, tenant)| functions.of(tenant)),
        }
    }

    fn command(&self, image: &File) -> io::Result<Command> {
        let mut command = Command::new(&self.options.program);
        command
            .arg(COMPILE_COMMAND)
            .env_clear()
            .env(ARENA.0, ARENA.1)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::from(image.try_clone()?))
            .stderr(Stdio::piped())
            // A key pressed on the terminal is for the parent, which then ends its child itself.
            .process_group(0);
        Ok(command)
    }
}

impl Compiler for ChildCompiler {
    fn compile(&self, job: CompileJob<'_>) -> Result<(), PlatformError> {
        let order = self.order(job);
        if let Some((functions, used)) = self.options.functions.as_ref().zip(order.functions.as_ref()) {
            functions.make_room(used);
        }
        let framed = order.framed().map_err(|error| unable(&error))?;
        let ended = self
            .command(job.image)
            .and_then(|mut command| Watched::spawn(&mut command))
            .and_then(|child| child.serve(&framed, job.artifact.bytes(), order.budget.wall_seconds, &self.stop))
            .map_err(|error| not_started(&self.options.program, &error))?;
        match ended {
            Ended::Interrupted => Err(interrupted()),
            Ended::OutOfTime => Err(order.budget.under(&Outer::default()).exceeded(Limit::Wall)),
            Ended::Exited { status, said } => judge(status, &said, &order.budget)
                .and_then(|()| check_image(job.image, &order.budget).map_err(|error| unable(&error))?),
        }
    }

    fn interrupt(&self) {
        // The one way to fail is a counter that is full, and then it is readable as well.
        let _full = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }
}

/// What the end of the child means.
fn judge(status: ExitStatus, said: &[u8], budget: &Budget) -> Result<(), PlatformError> {
    let began = Mark::find(said).map(|Mark::Began(outer)| outer);
    let held = budget.under(&began.unwrap_or_default());
    match (status.code(), status.signal()) {
        (Some(0), _) => return Ok(()),
        (Some(code), _) if code == i32::from(REFUSED) => {
            if let Some(verdict) = Verdict::find(said) {
                return Err(verdict.into_error(&held));
            }
        }
        (_, Some(libc::SIGKILL)) if held.kills_without_a_word() => return Err(held.exceeded(Limit::Cpu)),
        (_, Some(signal)) if !OWN_SIGNALS.contains(&signal) => return Err(killed(status)),
        _ => (),
    }
    if began.is_none() {
        let said = String::from_utf8_lossy(said);
        let first = cut(said.lines().next().unwrap_or_default(), SAID_BYTES_SHOWN);
        return Err(unable(&format_args!("it ended before it began: {status}; it said {first:?}")));
    }
    Err(match status.signal() {
        Some(libc::SIGXCPU) => held.exceeded(Limit::Cpu),
        Some(libc::SIGXFSZ) => held.exceeded(Limit::Image),
        Some(libc::SIGABRT) if ran_out_of_memory(said) => held.exceeded(Limit::AddressSpace),
        _ => crashed(status),
    })
}

/// What a component can bring about in its compiler. Every other signal is sent by somebody, or tells that a page of the
/// program or of memory is lost, or that the system forbids a call.
const OWN_SIGNALS: [libc::c_int; 7] =
    [libc::SIGXCPU, libc::SIGXFSZ, libc::SIGABRT, libc::SIGSEGV, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP];
/// As much of a child's words as an error repeats.
const SAID_BYTES_SHOWN: usize = 160;

/// No child, or none that could be watched.
fn not_started(program: &Path, error: &io::Error) -> PlatformError {
    let program_shown = program.display();
    if program.starts_with("/proc") && error.kind() == io::ErrorKind::NotFound {
        return unable(&format_args!("{program_shown}: {error}; it is how the program finds itself: mount /proc"));
    }
    unable(&format_args!("{program_shown}: {error}"))
}

/// The standard library ends a process that gets no memory in this way only, and says so in these words.
fn ran_out_of_memory(said: &[u8]) -> bool {
    String::from_utf8_lossy(said).contains("memory allocation of ")
}

/// A child that says it is done has to have left a component's image within its bound. Whether it is this engine's is
/// for the engine to say when it loads it.
fn check_image(image: &File, budget: &Budget) -> io::Result<Result<(), PlatformError>> {
    if image.metadata()?.len() > budget.image_bytes {
        return Ok(Err(budget.under(&Outer::default()).exceeded(Limit::Image)));
    }
    let found = Engine::detect_precompiled_file(format!("/proc/self/fd/{}", image.as_raw_fd()));
    match found {
        Ok(Some(Precompiled::Component)) => return Ok(Ok(())),
        Err(error) => {
            if let Some(error) = error.downcast_ref::<io::Error>() {
                return Ok(Err(unable(&format_args!(
                    "the image cannot be seen through /proc/self/fd: {error}; is /proc mounted?"
                ))));
            }
        }
        Ok(_) => (),
    }
    let message = "the compiler ended well and left no image of a component; is its program this one?";
    Ok(Err(PlatformError::new(PlatformErrorCode::Internal, message).with_detail(ErrorDetail::new("compiler.no-image"))))
}

fn crashed(status: ExitStatus) -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::InvalidArgument,
        format_args!("the compiler crashed on this component: {status}"),
    )
    .with_detail(ErrorDetail::new("compiler.crashed").with("status", status))
}

/// Something else ended the child: an operator, a system that is short of memory, a disk that lost the program.
fn killed(status: ExitStatus) -> PlatformError {
    PlatformError::new(
        PlatformErrorCode::Unavailable,
        format_args!("the compiler was killed from outside, perhaps for want of memory: {status}"),
    )
    .retryable()
    .with_detail(ErrorDetail::new("compiler.killed").with("status", status))
}

fn interrupted() -> PlatformError {
    PlatformError::new(PlatformErrorCode::Unavailable, "the compiler is shutting down")
        .retryable()
        .with_detail(ErrorDetail::new("compiler.interrupted"))
}
