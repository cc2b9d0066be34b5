//! A node that is drained, resumed and stopped: what it takes, how long it waits, what it cancels, and what is left.

use std::future::{pending, ready};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use latent_core::{CellClass, PlatformError};
use latent_executor::fake::{FakePreparation, FakeStep, Gate};
use latent_node::operations::{
    BackupReport, NodeHost, NodeInventory, NodeOperations, NodeOperationsParts, NodeState, Operations as _, Settled,
    UsageQuery, UsageSum,
};
use latent_node::{ActivationReceipt, LocalActivationManager, LocalActivationManagerConfig};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::setup::{Node, node, tenant};

const STOP_GRACE: Duration = Duration::from_secs(30);

/// A process that holds so much, and answers recognisably.
struct Host(u64);

impl NodeHost for Host {
    fn held(&self) -> Vec<(&'static str, u64)> {
        vec![("stores", self.0)]
    }

    fn kept(&self) -> Vec<(&'static str, u64)> {
        vec![("prepared-entries", 7)]
    }

    fn backup(&self, directory: &Path) -> Result<BackupReport, PlatformError> {
        let component_bytes = directory.as_os_str().len() as u64;
        Ok(BackupReport { generation: 1, releases: 2, deployments: 3, component_bytes })
    }

    fn usage(&self, query: &UsageQuery) -> Result<(Vec<UsageSum>, u64), PlatformError> {
        assert_eq!(query.tenant, Some(tenant()));
        Ok((Vec::new(), 5))
    }

    fn metrics(&self, inventory: &NodeInventory) -> String {
        inventory.state.as_str().to_owned()
    }
}

fn operations_of(node: &Node, held: u64) -> NodeOperations {
    let manager = LocalActivationManager::new(node.manager.parts().clone(), LocalActivationManagerConfig::default());
    let operations = NodeOperations::new(NodeOperationsParts {
        manager: Arc::new(manager.unwrap()),
        supervisor: node.supervisor.clone(),
        pools: vec![(CellClass::Standard, node.pool.clone())],
        host: Arc::new(Host(held)),
        started_at: SystemTime::UNIX_EPOCH,
        grace: STOP_GRACE,
        quarantined_percent: 50,
    });
    assert!(operations.lifecycle().started());
    operations
}

fn count(operations: &NodeOperations, name: &str) -> u64 {
    let counts = operations.inventory().counts;
    counts.into_iter().find(|(known, _)| *known == name).map_or_else(|| panic!("no {name}"), |(_, count)| count)
}

