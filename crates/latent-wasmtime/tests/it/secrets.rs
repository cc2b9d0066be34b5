//! What a guest sees of the secrets that its revision refers to, and what becomes of an activation whose secrets are not
//! to be had.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use latent_core::{
    Environment, ExecutionOutcome, ExecutionPolicy, PlatformError, PlatformErrorCode, RevisionPolicy, SecretReferences,
    TenantId,
};
use latent_executor::secret::secret_unavailable;
use latent_executor::{
    BoundedLogSink, ExecutionBackend as _, ExecutionCleanup, NoOutgoingHttp, SecretSource, SecretValue, suite,
};
use latent_wasmtime::{EngineSettings, Ports, Preparation, WasmtimeBackend};

use crate::support::{Bench, Call, by_tenant, failure, request, returned};

/// Secrets in memory, by tenant and name. While it is held up, no read ends.
#[derive(Default)]
struct Shelf {
    values: Mutex<BTreeMap<(String, String), String>>,
    held_up: Mutex<bool>,
    changed: Condvar,
    reads: Mutex<Vec<(String, String)>>,
}

impl Shelf {
    fn put(&self, tenant: &str, name: &str, value: &str) {
        let mut values = self.values.lock().expect("no test panics in it");
        values.insert((tenant.into(), name.into()), value.into());
    }

    fn hold_up(&self, held: bool) {
        *self.held_up.lock().expect("no test panics in it") = held;
        self.changed.notify_all();
    }

    fn reads(&self) -> usize {
        self.reads.lock().expect("no test panics in it").len()
    }
}

impl SecretSource for Shelf {
    fn secret(&self, tenant: &TenantId, name: &str) -> Result<SecretValue, PlatformError> {
        let key = (tenant.as_str().to_owned(), name.to_owned());
        self.reads.lock().expect("no test panics in it").push(key.clone());
        let held_up = self.held_up.lock().expect("no test panics in it");
        drop(self.changed.wait_while(held_up, |held| *held).expect("no test panics in it"));
        let values = self.values.lock().expect("no test panics in it");
        let value = values.get(&key).ok_or_else(|| secret_unavailable(name))?;
        SecretValue::new(value.clone().into_bytes()).map_err(|_| secret_unavailable(name))
    }
}

fn bench(cells: u32) -> (Bench, Arc<Shelf>) {
    let (shelf, sink) = (Arc::new(Shelf::default()), Arc::new(BoundedLogSink::new(4 << 20)));
    let settings = EngineSettings::for_cells(cells);
    let ports = Ports { secrets: shelf.clone(), outgoing: Arc::new(NoOutgoingHttp), sink: sink.clone() };
    let backend = WasmtimeBackend::with_ports(settings, Preparation::default(), ports);
    (Bench { backend: Arc::new(backend.expect("this machine runs the engine")), sink }, shelf)
}

fn referring(mut call: Call, references: &[(&str, &str)]) -> Call {
    let secrets = SecretReferences::new(references.iter().map(|(name, secret)| ((*name).into(), (*secret).into())));
    let environment = Environment::new([("MODE".into(), "fast".into())]);
    let execution = ExecutionPolicy { environment, secrets, ..ExecutionPolicy::default() };
    call.policy = Arc::new(RevisionPolicy { execution, ..RevisionPolicy::default() });
    call
}

/// What the guest sees as its environment, under these references.
fn seen(references: &[(&str, &str)]) -> Call {
    referring(request("environment", "variables", "all", "[]"), references)
}

fn owner(call: &Call) -> String {
    call.context.principal.tenant.as_str().to_owned()
}

