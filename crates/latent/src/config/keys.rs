//! Every key of the configuration: its name, what it does, its bounds, and the field that it fills.
//!
//! Invariant: this table is all there is; the file, the flags, `latent config` and the example are read from it.

use super::kinds::Setting;
use super::settings::Config;

/// One key.
pub struct Key {
    /// With its sections, joined by dots.
    pub name: &'static str,
    /// What it does, in a sentence or two.
    pub about: &'static str,
    /// The least and the most; bytes for sizes, milliseconds for durations.
    pub bounds: Option<(u64, u64)>,
    /// Its field.
    pub field: fn(&mut Config) -> &mut dyn Setting,
}

const MANY: u64 = 65_536;
const HOUR: u64 = 3_600_000;
const YEAR: u64 = 366 * 24 * HOUR;

macro_rules! keys {
    ($($name:literal $(in $bounds:expr)?, $about:literal, |$config:ident| $field:expr;)*) => {
        &[$(Key {
            name: $name,
            about: $about,
            bounds: keys!(@bounds $($bounds)?),
            field: |$config: &mut Config| &mut $field,
        },)*]
    };
    (@bounds) => { None };
    (@bounds $bounds:expr) => { Some($bounds) };
}

/// The table, in the order of the example.
pub const KEYS: &[Key] = keys! {
    "data_dir",
        "Where everything that lasts is kept. One node has it at a time. A relative path is relative to the file.",
        |c| c.data_dir;
    "image_cache_dir",
        "Where compiled components are kept. Unset: `images` in the data directory.",
        |c| c.image_cache_dir;
    "secrets_dir",
        "The directory of the files that deployments name as secrets. Unset: none can be named.",
        |c| c.secrets_dir;
    "workers" in (0, 1024),
        "Threads that run guests and serve the invoke listener. 0: one for each processor.",
        |c| c.workers;

    "cells.tiny.count" in (0, 4096),
        "Cells of class tiny: how many activations run at once. 0: the class is not offered.",
        |c| c.cells[0].count;
    "cells.tiny.queue" in (1, MANY), "Activations that may wait for such a cell.", |c| c.cells[0].queue;
    "cells.tiny.memory" in (1 << 16, 4 << 30),
        "The most memory of an activation in such a cell.",
        |c| c.cells[0].memory;
    "cells.small.count" in (0, 4096), "Cells of class small.", |c| c.cells[1].count;
    "cells.small.queue" in (1, MANY), "Activations that may wait for such a cell.", |c| c.cells[1].queue;
    "cells.small.memory" in (1 << 16, 4 << 30),
        "The most memory of an activation in such a cell.",
        |c| c.cells[1].memory;
    "cells.standard.count" in (0, 4096), "Cells of class standard.", |c| c.cells[2].count;
    "cells.standard.queue" in (1, MANY), "Activations that may wait for such a cell.", |c| c.cells[2].queue;
    "cells.standard.memory" in (1 << 16, 4 << 30),
        "The most memory of an activation in such a cell.",
        |c| c.cells[2].memory;
    "cells.large.count" in (0, 4096), "Cells of class large.", |c| c.cells[3].count;
    "cells.large.queue" in (1, MANY), "Activations that may wait for such a cell.", |c| c.cells[3].queue;
    "cells.large.memory" in (1 << 16, 4 << 30),
        "The most memory of an activation in such a cell.",
        |c| c.cells[3].memory;
    "cells.extra-large.count" in (0, 4096), "Cells of class extra-large.", |c| c.cells[4].count;
    "cells.extra-large.queue" in (1, MANY), "Activations that may wait for such a cell.", |c| c.cells[4].queue;
    "cells.extra-large.memory" in (1 << 16, 4 << 30),
        "The most memory of an activation in such a cell.",
        |c| c.cells[4].memory;

    "limits.fuel" in (1, i64::MAX.unsigned_abs()),
        "The most fuel of an activation, about one unit an instruction.",
        |c| c.limits.fuel;
    "limits.log_bytes" in (0, 1 << 30), "The most that an activation may log.", |c| c.limits.log_bytes;
    "limits.wall" in (1, YEAR), "The longest time from admission to the end of an activation.", |c| c.limits.wall;
    "limits.payload" in (1, 1 << 30), "The largest payload.", |c| c.limits.payload;
    "limits.result" in (1, 1 << 30), "The largest result or declared error.", |c| c.limits.result;
    "limits.component" in (1, 1 << 30), "The largest component.", |c| c.limits.component;
    "limits.tenant_disk" in (0, 1 << 50),
        "What a tenant may store that has no quota of its own.",
        |c| c.limits.tenant_disk;
    "limits.cleanup_grace" in (1, 1000),
        "How long a stopped guest may take to be gone, before its cell is quarantined.",
        |c| c.limits.cleanup_grace;

    "prepared.entries" in (0, MANY), "Prepared components kept in memory.", |c| c.prepared.entries;
    "prepared.bytes" in (1 << 20, 1 << 40), "Bytes of compiled code kept in memory.", |c| c.prepared.bytes;
    "prepared.image_bytes" in (1 << 20, 1 << 50),
        "Bytes of compiled code kept on disk.",
        |c| c.prepared.image_bytes;
    "prepared.compilers" in (2, 64),
        "Components compiled at once, each in a process of its own.",
        |c| c.prepared.compilers;

    "journal.retained" in (1, 16_777_216), "Records of ended activations that are kept.", |c| c.journal.retained;
    "journal.retention" in (1, YEAR), "How long they are kept.", |c| c.journal.retention;
    "journal.bytes" in (1 << 16, 1 << 48), "Bytes of all records, of those under way too.", |c| c.journal.bytes;
    "journal.declared_error" in (0, 1 << 20),
        "Bytes of a declared error that are kept with its record.",
        |c| c.journal.declared_error;
    "journal.tenant_active" in (0, MANY),
        "Activations of one tenant that may be under way. 0: three quarters of the node's capacity.",
        |c| c.journal.tenant_active;

    "logs.bytes" in (1 << 16, 1 << 40), "Bytes of log records kept in memory.", |c| c.logs.bytes;
    "logs.retention" in (1, YEAR), "How long the records of an ended activation are kept.", |c| c.logs.retention;
    "logs.followers" in (0, 4096), "Followers of log records at once.", |c| c.logs.followers;

    "usage_log.file_bytes" in (1 << 16, 1 << 40),
        "Size of a file of the usage log, from which on the next one is begun.",
        |c| c.usage_log.file_bytes;
    "usage_log.files" in (2, MANY),
        "Files of the usage log; beyond them the oldest is deleted.",
        |c| c.usage_log.files;
    "usage_log.queue" in (1, 1 << 20),
        "Ends of activations that may wait to be written; more are counted and dropped.",
        |c| c.usage_log.queue;

    "listeners.invoke.address", "Where calls come in. Port 0 takes a free one.", |c| c.invoke.address;
    "listeners.invoke.connections" in (1, MANY),
        "Connections at once. Fewer where the process may not have a file descriptor for each.",
        |c| c.invoke.connections;
    "listeners.invoke.connections_per_peer" in (1, MANY),
        "Connections of one address at once.",
        |c| c.invoke.connections_per_peer;
    "listeners.invoke.tls.certificate",
        "PEM file of the certificate chain. Unset: no TLS, which only addresses of this machine may go without.",
        |c| c.invoke.tls_certificate;
    "listeners.invoke.tls.key", "PEM file of its key.", |c| c.invoke.tls_key;
    "listeners.invoke.tls.client_ca",
        "PEM file of the authorities whose client certificates are taken. Unset: none is asked for.",
        |c| c.invoke.tls_client_ca;
    "listeners.control.address",
        "Where the node is operated: releases, deployments, status, logs, metrics.",
        |c| c.control.address;
    "listeners.control.connections" in (1, MANY), "Connections at once.", |c| c.control.connections;
    "listeners.control.connections_per_peer" in (1, MANY),
        "Connections of one address at once.",
        |c| c.control.connections_per_peer;
    "listeners.control.tls.certificate", "As for the invoke listener.", |c| c.control.tls_certificate;
    "listeners.control.tls.key", "As for the invoke listener.", |c| c.control.tls_key;
    "listeners.control.tls.client_ca", "As for the invoke listener.", |c| c.control.tls_client_ca;
    "listeners.http.address",
        "Where HTTP requests for components come in, by the routes of their deployments.",
        |c| c.http.address;
    "listeners.http.connections" in (1, MANY), "Connections at once.", |c| c.http.connections;
    "listeners.http.connections_per_peer" in (1, MANY),
        "Connections of one address at once.",
        |c| c.http.connections_per_peer;
    "listeners.http.tls.certificate", "As for the invoke listener.", |c| c.http.tls_certificate;
    "listeners.http.tls.key", "As for the invoke listener.", |c| c.http.tls_key;
    "listeners.http.tls.client_ca", "As for the invoke listener.", |c| c.http.tls_client_ca;
    "listeners.insecure",
        "Serve other machines without TLS. Tokens and payloads can be read on the way.",
        |c| c.insecure;
    "listeners.metrics_open", "Show /metrics without a credential.", |c| c.metrics_open;

    "http.request_body" in (0, 1 << 40), "The largest body of a request that comes in.", |c| c.ingress.request_body;
    "http.response_body" in (0, 1 << 40), "The largest body of its response.", |c| c.ingress.response_body;
    "http.reader_wait" in (1, 24 * HOUR),
        "How long a guest may wait, in all, for the reader of its response, before it is stopped.",
        |c| c.ingress.reader_wait;
    "http.trust_forwarded",
        "Believe what clients say of whom they ask for (x-forwarded-for and the like): every client is a proxy of yours.",
        |c| c.ingress.trust_forwarded;

    "outgoing.connections" in (1, MANY),
        "HTTP requests that all guests together may have under way; each needs a grant of its deployment.",
        |c| c.outgoing.connections;
    "outgoing.connections_per_tenant" in (1, MANY),
        "HTTP requests that the guests of one tenant may have under way.",
        |c| c.outgoing.connections_per_tenant;
    "outgoing.connect_timeout" in (1, HOUR),
        "The longest time to find the address and to connect, TLS included.",
        |c| c.outgoing.connect_timeout;
    "outgoing.first_byte_timeout" in (1, HOUR),
        "The longest wait for the head of a response.",
        |c| c.outgoing.first_byte_timeout;
    "outgoing.between_bytes_timeout" in (1, HOUR),
        "The longest wait for the next piece of a response.",
        |c| c.outgoing.between_bytes_timeout;
    "outgoing.total_timeout" in (1, HOUR), "The longest time of a whole request.", |c| c.outgoing.total_timeout;
    "outgoing.request_body" in (0, 1 << 40), "The largest body of a request.", |c| c.outgoing.request_body;
    "outgoing.response_body" in (0, 1 << 40), "The largest body of a response.", |c| c.outgoing.response_body;
    "outgoing.ca",
        "PEM file of authorities that are trusted besides those of the system.",
        |c| c.outgoing.ca;

    "telemetry.otlp_endpoint",
        "Where spans are sent. The environment variable OTEL_EXPORTER_OTLP_ENDPOINT says it when this is unset.",
        |c| c.otlp_endpoint;

    "shutdown.grace" in (0, HOUR),
        "How long activations under way may go on when the node is told to stop.",
        |c| c.shutdown_grace;
    "failing.quarantined_percent" in (1, 100),
        "Quarantined cells, in percent of all, from which on the node drains and ends with exit code 1.",
        |c| c.quarantined_percent;
    "pressure.source",
        "Whether new activations are refused while the machine is overloaded: \"psi\" reads /proc/pressure, \
            \"none\" does not look.",
        |c| c.pressure_source;
    "pressure.cpu_percent" in (0, 100),
        "Refuse while work has waited for a processor for more than this share of the last ten seconds. 100: never; guests \
         that compute keep a machine busy, and wait in the queue for it.",
        |c| c.pressure.cpu;
    "pressure.memory_percent" in (0, 100),
        "Refuse while everything has waited for memory for more than this share of the last ten seconds.",
        |c| c.pressure.memory;
    "pressure.io_percent" in (0, 100),
        "Refuse while everything has waited for disks for more than this share of the last ten seconds.",
        |c| c.pressure.io;
};

/// The key called `name`.
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}
