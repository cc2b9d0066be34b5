//! Damaged component bytes: cut anywhere or with any byte changed they are refused or run, and the node lives on.
//! In one process, because it takes hundreds of them.

use std::sync::Arc;

use latent_activation::ActivationEnvelope;
use latent_core::principal::PrincipalKind;
use latent_core::{
    ActivationId, ActivationOutcome, CellClass, FunctionTarget, NodeId, Payload, PlatformErrorCode, Principal,
    ResourceBudget, ServiceName, SystemWallClock, TenantId,
};
use latent_executor::{BoundedLogSink, ComponentArtifact, ExecutionBackend as _};
use latent_node::runtime::data_runtime;
use latent_node::{Phase0ActivationRunner, Phase0ActivationRunnerConfig};
use latent_scheduler::{FixedCellPool, FixedCellPoolConfig};
use latent_wasmtime::{EngineSettings, WasmtimeBackend};

struct Bench {
    pool: Arc<FixedCellPool>,
    backend: Arc<WasmtimeBackend>,
    runner: Phase0ActivationRunner,
}

fn bench() -> Bench {
    let clock = Arc::new(SystemWallClock);
    let class = CellClass::Standard;
    let config = FixedCellPoolConfig { node: NodeId::new("n").unwrap(), class, capacity: 1, queue_capacity: 0 };
    let pool = Arc::new(FixedCellPool::new(config, clock.clone()).unwrap());
    let sink = Arc::new(BoundedLogSink::new(1 << 20));
    let backend = Arc::new(WasmtimeBackend::new(EngineSettings::for_cells(1), sink).unwrap());
    let config = Phase0ActivationRunnerConfig::default();
    let runner = Phase0ActivationRunner::new(pool.clone(), backend.clone(), clock, config);
    Bench { pool, backend, runner }
}

fn envelope() -> ActivationEnvelope {
    ActivationEnvelope {
        activation_id: ActivationId::new("a").unwrap(),
        principal: Principal {
            tenant: TenantId::new("t").unwrap(),
            subject: ServiceName::new("s").unwrap(),
            kind: PrincipalKind::User,
        },
        target: FunctionTarget { contract: "fixture:echo/echo@0.1.0".into(), function: "echo-string".into() },
        payload: Payload::json("[\"x\"]"),
        budget: ResourceBudget { fuel: 1_000_000, ..ResourceBudget::default() },
        deadline: None,
        trace_parent: None,
        metadata: Vec::new(),
    }
}

/// Runs `bytes` and asserts that nothing is left; answers whether they ran.
fn refused_or_runs(bench: &Bench, runtime: &tokio::runtime::Runtime, bytes: Vec<u8>, what: &str) -> bool {
    let report = runtime.block_on(bench.runner.run(envelope(), ComponentArtifact::new(bytes)));
    let snapshot = bench.pool.audit().expect("the books are right");
    assert_eq!((snapshot.available, snapshot.quarantined), (1, 0), "{what}: {report:?}");
    assert!(bench.backend.resources().is_idle(), "{what}: {:?}", bench.backend.resources());
    match report.outcome {
        ActivationOutcome::Failed { error, .. } => {
            assert_ne!(error.code(), PlatformErrorCode::Internal, "{what}: {error:?}");
            !matches!(error.code(), PlatformErrorCode::InvalidArgument | PlatformErrorCode::IncompatibleContract)
        }
        _ => true,
    }
}

#[test]
fn a_component_cut_at_every_sixty_fourth_of_its_length_is_refused() {
    let (bench, runtime) = (bench(), data_runtime(2).unwrap());
    let whole = latent_guests::component("echo");
    for part in 0..64 {
        let cut = whole[..whole.len() * part / 64].to_vec();
        let ran = refused_or_runs(&bench, &runtime, cut, &format!("cut at {part}/64"));
        assert!(!ran, "a component cut at {part}/64 is not whole");
    }
    assert!(refused_or_runs(&bench, &runtime, whole.to_vec(), "whole"));
}

#[test]
fn each_changed_byte_of_the_beginning_is_refused_or_runs() {
    let (bench, runtime) = (bench(), data_runtime(2).unwrap());
    let whole = latent_guests::component("echo");
    for at in 0..whole.len().min(256) {
        for flip in [0xff, 0x01, 0x80] {
            let mut changed = whole.to_vec();
            changed[at] ^= flip;
            refused_or_runs(&bench, &runtime, changed, &format!("byte {at} changed by {flip:#04x}"));
        }
    }
    assert!(refused_or_runs(&bench, &runtime, whole.to_vec(), "whole"), "a healthy call afterwards");
}
