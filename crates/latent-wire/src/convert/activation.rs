//! Activations: their status, their events, their end.

use latent_activation::LifecycleEvent;
use latent_activation::journal::{
    ActivationStatus, ActivationSummary, RetainedDeclaredError, RetainedOutcome, TerminalRecord,
};
use latent_core::{BudgetConsumption, ResolvedRevision};

use latent_node::observe::Limit;

use super::time;
use crate::proto;

pub(crate) fn consumption(used: &BudgetConsumption) -> proto::Consumption {
    proto::Consumption {
        fuel: used.fuel,
        peak_memory_bytes: used.peak_memory_bytes,
        wall_time: Some(time::duration(used.wall_time)),
        log_bytes: used.log_bytes,
        outbound_requests: used.outbound_requests,
    }
}

/// What a message says was used; `None` where it says nothing that can be.
pub(crate) fn used(used: &proto::Consumption) -> Option<BudgetConsumption> {
    Some(BudgetConsumption {
        fuel: used.fuel,
        peak_memory_bytes: used.peak_memory_bytes,
        wall_time: time::non_negative("wall_time", used.wall_time.unwrap_or_default()).ok()?,
        log_bytes: used.log_bytes,
        outbound_requests: used.outbound_requests,
    })
}

pub(crate) fn revision(resolved: &ResolvedRevision) -> proto::Revision {
    proto::Revision {
        id: resolved.revision.to_string(),
        service: resolved.service.to_string(),
        route: resolved.route.to_string(),
        deployment: resolved.deployment.to_string(),
        release: resolved.release.to_string(),
        catalog_generation: resolved.route_generation,
    }
}

pub(crate) fn event(event: &LifecycleEvent) -> proto::ActivationEvent {
    proto::ActivationEvent {
        sequence: event.sequence,
        phase: event.phase.to_string(),
        at: Some(time::timestamp(event.at)),
        since_received: Some(time::duration(event.since_start)),
        terminal: event.terminal.map(|state| state.to_string()).unwrap_or_default(),
    }
}

pub(crate) fn summary(row: &ActivationSummary) -> proto::ActivationSummary {
    proto::ActivationSummary {
        activation_id: row.activation_id.to_string(),
        phase: row.phase.to_string(),
        terminal: row.terminal.map(|state| state.to_string()).unwrap_or_default(),
        received_at: Some(time::timestamp(row.received_at)),
        cancel_accepted: row.cancel_accepted,
        service: row.service.as_ref().map(ToString::to_string).unwrap_or_default(),
    }
}

pub(crate) fn status(status: &ActivationStatus, events: &[LifecycleEvent]) -> proto::Activation {
    proto::Activation {
        activation_id: status.lineage.activation_id().to_string(),
        root_activation_id: status.lineage.root_activation_id().to_string(),
        parent_activation_id: status.lineage.parent_activation_id().map(ToString::to_string).unwrap_or_default(),
        phase: status.phase.to_string(),
        received_at: Some(time::timestamp(status.received_at)),
        revision: status.resolved.as_ref().map(revision),
        cancel_reason: status.cancel_reason.as_deref().unwrap_or_default().to_owned(),
        terminal: status.terminal.as_ref().map(terminal),
        events: events.iter().map(event).collect(),
    }
}

fn terminal(record: &TerminalRecord) -> proto::Terminal {
    let message = proto::Terminal {
        state: record.state.to_string(),
        consumption: Some(consumption(&record.consumption)),
        at: Some(time::timestamp(record.at)),
        since_received: Some(time::duration(record.since_start)),
        ..proto::Terminal::default()
    };
    match &record.outcome {
        RetainedOutcome::Succeeded(summary) => proto::Terminal {
            media_type: summary.media_type.to_string(),
            output_bytes: summary.output_bytes,
            ..message
        },
        RetainedOutcome::DeclaredError(RetainedDeclaredError::Whole(error)) => proto::Terminal {
            media_type: error.media_type.to_string(),
            output_bytes: u64::try_from(error.bytes.len()).unwrap_or(u64::MAX),
            declared_error: error.bytes.clone(),
            ..message
        },
        RetainedOutcome::DeclaredError(RetainedDeclaredError::TooLarge { media_type, bytes }) => {
            proto::Terminal { media_type: media_type.to_string(), output_bytes: *bytes, ..message }
        }
        RetainedOutcome::Failed(error) => proto::Terminal {
            limit: Limit::of_error(error).map(Limit::as_str).unwrap_or_default().to_owned(),
            error: Some(error.into()),
            ..message
        },
    }
}
