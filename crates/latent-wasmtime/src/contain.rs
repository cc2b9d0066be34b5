//! One contained run, from a granted request to an outcome with its cleanup proof.
//!
//! The order is that of `activation-containment.md`, "Cleanup ordering", steps 6 to 10: refuse imports that are not granted and decode before any store
//! exists, run under the latch and the watchdog, capture and encode, drop store and values, then classify. Whatever
//! panics is caught here and costs the cell.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::future::BoxFuture;
use latent_core::{ErrorDetail, ExecutionOutcome, MediaType, PlatformError, PlatformErrorCode};
use latent_executor::{
    ActivationContext, ContainedExecution, ExecutionCancellation, ExecutionCleanup, ExecutionReport, ExecutionRequest,
    PreparedCode as _, UseGuards, refuse_ungranted,
};
use wasmtime::{Store, UpdateDeadline};

use crate::classify::{Bounds, Facts, classify, stopped};
use crate::gauges::{Held, Kind};
use crate::guard::{Ended, guarded, now};
use crate::host::{HostState, Subject};
use crate::http::AnswerSlot;
use crate::limiter::{Limiter, ObjectCounts};
use crate::plan::{Input, Output, Plan};
use crate::prepare::PreparedComponent;
use crate::secrets::Secrets;
use crate::shared::Shared;
use crate::slices::Slices;
use crate::store::LiveStore;
use crate::values::EncodeError;

/// Prepared code as one run holds it: the pin that outlives the cache and the permit of its one instance.
pub struct Pinned<'a> {
    /// The code.
    pub code: Arc<PreparedComponent>,
    /// The backend's own guards, or those that came with a prepared use.
    pub _guards: Guards<'a>,
    /// The run itself, as it is counted.
    pub _running: Held<'a>,
}

/// What keeps the code and the permit until it is dropped.
pub enum Guards<'a> {
    /// The pin and the permit, taken by this backend for this run.
    Own {
        /// The pin.
        _pin: Held<'a>,
        /// The permit.
        _permit: Held<'a>,
    },
    /// Came with a prepared use.
    Use {
        /// Those of the use.
        _guards: UseGuards,
    },
}

/// Fuel after which guest code is made to say what it burnt. Between its calls it counts in a register, which a stop
/// throws away: what is reported of a stopped loop falls short by at most this much.
const FUEL_SAVE_INTERVAL: u64 = 1_000_000;

/// Why the epoch callback stopped a guest. The cause itself is in the latch.
#[derive(Debug)]
struct Stop;

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("stopped by the node")
    }
}

impl std::error::Error for Stop {}

/// Runs `request` on pinned code.
///
/// A block instead of an `async fn`, and no more than one: what a block captures is kept once, parameters twice.
#[expect(clippy::manual_async_fn, reason = "an `async fn` keeps its parameters twice")]
pub fn run<'a>(
    shared: &'a Shared,
    pinned: Pinned<'a>,
    request: ExecutionRequest,
    cancellation: ExecutionCancellation,
) -> impl Future<Output = ContainedExecution> + Send + use<'a> {
    async move {
        let secrets = match secrets(shared, &request, &cancellation) {
            None => Secrets::default(),
            Some(reading) => match reading.await {
                Ok(secrets) => secrets,
                Err(ended) => return ended,
            },
        };
        let Begun { context, plan, input, media_type, started, buffers, mut live } =
            match begin(shared, &pinned.code, (request, secrets), &cancellation) {
                Ok(begun) => begun,
                Err(error) => return ContainedExecution::refused(&cancellation, error),
            };
        let watch = shared.ticker.watch(&cancellation);
        let entered = AtomicBool::new(false);
        let (ended, at) = {
            let mut call = pin!(Some(invoke(shared, &pinned.code, plan, live.get(), input, &entered)));
            let slices = Slices::new(shared.slice(), &shared.processor, &context.principal.tenant, &entered);
            guarded(&shared.ticker, &cancellation, started, Some(slices), call.as_mut()).await
        };
        drop(watch);
        live.observe(at);
        let panicked = matches!(ended, Ended::Panicked);
        let captured = capture(shared, plan, &mut live, &cancellation, ended, media_type);
        let clean = live.close();
        let outcome = captured.classified(plan, entered.into_inner());
        drop(buffers);
        drop(pinned);
        let consumption = cancellation.budget_accounting().consumption();
        let cleanup = match (panicked, clean) {
            (false, true) => ExecutionCleanup::Reusable,
            (true, _) => ExecutionCleanup::Unproven { reason: "the host panicked during the run" },
            (false, false) => ExecutionCleanup::Unproven { reason: "the host panicked while the store was dropped" },
        };
        ContainedExecution { report: ExecutionReport { outcome, consumption }, cleanup }
    }
}

