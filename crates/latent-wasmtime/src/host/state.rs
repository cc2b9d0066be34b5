//! The state behind one store. Fresh for every activation, dropped with its store, shared with nobody.

use std::sync::Arc;

use latent_core::{ExecutionPolicy, RevisionPolicy};
use latent_executor::{
    ActivationContext, ExecutionCancellation, HttpExchange, LogLevel, LogSink, OutgoingHttp, SecretValue,
};
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::p2::body::{HostOutgoingBody, StreamContext};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::gauges::Gauges;
use crate::host::lines::{LineBuffer, LineStream};
use crate::host::log::LogWriter;
use crate::http::{AnswerSlot, Run};
use crate::limiter::Limiter;
use crate::secrets::Secrets;
use crate::settings::{EngineSettings, HttpLimits, LogLimits};

/// What host calls of one activation stand on.
pub struct HostState {
    pub(crate) limiter: Limiter,
    pub(crate) run: Run,
    /// Until the guest's environment is made of them.
    secrets: Secrets,
    resources: ResourceTable,
    http: WasiHttpCtx,
    /// What a handler is called with, and what it answered.
    exchange: Option<(Arc<HttpExchange>, AnswerSlot)>,
    /// Made at the first record, and what stands on it at the first WASI call: most guests need neither.
    log: Option<Arc<LogWriter>>,
    wasi: Option<Box<Wasi>>,
}

/// Whose state it is: who the activation is, what its revision allows, and what the secrets hold that it refers to.
pub struct Subject {
    pub(crate) context: Arc<ActivationContext>,
    pub(crate) policy: Arc<RevisionPolicy>,
    pub(crate) secrets: Secrets,
    pub(crate) exchange: Option<Arc<HttpExchange>>,
}

/// What host calls of every activation of a backend stand on.
pub struct Services {
    /// Where logs go.
    pub(crate) sink: Arc<dyn LogSink>,
    /// Where requests of guests go.
    pub(crate) outgoing: Arc<dyn OutgoingHttp>,
    /// Where those are counted.
    pub(crate) gauges: Arc<Gauges>,
    /// The bounds of HTTP.
    pub(crate) http: HttpLimits,
    /// The bounds of logs.
    pub(crate) logs: LogLimits,
    /// The bound of one request for random bytes.
    pub(crate) random_bytes_max: u32,
}

impl Services {
    /// The services of a backend with these settings.
    pub(crate) fn new(
        settings: &EngineSettings,
        sink: Arc<dyn LogSink>,
        outgoing: Arc<dyn OutgoingHttp>,
        gauges: Arc<Gauges>,
    ) -> Self {
        let (http, logs, random_bytes_max) = (settings.http, settings.logs, settings.random_bytes_max);
        Self { sink, outgoing, gauges, http, logs, random_bytes_max }
    }
}

struct Wasi {
    ctx: WasiCtx,
    lines: [LineBuffer; 2],
}

impl HostState {
    /// The state of the activation `subject`.
    pub(crate) fn new(
        settings: &EngineSettings,
        Subject { context, policy, secrets, exchange }: Subject,
        cancellation: ExecutionCancellation,
        services: Arc<Services>,
        limiter: Limiter,
    ) -> Self {
        let mut resources = ResourceTable::new();
        resources.set_max_capacity(settings.host_resources_max as usize);
        let mut http = WasiHttpCtx::new();
        http.set_field_size_limit(settings.http.field_bytes_max as usize);
        Self {
            limiter,
            run: Run::new(context, policy, cancellation, services),
            secrets,
            resources,
            http,
            exchange: exchange.map(|exchange| (exchange, AnswerSlot::default())),
            log: None,
            wasi: None,
        }
    }

    /// The writer of the guest's records.
    pub(crate) fn log(&mut self) -> &Arc<LogWriter> {
        let Self { log, run: Run { context, cancellation, services, .. }, .. } = self;
        log.get_or_insert_with(|| {
            Arc::new(LogWriter::new(context.clone(), cancellation.clone(), services.sink.clone(), services.logs))
        })
    }

    /// The resources that host calls made for the guest.
    pub(crate) fn resources(&mut self) -> &mut ResourceTable {
        &mut self.resources
    }

    /// The request that the activation serves, and where its answer is kept.
    pub(crate) fn exchange(&self) -> Option<(Arc<HttpExchange>, AnswerSlot)> {
        self.exchange.clone()
    }

    /// What the handler answered.
    pub(crate) fn answer(&self) -> AnswerSlot {
        self.exchange.as_ref().map(|(_, answer)| answer.clone()).unwrap_or_default()
    }

    /// Says that the guest runs no more, and cuts the bodies off that it has not finished, so that none of them seems to
    /// have come to its end. To be called before the store is dropped.
    pub(crate) fn leave(&mut self) {
        if let Some((exchange, _)) = &self.exchange {
            exchange.guest_is_gone();
        }
        if self.run.began_a_body() {
            for resource in self.resources.iter_mut() {
                if let Some(body) = resource.downcast_mut::<HostOutgoingBody>() {
                    let (other, _) = HostOutgoingBody::new(StreamContext::Response, None, 1, 1);
                    std::mem::replace(body, other).abort();
                }
            }
        }
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
            let variables = (&self.run.policy.execution, &*secrets);
            self.wasi = Some(Box::new(deny_by_default(&log, variables, self.run.services.random_bytes_max)));
        }
        let wasi = self.wasi.as_mut().expect("made the lines before");
        WasiCtxView { ctx: &mut wasi.ctx, table: &mut self.resources }
    }
}

impl WasiHttpView for HostState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.run, table: &mut self.resources, ctx: &mut self.http }
    }
}
