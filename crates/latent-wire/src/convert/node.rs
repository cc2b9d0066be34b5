//! The node's inventory, its usage log and its backups.

use latent_node::operations::{BackupReport, NodeInventory, UsageSum};

use super::time;
use crate::proto;

pub(crate) fn inventory(inventory: &NodeInventory) -> proto::Inventory {
    let cells = inventory.cells.iter().map(|(class, cells)| proto::Cells {
        class: class.to_string(),
        capacity: wide(cells.capacity),
        available: wide(cells.available),
        leased: wide(cells.active_leases),
        quarantined: wide(cells.quarantined),
        queued: wide(cells.queue_depth),
    });
    let counts = inventory.counts.iter().map(|(name, value)| proto::Count { name: (*name).to_owned(), value: *value });
    proto::Inventory {
        state: inventory.state.as_str().to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: Some(time::timestamp(inventory.started_at)),
        cells: cells.collect(),
        counts: counts.collect(),
    }
}

pub(crate) fn usage(sum: UsageSum) -> proto::UsageSum {
    proto::UsageSum {
        tenant: sum.tenant,
        service: sum.service,
        activations: sum.activations,
        ended: sum.ended.into_iter().collect(),
        limited: sum.limited.into_iter().collect(),
        fuel: sum.fuel,
        wall_time: Some(time::duration(sum.wall_time)),
        peak_memory_bytes: sum.peak_memory_bytes,
        log_bytes: sum.log_bytes,
        outbound_requests: sum.outbound_requests,
        bytes_in: sum.bytes_in,
        bytes_out: sum.bytes_out,
    }
}

pub(crate) fn backup(report: BackupReport) -> proto::BackupResponse {
    proto::BackupResponse {
        generation: report.generation,
        releases: report.releases,
        deployments: report.deployments,
        component_bytes: report.component_bytes,
    }
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
