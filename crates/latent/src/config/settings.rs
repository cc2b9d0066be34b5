//! What a node can be told: one plain struct, whose fields the keys of the file fill.
//!
//! Invariant: the defaults are a node that works; what each means and how far it goes is said where its key is.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use latent_core::{CellClass, TenantId};
use latent_node::access::TenantQuota;

use super::kinds::{ByteSize, PressureSource};

/// A node's whole configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    pub data_dir: PathBuf,
    pub image_cache_dir: Option<PathBuf>,
    pub secrets_dir: Option<PathBuf>,
    /// Threads that run guests; 0 is one for each processor.
    pub workers: u64,
    /// In the order of [`CellClass::ALL`].
    pub cells: [CellsConfig; CellClass::ALL.len()],
    pub limits: LimitsConfig,
    pub prepared: PreparedConfig,
    pub journal: JournalConfig,
    pub logs: LogsConfig,
    pub usage_log: UsageLogConfig,
    pub invoke: ListenerSettings,
    pub control: ListenerSettings,
    pub http: ListenerSettings,
    pub ingress: IngressSettings,
    pub outgoing: OutgoingSettings,
    /// Whether addresses of other machines may be served without TLS.
    pub insecure: bool,
    pub metrics_open: bool,
    pub otlp_endpoint: Option<String>,
    pub shutdown_grace: Duration,
    /// Quarantined cells, in percent of all, from which on the node fails.
    pub quarantined_percent: u64,
    pub pressure_source: PressureSource,
    pub pressure: PressurePercents,
    /// Tenants that are made when they do not exist.
    pub tenants: BTreeMap<TenantId, TenantQuota>,
}

/// From which share of ten seconds on the machine counts as overloaded, in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PressurePercents {
    /// Some work waited for a processor.
    pub cpu: u64,
    /// All work waited for memory.
    pub memory: u64,
    /// All work waited for disks.
    pub io: u64,
}

/// The cells of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CellsConfig {
    pub count: u64,
    pub queue: u64,
    pub memory: ByteSize,
}

/// What one activation, and one tenant, may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    pub fuel: u64,
    pub log_bytes: ByteSize,
    pub wall: Duration,
    pub payload: ByteSize,
    pub result: ByteSize,
    pub component: ByteSize,
    pub tenant_disk: ByteSize,
    pub cleanup_grace: Duration,
}

/// Compiled code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreparedConfig {
    pub entries: u64,
    pub bytes: ByteSize,
    pub image_bytes: ByteSize,
    pub compilers: u64,
}

/// Records of activations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalConfig {
    pub retained: u64,
    pub retention: Duration,
    pub bytes: ByteSize,
    pub declared_error: ByteSize,
    /// Activations of one tenant at once; 0 is three quarters of all.
    pub tenant_active: u64,
}

/// Records of guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogsConfig {
    pub bytes: ByteSize,
    pub retention: Duration,
    pub followers: u64,
}

/// The usage log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageLogConfig {
    pub file_bytes: ByteSize,
    pub files: u64,
    pub queue: u64,
}

/// Requests that come in to HTTP handlers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngressSettings {
    pub request_body: ByteSize,
    pub response_body: ByteSize,
    pub reader_wait: Duration,
    /// Whether what proxies say of their clients is believed.
    pub trust_forwarded: bool,
}

/// HTTP requests that guests make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingSettings {
    pub connections: u64,
    pub connections_per_tenant: u64,
    pub connect_timeout: Duration,
    pub first_byte_timeout: Duration,
    pub between_bytes_timeout: Duration,
    pub total_timeout: Duration,
    pub request_body: ByteSize,
    pub response_body: ByteSize,
    pub ca: Option<PathBuf>,
}

impl Default for IngressSettings {
    fn default() -> Self {
        Self {
            request_body: ByteSize(64 << 20),
            response_body: ByteSize(1 << 30),
            reader_wait: Duration::from_secs(10),
            trust_forwarded: false,
        }
    }
}

impl Default for OutgoingSettings {
    fn default() -> Self {
        Self {
            connections: 512,
            connections_per_tenant: 64,
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(30),
            between_bytes_timeout: Duration::from_secs(30),
            total_timeout: Duration::from_mins(5),
            request_body: ByteSize(64 << 20),
            response_body: ByteSize(64 << 20),
            ca: None,
        }
    }
}

/// One listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenerSettings {
    pub address: SocketAddr,
    pub connections: u64,
    pub connections_per_peer: u64,
    pub tls_certificate: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub tls_client_ca: Option<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from(".latent/data"),
            image_cache_dir: None,
            secrets_dir: None,
            workers: 0,
            cells: [(0, 8), (0, 32), (16, 64), (0, 256), (0, 1024)].map(|(count, mebibytes)| CellsConfig {
                count,
                queue: 48,
                memory: ByteSize(mebibytes << 20),
            }),
            limits: LimitsConfig::default(),
            prepared: PreparedConfig {
                entries: 64,
                bytes: ByteSize(512 << 20),
                image_bytes: ByteSize(4 << 30),
                compilers: 2,
            },
            journal: JournalConfig {
                retained: 65_536,
                retention: Duration::from_mins(5),
                bytes: ByteSize(256 << 20),
                declared_error: ByteSize(64 << 10),
                tenant_active: 0,
            },
            logs: LogsConfig { bytes: ByteSize(64 << 20), retention: Duration::from_mins(5), followers: 64 },
            usage_log: UsageLogConfig { file_bytes: ByteSize(64 << 20), files: 16, queue: 8192 },
            invoke: ListenerSettings::on(7070),
            control: ListenerSettings::on(7071),
            http: ListenerSettings::on(8080),
            ingress: IngressSettings::default(),
            outgoing: OutgoingSettings::default(),
            insecure: false,
            metrics_open: false,
            otlp_endpoint: None,
            shutdown_grace: Duration::from_secs(30),
            quarantined_percent: 50,
            pressure_source: PressureSource::Psi,
            pressure: PressurePercents { cpu: 100, memory: 10, io: 50 },
            tenants: BTreeMap::new(),
        }
    }
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            fuel: 100_000_000,
            log_bytes: ByteSize(256 << 10),
            wall: Duration::from_mins(1),
            payload: ByteSize(8 << 20),
            result: ByteSize(8 << 20),
            component: ByteSize(64 << 20),
            tenant_disk: ByteSize(1 << 30),
            cleanup_grace: Duration::from_millis(100),
        }
    }
}

impl ListenerSettings {
    fn on(port: u16) -> Self {
        Self {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port),
            connections: 1024,
            connections_per_peer: 256,
            tls_certificate: None,
            tls_key: None,
            tls_client_ca: None,
        }
    }
}

impl Config {
    /// The classes that have cells, smallest first.
    pub fn classes(&self) -> impl Iterator<Item = (CellClass, CellsConfig)> {
        CellClass::ALL.into_iter().zip(self.cells).filter(|(_, cells)| cells.count > 0)
    }

    /// Cells of all classes.
    pub fn cells_total(&self) -> u64 {
        self.classes().map(|(_, cells)| cells.count).sum()
    }

    /// The most activations under way: cells and places in queues, of all classes.
    pub fn capacity(&self) -> u64 {
        self.classes().map(|(_, cells)| cells.count + cells.queue).sum()
    }

    /// The most memory that an activation can be granted.
    pub fn memory_max(&self) -> u64 {
        self.classes().map(|(_, cells)| cells.memory.0).max().unwrap_or(0)
    }
}