/// A run that is about to enter its guest. What is left of its request is in here, so that the request need not be kept.
struct Begun<'a> {
    context: Arc<ActivationContext>,
    plan: Plan<'a>,
    input: Input,
    media_type: MediaType,
    started: Instant,
    buffers: Held<'a>,
    live: LiveStore<'a>,
}

/// What the request's secrets hold, read unless the activation is stopped first; `None` where it has none, which costs
/// nothing.
fn secrets<'a>(
    shared: &'a Shared,
    request: &'a ExecutionRequest,
    cancellation: &'a ExecutionCancellation,
) -> Option<BoxFuture<'a, Result<Secrets, ContainedExecution>>> {
    let any = !request.policy.execution.secrets.is_empty();
    any.then(|| Box::pin(prepared(shared, cancellation, shared.secrets.read(request))) as BoxFuture<'a, _>)
}

/// Checks and decodes `request`, then opens its store.
fn begin<'a>(
    shared: &'a Shared,
    code: &'a PreparedComponent,
    (request, secrets): (ExecutionRequest, Secrets),
    cancellation: &'a ExecutionCancellation,
) -> Result<Begun<'a>, PlatformError> {
    refuse_ungranted(code.imports(), &request.policy.execution.imports)?;
    let started = now();
    let media_type = request.payload.media_type;
    let plan = code.plan(&request.target)?;
    let input = plan.decode(&request, &shared.settings.values)?;
    let buffers = shared.gauges.hold(Kind::Buffer);
    let ExecutionRequest { context, policy, exchange, .. } = request;
    let subject = Subject { context: context.clone(), policy, secrets, exchange };
    let live = open(shared, subject, cancellation, started)?;
    Ok(Begun { context, plan, input, media_type, started, buffers, live })
}

/// Waits for `preparation` unless the activation is stopped first.
pub async fn prepared<T>(
    shared: &Shared,
    cancellation: &ExecutionCancellation,
    preparation: impl Future<Output = Result<T, PlatformError>>,
) -> Result<T, ContainedExecution> {
    let _watch = shared.ticker.watch(cancellation);
    let mut preparation = pin!(Some(preparation));
    match guarded(&shared.ticker, cancellation, now(), None, preparation.as_mut()).await.0 {
        Ended::Done(Ok(code)) => Ok(code),
        Ended::Done(Err(error)) => Err(ContainedExecution::refused(cancellation, error)),
        Ended::Stopped(cause) => Err(ContainedExecution::ended_early(cancellation, stopped(cause))),
        Ended::Panicked => Err(ContainedExecution::ended_early(cancellation, host_panic())),
    }
}

fn open<'a>(
    shared: &'a Shared,
    subject: Subject,
    cancellation: &'a ExecutionCancellation,
    started: Instant,
) -> Result<LiveStore<'a>, PlatformError> {
    let settings = &shared.settings;
    let held = shared.gauges.hold(Kind::Store);
    let ledger = cancellation.budget_accounting();
    let fuel = ledger.granted().fuel;
    let counts = ObjectCounts {
        instances: settings.core_instances_max,
        memories: settings.memories_max,
        tables: settings.tables_max,
    };
    let limiter = Limiter::new(ledger.clone(), settings.memory_bytes_max, settings.table_elements_max, counts);
    let state = HostState::new(settings, subject, cancellation.clone(), shared.services.clone(), limiter);
    let mut store = Store::new(&shared.engine, state);
    store.limiter(|state| &mut state.limiter);
    store.set_fuel(fuel).map_err(|error| no_fuel(&error))?;
    store.fuel_async_yield_interval(Some(FUEL_SAVE_INTERVAL)).map_err(|error| no_fuel(&error))?;
    store.set_hostcall_fuel(settings.host_call_bytes_max as usize);
    store.set_max_component_handles(settings.handles_max as usize);
    let ticks = u64::from(settings.epoch_deadline_ticks);
    store.set_epoch_deadline(ticks);
    store.epoch_deadline_callback(move |cx| {
        match cx.data().run.cancellation.checkpoint(now()) {
            Some(_) => Err(wasmtime::Error::from(Stop)),
            // Yielding at every tick keeps a spinning guest from owning its thread.
            None => Ok(UpdateDeadline::Yield(ticks)),
        }
    });
    Ok(LiveStore::new(store, ledger, started, held))
}

fn no_fuel(error: &wasmtime::Error) -> PlatformError {
    PlatformError::new(PlatformErrorCode::Internal, format_args!("the engine does not count fuel: {error}"))
}