#[tokio::test(start_paused = true)]
async fn a_drained_node_takes_activations_again_when_it_is_told_to() {
    let (node, driver) = node(1, 4);
    let operations = operations_of(&node, 0);
    operations.admits().unwrap();
    assert_eq!(operations.drain(None).await, 0);
    assert_eq!(operations.state(), NodeState::Drained);
    assert!(operations.admits().unwrap_err().is_retryable());
    operations.resume().unwrap();
    operations.admits().unwrap();
    node.drain(tokio::spawn(driver)).await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_no_longer_than_it_is_told_and_says_how_many_are_left() {
    let (node, driver) = node(1, 4);
    node.backend.set_step("spin", FakeStep::Spin);
    let running = node.running("a", "spin");
    let operations = operations_of(&node, 0);
    let began = Instant::now();
    assert_eq!(operations.drain(Some(Duration::from_millis(50))).await, 1);
    assert!((50..60).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
    assert_eq!((operations.state(), count(&operations, "activations")), (NodeState::Draining, 1));
    drop(running);
    node.drain(tokio::spawn(driver)).await;
    assert_eq!((operations.drain(None).await, operations.state()), (0, NodeState::Drained));
}

#[tokio::test(start_paused = true)]
async fn an_activation_that_ends_within_the_grace_is_not_cancelled() {
    let (node, driver) = node(1, 4);
    let (entered, leave) = (Gate::closed(), Gate::closed());
    let gated = FakeStep::Gated { entered, leave: leave.clone(), then: Box::new(FakeStep::Echo) };
    node.backend.set_step("gated", gated);
    let running = tokio::spawn(node.running("a", "gated"));
    let operations = operations_of(&node, 0);
    let opener = tokio::spawn(async move {
        tokio::time::sleep(STOP_GRACE / 2).await;
        leave.open();
    });
    assert_eq!(ends(operations.settle(pending()).await), (0, 0));
    opener.await.unwrap();
    assert!(matches!(running.await.unwrap().outcome, latent_core::ActivationOutcome::Succeeded { .. }));
    assert!(node.supervisor.reserve().is_err(), "a node that stops gives no slot");
    assert_eq!(operations.leftovers(), []);
    timeout(STOP_GRACE, driver).await.expect("the driver ends");
}

/// How many were cancelled, and how many are left.
fn ends(settled: Settled) -> (u64, u64) {
    (settled.cancelled, settled.left)
}

/// Two activations that end when they are cancelled, and leave the paused clock alone until then.
fn two_waiting(node: &Node) -> [JoinHandle<ActivationReceipt>; 2] {
    node.backend.set_preparation(FakePreparation::Hang);
    ["a", "b"].map(|id| tokio::spawn(node.start(id, "echo")))
}

async fn assert_cancelled(activations: [JoinHandle<ActivationReceipt>; 2]) {
    for activation in activations {
        let outcome = activation.await.unwrap().outcome;
        assert!(format!("{outcome:?}").contains("activation.cancelled"), "{outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_left_after_the_grace_is_cancelled() {
    let (node, driver) = node(2, 4);
    let activations = two_waiting(&node);
    let operations = operations_of(&node, 0);
    let began = Instant::now();
    assert_eq!(ends(operations.settle(pending()).await), (2, 0));
    let took = began.elapsed();
    assert!(took >= STOP_GRACE && took < STOP_GRACE + Duration::from_secs(1), "{took:?}");
    assert_cancelled(activations).await;
    assert_eq!((operations.leftovers(), operations.state()), (vec![], NodeState::Drained));
    assert!(operations.resume().is_err());
    timeout(STOP_GRACE, driver).await.expect("the driver ends");
}

#[tokio::test(start_paused = true)]
async fn whoever_is_in_a_hurry_skips_the_grace() {
    let (node, driver) = node(2, 4);
    let activations = two_waiting(&node);
    let operations = operations_of(&node, 0);
    let began = Instant::now();
    assert_eq!(ends(operations.settle(ready(())).await), (2, 0));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_cancelled(activations).await;
    timeout(STOP_GRACE, driver).await.expect("the driver ends");
}

#[tokio::test(start_paused = true)]
async fn an_activation_that_nobody_polls_is_told_as_left() {
    let (node, driver) = node(1, 4);
    node.backend.set_step("spin", FakeStep::Spin);
    let running = node.running("a", "spin");
    let operations = operations_of(&node, 3);
    assert_eq!(ends(operations.settle(ready(())).await), (1, 1));
    let leftovers = operations.leftovers();
    for name in ["activations", "leases", "quota-live", "continuation-slots", "stores"] {
        assert!(leftovers.iter().any(|(known, _)| *known == name), "{name} is missing in {leftovers:?}");
    }
    drop(running);
    drop(driver);
}

#[tokio::test(start_paused = true)]
async fn a_node_fails_when_the_configured_share_of_its_cells_is_quarantined() {
    let (node, driver) = node(4, 4);
    node.backend.set_step("hang", FakeStep::Hang);
    let operations = operations_of(&node, 0);
    let running = ["a", "b"].map(|id| node.running(id, "hang"));
    // Without a driver whoever loses its transport is given up, and its cell with it.
    drop(driver);
    let mut running = running.into_iter();
    drop(running.next());
    assert!(!operations.check_cells(), "one of four is less than half");
    operations.admits().unwrap();
    drop(running.next());
    assert!(operations.check_cells() && !operations.check_cells(), "it is news once");
    assert_eq!(operations.state(), NodeState::Failing);
    assert!(operations.admits().is_err() && operations.resume().is_err());
}

#[tokio::test(start_paused = true)]
async fn what_the_process_does_is_asked_of_it() {
    let (node, driver) = node(1, 4);
    let operations = operations_of(&node, 0);
    assert_eq!(operations.backup("four".into()).unwrap().component_bytes, 4);
    let query = UsageQuery { tenant: Some(tenant()), ..UsageQuery::default() };
    assert_eq!(operations.usage(&query).unwrap().1, 5);
    assert_eq!((operations.metrics(), count(&operations, "prepared-entries")), ("ready".to_owned(), 7));
    node.drain(tokio::spawn(driver)).await;
}