#[tokio::test]
async fn a_guest_sees_the_secrets_of_its_revision_beside_its_environment() {
    let (bench, shelf) = bench(4);
    let call = seen(&[("TOKEN", "session-token"), ("API_KEY", "partner.key")]);
    shelf.put(&owner(&call), "session-token", "hunter2");
    shelf.put(&owner(&call), "partner.key", "naïve\n");
    let expected = r#"[["MODE","fast"],["API_KEY","naïve\n"],["TOKEN","hunter2"]]"#;
    assert_eq!(bench.json(call.clone()).await, expected);

    let prepared = bench.backend.prepare_for_use(call.artifact.clone()).await.expect("it prepares");
    let cancellation = suite::cancellation(&call.request, None);
    let ran = bench.backend.invoke_prepared_contained(prepared, call.request, cancellation).await;
    assert_eq!(returned(&ran), expected, "on the prepared path too");

    let reads = shelf.reads();
    assert_eq!(bench.json(seen(&[])).await, r#"[["MODE","fast"]]"#);
    assert_eq!(shelf.reads(), reads, "a revision without secrets reads none");
}

#[tokio::test]
async fn a_secret_that_was_replaced_is_seen_by_the_next_activation() {
    let (bench, shelf) = bench(4);
    let call = seen(&[("TOKEN", "token")]);
    for value in ["first", "second"] {
        shelf.put(&owner(&call), "token", value);
        assert_eq!(bench.json(call.clone()).await, format!(r#"[["MODE","fast"],["TOKEN","{value}"]]"#));
    }
    assert_eq!(bench.backend.compilations(), 1, "the code is one and the same");
}

#[tokio::test]
async fn the_secret_of_another_tenant_is_out_of_reach_under_the_same_name() {
    let (bench, shelf) = bench(4);
    let call = seen(&[("TOKEN", "token")]);
    shelf.put(&owner(&call), "token", "hunter2");
    let error = bench.refusal(by_tenant(call.clone(), "other")).await;
    assert_eq!(error.details()[0].field("secret"), Some("token"));
    let read_for: Vec<_> =
        shelf.reads.lock().expect("no test panics in it").iter().map(|read| read.0.clone()).collect();
    assert_eq!(read_for, ["other"], "it was looked for under the caller's tenant alone");
    shelf.put("other", "token", "their own");
    assert_eq!(bench.json(by_tenant(call, "other")).await, r#"[["MODE","fast"],["TOKEN","their own"]]"#);
}

#[tokio::test]
async fn an_activation_whose_secret_is_missing_fails_before_its_guest_is_entered_and_says_which() {
    let (bench, shelf) = bench(4);
    let call = seen(&[("A", "there"), ("B", "missing")]);
    shelf.put(&owner(&call), "there", "hunter2");
    let ran = bench.run(call.clone()).await;
    let error = failure(&ran);
    assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::DependencyFailed, true));
    assert_eq!(error.details()[0].kind(), "activation.secret-unavailable");
    assert_eq!(error.details()[0].field("secret"), Some("missing"));
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    assert_eq!(ran.report.consumption.fuel, 0, "no guest ran");
    shelf.put(&owner(&call), "missing", "here");
    assert_eq!(bench.json(call).await, r#"[["MODE","fast"],["A","hunter2"],["B","here"]]"#);
}

#[tokio::test]
async fn a_backend_without_a_source_has_no_secrets() {
    let bench = crate::support::bench();
    let error = bench.refusal(seen(&[("TOKEN", "token")])).await;
    assert_eq!(error.details()[0].kind(), "activation.secret-unavailable");
}

/// Lets every read go on when a test is over, however it ends: the runtime waits for them.
struct LetGo<'a>(&'a Shelf);

impl Drop for LetGo<'_> {
    fn drop(&mut self) {
        self.0.hold_up(false);
    }
}

#[tokio::test]
async fn a_source_that_hangs_ends_with_the_activation_that_waits_and_holds_up_no_other() {
    let (bench, shelf) = bench(2);
    let (call, other) = (seen(&[("TOKEN", "token")]), seen(&[]));
    assert_eq!(bench.json(other.clone()).await, r#"[["MODE","fast"]]"#, "the code is there");
    let _let_go = LetGo(&shelf);
    shelf.hold_up(true);
    let places = bench.backend.settings().instances_max as usize;
    for at in 0..places {
        let cancellation = suite::cancellation(&call, None);
        let waiting = bench.backend.invoke_contained(call.artifact.clone(), call.request.clone(), cancellation.clone());
        let meanwhile = async {
            while shelf.reads() <= at {
                tokio::task::yield_now().await;
            }
            let free = suite::cancellation(&other, None);
            let ran = bench.backend.invoke_contained(other.artifact.clone(), other.request.clone(), free).await;
            assert_eq!(returned(&ran), r#"[["MODE","fast"]]"#, "others run meanwhile");
            cancellation.probe().request_cancel();
        };
        let (ran, ()) = tokio::join!(waiting, meanwhile);
        assert_eq!((ran.report.outcome, ran.cleanup), (ExecutionOutcome::Cancelled, ExecutionCleanup::Reusable));
    }
    let error = bench.refusal(call.clone()).await;
    assert_eq!((error.code(), error.is_retryable()), (PlatformErrorCode::ResourceExhausted, true));
    assert_eq!(error.details()[0].kind(), "activation.secret-reads-exhausted");
    assert_eq!(shelf.reads(), places, "nothing more was asked of the source");
}

#[tokio::test]
async fn the_deadline_ends_the_wait_for_a_secret() {
    let (bench, shelf) = bench(2);
    let call = seen(&[("TOKEN", "token")]);
    let _let_go = LetGo(&shelf);
    shelf.hold_up(true);
    let ran = bench.run_within(call, Some(Duration::from_millis(200))).await;
    assert_eq!(ran.report.outcome, ExecutionOutcome::DeadlineExceeded);
}
