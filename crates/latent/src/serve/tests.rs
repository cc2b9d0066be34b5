//! A whole node that gives itself up.

use std::net::{Ipv4Addr, SocketAddr};

use latent_core::{
    ActivationId, AdmissionPolicy, BudgetCeilings, Principal, PrincipalKind, ServiceName, StopLatch, TenantId,
};
use latent_node::access::TenantQuota;
use latent_node::observe::NoObserver;
use latent_scheduler::admission::{AdmissionRequest, ClockSample, Conditions, QueueClass};

use super::*;
use crate::config::PressureSource;

/// Loses a cell of `node`, as an activation does that nobody can clean up after.
async fn lose_a_cell(node: &Node) {
    let parts = node.manager.parts();
    let tenant = TenantId::new("t").expect("a name");
    let id = ActivationId::new("lost").expect("an id");
    let principal = Principal {
        tenant: tenant.clone(),
        subject: ServiceName::new("s").expect("a name"),
        kind: PrincipalKind::User,
    };
    let request = AdmissionRequest {
        activation_id: &id,
        tenant: &tenant,
        principal: &principal,
        policy: Some(&AdmissionPolicy::default()),
        budget: BudgetCeilings::default(),
        payload_bytes: 0,
        priority: 0,
        queue_class: QueueClass::Standard,
        deadline: None,
        transport: None,
    };
    let clock = ClockSample { monotonic: Instant::now().into_std(), wall: parts.clock.now() };
    let conditions = Conditions { clock, pressure: None, observed_delay: parts.scheduler.observed_delay() };
    let permit = parts.admission.admit(&request, &conditions).expect("there is room");
    let assignment = parts.scheduler.assign(permit, &StopLatch::default()).await.expect("there is a cell");
    // Entered and never released.
    drop(assignment.enter());
}

#[test]
fn a_node_that_has_lost_its_share_of_cells_ends_by_itself_and_says_that_it_failed() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let mut config = Config { data_dir: place.path().join("data"), workers: 1, ..Config::default() };
    config.pressure_source = PressureSource::None;
    config.cells[2].count = 2;
    for listener in [&mut config.invoke, &mut config.control, &mut config.http] {
        listener.address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    }
    config.tenants.insert(TenantId::new("t").expect("a name"), TenantQuota::default());
    assert_eq!(config.quarantined_percent, 50);
    let begin = move |ready: Ready| -> Work {
        Box::pin(async move {
            lose_a_cell(&ready.node).await;
            assert!(!ready.asked.at_all(), "nobody asks it to end");
            Ok(())
        })
    };
    let exit = run(config, Some(Companion { observer: Arc::new(NoObserver), begin: Box::new(begin) }));
    assert_eq!(exit.map(Exit::code), Ok(1));
}