#[expect(clippy::manual_async_fn, reason = "an `async fn` keeps its parameters twice")]
fn invoke<'a>(
    shared: &'a Shared,
    code: &'a PreparedComponent,
    plan: Plan<'a>,
    store: &'a mut Store<HostState>,
    input: Input,
    entered: &'a AtomicBool,
) -> impl Future<Output = wasmtime::Result<Output>> + Send + use<'a> {
    async move {
        let instance = code.pre.instantiate_async(&mut *store).await?;
        let _instance = shared.gauges.hold(Kind::Instance);
        entered.store(true, Ordering::Relaxed);
        shared.processor.before_the_first_slice().await;
        plan.call(&instance, store, input).await
    }
}

/// What is read from a store before it is dropped.
enum Captured {
    /// The run's outcome is known: a result, encoded, or a stop.
    Outcome(ExecutionOutcome),
    /// The run failed; the facts say what that means.
    Failed { facts: Facts, bounds: Bounds, error: wasmtime::Error, answer: AnswerSlot },
}

/// Encodes a result, or reads the facts about a failure, while the store is still there.
fn capture(
    shared: &Shared,
    plan: Plan<'_>,
    live: &mut LiveStore<'_>,
    cancellation: &ExecutionCancellation,
    ended: Ended<wasmtime::Result<Output>>,
    media_type: MediaType,
) -> Captured {
    match ended {
        Ended::Panicked => Captured::Outcome(host_panic()),
        Ended::Stopped(cause) => Captured::Outcome(stopped(cause)),
        Ended::Done(Ok(output)) => Captured::Outcome(encoded(plan, output, media_type, shared)),
        Ended::Done(Err(error)) => {
            let (facts, bounds) = facts(shared, live, cancellation);
            Captured::Failed { facts, bounds, error, answer: live.get().data().answer() }
        }
    }
}

impl Captured {
    /// Decides what the run came to, after everything it held is gone.
    ///
    /// A guest that leaves by itself may have left with a result, but only out of the function that was called.
    fn classified(self, plan: Plan<'_>, entered: bool) -> ExecutionOutcome {
        match self {
            Self::Outcome(outcome) => outcome,
            Self::Failed { facts, bounds, error, answer } => match classify(facts, bounds, &error) {
                // The written policy for a guest that leaves by itself: see `docs/values.md`.
                ExecutionOutcome::Exited { status } if entered => plan.exited(status, &answer),
                failed => failed,
            },
        }
    }
}

fn facts(shared: &Shared, live: &mut LiveStore<'_>, cancellation: &ExecutionCancellation) -> (Facts, Bounds) {
    let store = live.get();
    let fuel_spent = store.get_fuel().is_ok_and(|left| left == 0);
    let limiter = &store.data().limiter;
    let facts = Facts {
        stop: cancellation.probe().cause(),
        memory_denied: limiter.memory_denied(),
        table_denied: limiter.table_denied(),
        fuel_spent,
    };
    let bounds = Bounds {
        table_elements: limiter.table_elements_max(),
        core_instances: u64::from(shared.settings.core_instances_max),
        handles: u64::from(shared.settings.handles_max),
        host_resources: u64::from(shared.settings.host_resources_max),
        host_call_bytes: u64::from(shared.settings.host_call_bytes_max),
        random_bytes: u64::from(shared.settings.random_bytes_max),
        field_bytes: u64::from(shared.settings.http.field_bytes_max),
    };
    (facts, bounds)
}

fn encoded(plan: Plan<'_>, output: Output, media_type: MediaType, shared: &Shared) -> ExecutionOutcome {
    match plan.encode(output, media_type, &shared.settings.values) {
        Ok(outcome) => outcome,
        Err(EncodeError::TooLarge { limit }) => result_limit(limit as u64),
        Err(EncodeError::TooManyNodes { limit } | EncodeError::TooDeep { limit }) => result_limit(u64::from(limit)),
        Err(mismatch @ EncodeError::Mismatch { .. }) => {
            ExecutionOutcome::Failed(PlatformError::new(PlatformErrorCode::Internal, mismatch))
        }
    }
}

fn result_limit(limit: u64) -> ExecutionOutcome {
    ExecutionOutcome::LimitExceeded { kind: "activation.result-limit-exceeded", limit }
}

fn host_panic() -> ExecutionOutcome {
    let error = PlatformError::new(PlatformErrorCode::Internal, "the host failed while it served the guest")
        .with_detail(ErrorDetail::new("activation.host-panic"));
    ExecutionOutcome::Failed(error)
}
