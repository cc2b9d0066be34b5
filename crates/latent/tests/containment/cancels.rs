//! Cancels through the runner: running, queued, twice, too late, of others, and very many at once.

use std::time::Duration;

use latent_activation::CancelDisposition::{Accepted, NotFound};
use latent_core::{ActivationId, TenantId};

use crate::calls::{assert_cancelled, echo, spin, succeeded};
use crate::polls::poll_once;
use crate::support::{Setup, alone_on_node, now, on_node, until};

#[test]
fn a_running_guest_is_cancelled_at_once() {
    alone_on_node(Setup::default(), |node| async move {
        node.warm("containment-capsule").await;
        let mut overshoots = Vec::new();
        for _ in 0..50 {
            let call = spin();
            let id = call.id();
            let run = node.spawn(call);
            until("the guest runs", || node.backend.resources().component_instances == 1).await;
            let cancelled = now();
            assert_eq!(node.cancel(&id), Accepted);
            let report = run.await.expect("a report");
            overshoots.push(cancelled.elapsed());
            assert_cancelled(&report);
        }
        overshoots.sort();
        println!("cancelled while running: p50 {:?}, most {:?}", overshoots[25], overshoots[49]);
        assert!(overshoots[49] <= node.tolerance());
    });
}

#[test]
fn what_a_cancelled_guest_burnt_is_kept() {
    on_node(Setup::default(), |node| async move {
        node.warm("containment-capsule").await;
        let call = spin();
        let id = call.id();
        let mut run = Box::pin(node.run(call));
        // Each poll burns a tick, or the fuel after which the engine looks up, whichever is less.
        for _ in 0..20 {
            assert!(poll_once(&mut run).await.is_pending(), "a spinning guest yields");
        }
        node.cancel(&id);
        let report = run.await;
        assert_cancelled(&report);
        assert!(report.consumption.fuel >= 1_000_000, "{:?}", report.consumption);
    });
}

#[test]
fn a_capsule_can_be_cancelled_called_and_cancelled_again() {
    on_node(Setup::default(), |node| async move {
        node.warm("containment-capsule").await;
        let prepared = node.backend.resources();
        for _ in 0..2 {
            assert_eq!(succeeded(&node.run(echo()).await), "\"hi\"");
            let call = spin();
            let id = call.id();
            let mut run = Box::pin(node.run(call));
            assert!(poll_once(&mut run).await.is_pending(), "a spinning guest yields");
            assert_eq!(node.cancel(&id), Accepted);
            assert_cancelled(&run.await);
            assert_eq!(node.backend.resources(), prepared, "the prepared code is the same");
        }
    });
}

#[test]
fn a_cancel_is_idempotent_belongs_to_its_tenant_and_finds_nothing_afterwards() {
    on_node(Setup::default(), |node| async move {
        let call = spin();
        let id = call.id();
        let foreign = (TenantId::new("another").expect("an id"), id.1.clone());
        let unknown = (id.0.clone(), ActivationId::new("unknown").expect("an id"));
        assert_eq!(node.cancel(&id), NotFound, "not started");
        let run = node.spawn(call);
        until("it runs", || node.runner.snapshot().running_invocations == 1).await;
        assert_eq!((node.cancel(&foreign), node.cancel(&unknown)), (NotFound, NotFound));
        assert_eq!((node.cancel(&id), node.cancel(&id)), (Accepted, Accepted));
        assert_cancelled(&run.await.expect("a report"));
        assert_eq!(node.cancel(&id), NotFound, "finished");
    });
}

#[test]
fn a_queued_activation_is_cancelled_without_a_cell() {
    on_node(Setup { cells: 1, ..Setup::default() }, |node| async move {
        let (blocker, queued) = (spin(), echo());
        let (blocking, waiting) = (blocker.id(), queued.id());
        let blocker = node.spawn(blocker);
        until("the cell is taken", || node.observations().active_leases == 1).await;
        let queued = node.spawn(queued);
        until("the second waits", || node.observations().queue_depth == 1).await;
        assert_eq!(node.cancel(&waiting), Accepted);
        let report = queued.await.expect("a report");
        assert_cancelled(&report);
        assert_eq!((report.cell, report.consumption.fuel), (None, 0));
        assert_eq!(node.observations().queue_depth, 0);
        node.cancel(&blocking);
        assert_cancelled(&blocker.await.expect("a report"));
    });
}

#[test]
fn ten_thousand_cancels_at_once_cancel_once() {
    on_node(Setup::default(), |node| async move {
        let call = spin().within(Duration::from_secs(3600));
        let id = call.id();
        let run = node.spawn(call);
        until("it runs", || node.runner.snapshot().running_invocations == 1).await;
        let cancels: Vec<_> = (0..100)
            .map(|_| {
                let (node, id) = (node.clone(), id.clone());
                tokio::spawn(async move { (0..100).filter(|_| node.cancel(&id) == Accepted).count() })
            })
            .collect();
        let mut accepted = 0;
        for cancel in cancels {
            accepted += cancel.await.expect("a count");
        }
        assert!((1..=10_000).contains(&accepted), "later ones may find nothing any more: {accepted}");
        assert_cancelled(&run.await.expect("a report"));
        assert_eq!(node.runner.snapshot().releases, 1, "one lease, one end");
    });
}
