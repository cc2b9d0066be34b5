//! The child's half of a compilation: read the order, give up what is not needed, compile, leave the image or a verdict.
//!
//! Invariant: nothing of the component is read before the limits hold.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Arc;

use wasmtime::{CacheStore, Engine, OutOfMemory};

use super::functions::FunctionStore;
use super::jail;
use super::limits::{Budget, Limit};
use super::protocol::{Order, REFUSED, Verdict};
use crate::COMPILER_THREAD;
use crate::engine::{build_compile_only, compatibility};

/// Stack of the thread that compiles: the validator and the code generator recurse on their input.
const COMPILER_STACK_BYTES: usize = 64 << 20;
/// Stack of the thread that waits for the parent's end.
const LIFELINE_STACK_BYTES: usize = 64 << 10;

/// The child half of [`super::ChildCompiler`], for the program's hidden command [`super::COMPILE_COMMAND`]: reads an order
/// and a component from standard input, writes the image to standard output, and a verdict to standard error when there
/// is none. Ends when standard input does. It limits the whole process: nothing else can be done in it afterwards.
#[must_use]
pub fn compile_child() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(verdict) => {
            // The exit code alone still says that there is no image.
            let _unheard = writeln!(io::stderr(), "{}", verdict.line());
            ExitCode::from(REFUSED)
        }
    }
}

fn work() -> Result<(), Verdict> {
    jail::close_inherited().map_err(|error| broken("it cannot close descriptors", &error))?;
    let order = Order::read(io::stdin().lock()).map_err(|error| broken("it got no order", &error))?;
    let budget = order.budget;
    let files_bytes_max = order.functions.as_ref().map_or(0, |at| at.bytes_max).max(budget.image_bytes);
    jail::limit(&budget, files_bytes_max).map_err(|error| broken("it cannot limit itself", &error))?;
    let functions = order.functions.as_ref().and_then(|at| FunctionStore::open(at, order.compatibility)).map(Arc::new);
    let store = functions.clone().map(|store| store as Arc<dyn CacheStore>);
    let engine = build_compile_only(order.wasm_stack_bytes, store).map_err(|error| broken("no engine", &error))?;
    if compatibility(&engine) != order.compatibility {
        return Err(Verdict::Broken("its engine is another than the one that asks; restart the program".to_owned()));
    }
    // The limits hold without it; a machine that has no filter compiles all the same.
    let _unfiltered = jail::filter();
    let component = read_component(order.component_bytes)?;
    watch_parent()?;
    let image = compile(engine, component)?;
    write_image(&image, &budget)
}

fn read_component(bytes: u64) -> Result<Vec<u8>, Verdict> {
    let bytes = usize::try_from(bytes).map_err(|error| broken("it got no component", &error))?;
    let mut component = Vec::new();
    component.try_reserve_exact(bytes).map_err(|_none| Verdict::Exceeded(Limit::AddressSpace))?;
    component.resize(bytes, 0);
    io::stdin().lock().read_exact(&mut component).map_err(|error| broken("it got no component", &error))?;
    Ok(component)
}

/// Ends this process with the parent's: nothing follows the component, so that standard input ends only then.
fn watch_parent() -> Result<(), Verdict> {
    let wait = || {
        let mut byte = [0];
        loop {
            match io::stdin().lock().read(&mut byte) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                _ => std::process::exit(i32::from(REFUSED)),
            }
        }
    };
    let thread = std::thread::Builder::new().name("latent-lifeline".to_owned()).stack_size(LIFELINE_STACK_BYTES);
    thread.spawn(wait).map(|_detached| ()).map_err(|_none| Verdict::Exceeded(Limit::AddressSpace))
}

fn compile(engine: Engine, component: Vec<u8>) -> Result<Vec<u8>, Verdict> {
    let thread = std::thread::Builder::new().name(COMPILER_THREAD.to_owned()).stack_size(COMPILER_STACK_BYTES);
    let worker = thread.spawn(move || {
        let compiled = catch_unwind(AssertUnwindSafe(|| engine.precompile_component(&component)));
        compiled.map_err(|_panic| Verdict::Panicked)?.map_err(|error| refused(&error))
    });
    let worker = worker.map_err(|_none| Verdict::Exceeded(Limit::AddressSpace))?;
    worker.join().unwrap_or(Err(Verdict::Panicked))
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
