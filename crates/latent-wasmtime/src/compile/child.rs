//! The child's half of a compilation: read the order, give up what is not needed, compile, leave the image or a verdict.
//!
//! Invariant: nothing of the component is read before the limits hold and the threads run, so that what fails until then
//! is not the component's fault. The parent is told when that is over.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

use wasmtime::{CacheStore, Engine, OutOfMemory};

use super::functions::FunctionStore;
use super::jail;
use super::limits::{Budget, Limit, Outer};
use super::protocol::{FunctionsAt, Mark, Order, REFUSED, Verdict};
use crate::COMPILER_THREAD;
use crate::engine::{build_compile_only, compatibility};

/// Stack of the thread that compiles: the validator and the code generator recurse on their input.
const COMPILER_STACK_BYTES: usize = 64 << 20;

/// The child half of [`super::ChildCompiler`], for the program's hidden command [`super::COMPILE_COMMAND`]: reads an order
/// and a component from standard input, writes the image to standard output, and a verdict to standard error when there
/// is none. Ends when standard input does. It limits the whole process and ends it: nothing else can be done in it.
#[must_use]
pub fn compile_child() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::from(REFUSED),
        Err(verdict) => ExitCode::from(leave(&verdict)),
    }
}

/// Leaves `verdict` for the parent. The exit code alone still says that there is no image.
fn leave(verdict: &Verdict) -> u8 {
    let _unheard = writeln!(io::stderr(), "{}", verdict.line());
    REFUSED
}

/// Has a component compiled, on a thread that ends this process, and returns without that only when the parent is gone.
fn work() -> Result<(), Verdict> {
    jail::give_way();
    jail::close_inherited().map_err(|error| broken("it cannot close descriptors", &error))?;
    let order = Order::read(io::stdin().lock()).map_err(|error| broken("it got no order", &error))?;
    let outer = jail::outer();
    let budget = order.budget.under(&outer).budget;
    let functions = order.functions.clone().map(|at| within(at, &outer));
    let files_bytes_max = functions.as_ref().map_or(0, |at| at.bytes_max).max(budget.image_bytes);
    jail::limit(&budget, files_bytes_max).map_err(|error| broken("it cannot limit itself", &error))?;
    let functions = functions.as_ref().and_then(|at| FunctionStore::open(at, order.compatibility)).map(Arc::new);
    let store = functions.map(|store| store as Arc<dyn CacheStore>);
    let engine = build_compile_only(order.wasm_stack_bytes, store).map_err(|error| broken("no engine", &error))?;
    if compatibility(&engine) != order.compatibility {
        return Err(Verdict::Broken("its engine is another than the one that asks; restart the program".to_owned()));
    }
    // The limits hold without it; a machine that has no filter compiles all the same.
    let _unfiltered = jail::filter();
    let worker = start_worker(engine, budget)?;
    // Whoever does not hear this does not hear a verdict either.
    let _unheard = writeln!(io::stderr(), "{}", Mark::Began(outer).line());
    let component = read_component(order.component_bytes)?;
    worker.send(component).map_err(|_gone| Verdict::Broken("its compiling thread is gone".to_owned()))?;
    await_parents_end();
    Ok(())
}

/// The file of functions, no larger than any file of this process may be: beyond that the process is killed.
fn within(at: FunctionsAt, outer: &Outer) -> FunctionsAt {
    FunctionsAt { bytes_max: at.bytes_max.min(outer.file_bytes.unwrap_or(u64::MAX)), ..at }
}

fn read_component(bytes: u64) -> Result<Vec<u8>, Verdict> {
    let bytes = usize::try_from(bytes).map_err(|error| broken("it got no component", &error))?;
    let mut component = Vec::new();
    component.try_reserve_exact(bytes).map_err(|_none| Verdict::Exceeded(Limit::AddressSpace))?;
    component.resize(bytes, 0);
    io::stdin().lock().read_exact(&mut component).map_err(|error| broken("it got no component", &error))?;
    Ok(component)
}

/// Returns when the parent is gone: nothing follows the component, so that standard input ends only then.
fn await_parents_end() {
    let mut byte = [0];
    loop {
        match io::stdin().lock().read(&mut byte) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
            _ => return,
        }
    }
}

/// Starts the thread that compiles the one component it is sent, leaves the image or a verdict, and ends the process.
fn start_worker(engine: Engine, budget: Budget) -> Result<SyncSender<Vec<u8>>, Verdict> {
    let (sender, component) = sync_channel::<Vec<u8>>(1);
    let work = move || {
        let Ok(component) = component.recv() else { return };
        let image = catch_unwind(AssertUnwindSafe(|| engine.precompile_component(&component)))
            .map_err(|_panic| Verdict::Panicked)
            .and_then(|compiled| compiled.map_err(|error| refused(&error)));
        let end = image.and_then(|image| write_image(&image, &budget));
        std::process::exit(end.map_or_else(|verdict| i32::from(leave(&verdict)), |()| 0))
    };
    let thread = std::thread::Builder::new().name(COMPILER_THREAD.to_owned()).stack_size(COMPILER_STACK_BYTES);
    let started = thread.spawn(work).map_err(|error| {
        let address_space = budget.address_space_bytes;
        let what = format!(
            "it cannot start a thread, for which it needs room among the user's processes (ulimit -u) and 64 MiB of the \
             {address_space} bytes of address space (setting address_space_bytes, ulimit -v)"
        );
        broken(&what, &error)
    });
    started.map(|_detached| sender)
}

fn refused(error: &wasmtime::Error) -> Verdict {
    if error.is::<OutOfMemory>() {
        Verdict::Exceeded(Limit::AddressSpace)
    } else {
        Verdict::Invalid(error.root_cause().to_string())
    }
}

fn write_image(image: &[u8], budget: &Budget) -> Result<(), Verdict> {
    if image.len() as u64 > budget.image_bytes {
        return Err(Verdict::Exceeded(Limit::Image));
    }
    // Not through the standard library's own writer, which looks for line ends.
    let file = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    file.and_then(|mut file| file.write_all(image)).map_err(|error| Verdict::Unwritable(error.to_string()))
}

fn broken(what: &str, error: &dyn std::fmt::Display) -> Verdict {
    Verdict::Broken(format!("{what}: {error}"))
}
