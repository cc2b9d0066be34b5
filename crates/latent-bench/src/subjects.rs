//! What several benches compare: the same call through bare Wasmtime and through the runner.

use latent_activation::ActivationEnvelope;
use latent_core::ActivationOutcome;
use latent_executor::ComponentArtifact;
use wasmtime::component::{ComponentExportIndex, Val};

use crate::bare::Bare;
use crate::node::{Node, Template};
use crate::series::Subject;

/// A guest under test.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    /// Its fixture.
    pub fixture: &'static str,
    /// What the rows call it.
    pub label: &'static str,
}

/// The guests that are compared.
pub const GUESTS: [Guest; 2] =
    [Guest { fixture: "echo-rust", label: "Rust echo" }, Guest { fixture: "echo", label: "text-format echo" }];

/// A string, echoed by bare Wasmtime.
pub struct BareText<'a>(pub &'a Bare, pub ComponentExportIndex);

/// A call through the runner over the pool.
pub struct Through<'a>(pub &'a Node, pub Template, pub ComponentArtifact);

impl Subject for BareText<'_> {
    type Input = Val;

    fn input(&self, _thread: usize, _round: u64) -> Val {
        Val::String("hello".to_owned())
    }

    async fn call(&self, input: Val) {
        let result = self.0.call_dynamic(&self.1, &[input]).await;
        assert!(matches!(result, Val::String(text) if text == "hello"));
    }
}

impl Subject for Through<'_> {
    type Input = (ActivationEnvelope, ComponentArtifact);

    fn input(&self, thread: usize, round: u64) -> Self::Input {
        (self.1.envelope(&format!("bench-{thread}-{round}")), self.2.clone())
    }

    async fn call(&self, (envelope, artifact): Self::Input) {
        let report = self.0.runner.run(envelope, artifact).await;
        assert!(matches!(report.outcome, ActivationOutcome::Succeeded { .. }), "{report:?}");
    }
}
