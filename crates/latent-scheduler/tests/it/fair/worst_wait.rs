//! The stated bound of a wait, against tenants that flood the queue; and that nobody starves.

use std::sync::Arc;
use std::time::Duration;

use latent_core::StopLatch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::support::*;

/// Runs one activation that keeps its cell for `run`, and tells how long it waited for it.
async fn activation(house: Arc<House>, tenant: String, id: String, priority: u8, run: Duration) -> Duration {
    let latch = StopLatch::new();
    let started = Instant::now();
    let assignment = house.assign(Ask { priority, ..ask(&tenant, &id) }, &latch).await.unwrap();
    let waited = started.elapsed();
    let entered = assignment.enter();
    sleep(run).await;
    entered.release().await.result.unwrap();
    waited
}

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_short_call_waits_at_most_the_stated_bound_behind_another_tenants_thousand_long_ones() {
    for cells in [1, 4] {
        let house = Arc::new(house(cells, 2000));
        let mut flood = JoinSet::new();
        for job in 0..1000 {
            flood.spawn(activation(house.clone(), "flood".into(), job.to_string(), 255, SECOND));
        }
        sleep(SECOND / 2).await;
        assert_eq!(house.scheduler.snapshot(crate::support::CLASS).unwrap().queued, 1000 - cells);
        let call = activation(house.clone(), "other".into(), "call".into(), 0, Duration::from_millis(5));
        let waited = call.await;
        // One other tenant is ahead: one grant, then its own.
        let bound = SECOND * u32::try_from(2usize.div_ceil(cells)).unwrap();
        assert!(waited <= bound, "{cells} cells: {waited:?} is over {bound:?}");
        flood.abort_all();
        while flood.join_next().await.is_some() {}
        house.scheduler.audit().unwrap();
        assert_eq!(house.admission.ledger().audit().unwrap().live(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn each_of_many_tenants_has_its_first_cell_within_the_stated_bound() {
    let cells = 3;
    let house = Arc::new(house(cells, 2000));
    let mut work = JoinSet::new();
    for job in 0..30 {
        for tenant in 0..10 {
            let (tenant, id) = (format!("tenant-{tenant}"), job.to_string());
            let first = job == 0;
            let house = house.clone();
            work.spawn(async move { (first, activation(house, tenant, id, 0, SECOND).await) });
        }
    }
    let mut firsts = Vec::new();
    while let Some(done) = work.join_next().await {
        let (first, waited) = done.unwrap();
        firsts.extend(first.then_some(waited));
    }
    assert_eq!(firsts.len(), 10);
    // Nine others ahead at most: ten grants over three cells.
    assert!(firsts.iter().all(|waited| *waited <= 4 * SECOND), "{firsts:?}");
    house.assert_idle();
}

#[tokio::test(start_paused = true)]
async fn the_least_urgent_entry_is_served_under_an_unending_flood_of_urgent_ones() {
    let house = Arc::new(house(1, 200));
    let urgent = |round: usize| activation(house.clone(), "a".into(), round.to_string(), 255, SECOND / 10);
    let mut flood = JoinSet::new();
    for round in 0..20 {
        flood.spawn(urgent(round));
    }
    tokio::task::yield_now().await;
    let mut victim = tokio::spawn(activation(house.clone(), "a".into(), "victim".into(), 0, Duration::from_millis(1)));
    let mut round = 20;
    let waited = loop {
        tokio::select! {
            waited = &mut victim => break waited.unwrap(),
            done = flood.join_next() => {
                done.unwrap().unwrap();
                flood.spawn(urgent(round));
                round += 1;
                assert!(round < 1000, "the victim starves");
            }
        }
    };
    // A second makes it old; then those go first that came before it, twenty at most.
    assert!(waited >= SECOND && waited <= 4 * SECOND, "{waited:?}");
    flood.abort_all();
    while flood.join_next().await.is_some() {}
}
