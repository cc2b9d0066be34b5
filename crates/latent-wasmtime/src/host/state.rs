//! The state behind one store. Fresh for every activation, dropped with its store, shared with nobody.

use std::sync::Arc;

use latent_core::{ExecutionPolicy, RevisionPolicy};
use latent_executor::{ActivationContext, ExecutionCancellation, LogLevel, LogSink, SecretValue};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::host::lines::{LineBuffer, LineStream};
use crate::host::log::LogWriter;
use crate::limiter::Limiter;
use crate::secrets::Secrets;
use crate::settings::{EngineSettings, LogLimits};

/// What host calls of one activation stand on.
pub struct HostState {
    pub(crate) limiter: Limiter,
    pub(crate) context: Arc<ActivationContext>,
    pub(crate) cancellation: ExecutionCancellation,
    policy: Arc<RevisionPolicy>,
    /// Until the guest's environment is made of them.
    secrets: Secrets,
    sink: Arc<dyn LogSink>,
    log_limits: LogLimits,
    random_bytes_max: u32,
    resources: ResourceTable,
    /// Made at the first record, and what stands on it at the first WASI call: most guests need neither.
    log: Option<Arc<LogWriter>>,
    wasi: Option<Box<Wasi>>,
}

/// Whose state it is: who the activation is, what its revision allows, and what the secrets hold that it refers to.
pub struct Subject {
    pub(crate) context: Arc<ActivationContext>,
    pub(crate) policy: Arc<RevisionPolicy>,
    pub(crate) secrets: Secrets,
}

struct Wasi {
    ctx: WasiCtx,
    lines: [LineBuffer; 2],
}

impl HostState {
    /// The state of the activation `subject`.
    pub(crate) fn new(
        settings: &EngineSettings,
        Subject { context, policy, secrets }: Subject,
        cancellation: ExecutionCancellation,
        sink: Arc<dyn LogSink>,
        limiter: Limiter,
    ) -> Self {
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(settings.host_resources_max as usize);
        Self {
            limiter,
            context,
            cancellation,
            policy,
            secrets,
            sink,
            log_limits: settings.logs,
            random_bytes_max: settings.random_bytes_max,
            resources,
            log: None,
            wasi: None,
        }
    }

    /// The writer of the guest's records.
    pub(crate) fn log(&mut self) -> &Arc<LogWriter> {
        let Self { log, context, cancellation, sink, log_limits, .. } = self;
        log.get_or_insert_with(|| {
            Arc::new(LogWriter::new(context.clone(), cancellation.clone(), sink.clone(), *log_limits))
        })
    }

    /// The resources that host calls made for the guest.
    pub(crate) fn resources(&mut self) -> &mut ResourceTable {
        &mut self.resources
    }

    /// Writes out what stdout and stderr hold without a line end.
    pub(crate) fn flush_lines(&self) {
        for lines in self.wasi.iter().flat_map(|wasi| &wasi.lines) {
            lines.finish();
        }
    }
}

/// Of environment variables exactly those of the policy, its secrets last; no arguments, stdin closed, no preopened directories, no network; stdout and
/// stderr are logs.
fn deny_by_default(
    log: &Arc<LogWriter>,
    (policy, secrets): (&ExecutionPolicy, &[SecretValue]),
    random_bytes_max: u32,
) -> Wasi {
    let stdout = LineBuffer::new(log.clone(), LogLevel::Info, "stdout");
    let stderr = LineBuffer::new(log.clone(), LogLevel::Warn, "stderr");
    let mut builder = WasiCtx::builder();
    builder
        .stdout(LineStream::new(stdout.clone()))
        .stderr(LineStream::new(stderr.clone()))
        .max_random_size(u64::from(random_bytes_max))
        .allow_blocking_current_thread(false)
        .allow_ip_name_lookup(false)
        .allow_tcp(false)
        .allow_udp(false);
    for (name, value) in policy.environment.iter() {
        builder.env(name, value);
    }
    for ((name, _), value) in policy.secrets.iter().zip(secrets) {
        builder.env(name, value.expose());
    }
    Wasi { ctx: builder.build(), lines: [stdout, stderr] }
}

impl WasiView for HostState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        if self.wasi.is_none() {
            let log = self.log().clone();
            let secrets = std::mem::take(&mut self.secrets);
            let variables = (&self.policy.execution, &*secrets);
            self.wasi = Some(Box::new(deny_by_default(&log, variables, self.random_bytes_max)));
        }
        let wasi = self.wasi.as_mut().expect("made the lines before");
        WasiCtxView { ctx: &mut wasi.ctx, table: &mut self.resources }
    }
}
