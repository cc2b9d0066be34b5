//! Readers beside writers: no reader sees half a change, and no writer's change is lost.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use latent_catalog::{ActivationCatalog, ActivationCatalogSource, Apply, Catalog, ChangeRefusal, DeploymentManifest};
use latent_core::BudgetCeilings;

use crate::support::{apply_of, empty, manifest, plain, resolve};

const READERS: usize = 3;
const CHANGES: u64 = 2_000;

/// `text` with the fuel ceiling and the memory ceiling always equal, so that half a change would show.
fn numbered(number: u64) -> DeploymentManifest {
    let ceilings = BudgetCeilings { fuel: Some(number), memory_bytes: Some(number), ..BudgetCeilings::default() };
    DeploymentManifest { ceilings, ..manifest("acme", "text", "blue") }
}

#[test]
fn readers_always_see_one_whole_generation_and_never_go_back() {
    let catalog = empty();
    catalog.apply(apply_of(numbered(1), plain())).unwrap();
    let (start, done) = (Barrier::new(READERS + 1), AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                start.wait();
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    last = look(&catalog, last);
                }
            });
        }
        start.wait();
        for number in 2..=CHANGES {
            catalog.apply(apply_of(numbered(number), plain())).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(catalog.view().generation(), CHANGES);
}

/// Pins, resolves and reads the policy; answers the generation seen.
fn look(catalog: &Catalog, last: u64) -> u64 {
    let pinned = catalog.pin();
    let resolved = resolve(&*pinned, "default", "a").expect("the service is there in every generation");
    let ceilings = pinned.policy(&resolved).expect("the view knows what it resolved").admission.deployment;
    let generation = pinned.generation();
    assert!(generation >= last, "went back from {last} to {generation}");
    assert_eq!(resolved.route_generation, generation);
    assert_eq!((ceilings.fuel, ceilings.memory_bytes), (Some(generation), Some(generation)));
    generation
}

#[test]
fn a_reader_reads_on_while_a_change_is_being_written_down() {
    let catalog = empty();
    catalog.apply(apply_of(numbered(1), plain())).unwrap();
    let mut staged = catalog.stage();
    staged.apply(apply_of(numbered(2), plain())).unwrap();
    assert_eq!(look(&catalog, 0), 1);
    staged.publish().unwrap();
    assert_eq!(look(&catalog, 1), 2);
}

#[test]
fn of_writers_that_expect_the_same_generation_one_wins() {
    const WRITERS: usize = 8;
    let catalog = empty();
    let start = Barrier::new(WRITERS);
    let won: usize = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|at| {
                let (catalog, start) = (&catalog, &start);
                scope.spawn(move || {
                    start.wait();
                    let apply = apply_of(numbered(at as u64 + 1), plain());
                    match catalog.apply(Apply { expected_generation: Some(0), ..apply }) {
                        Ok(_) => 1,
                        Err(ChangeRefusal::GenerationConflict { found: 1, .. }) => 0,
                        Err(other) => panic!("a loser meets the winner's generation, not {other}"),
                    }
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("a writer does not panic")).sum()
    });
    assert_eq!((won, catalog.view().generation(), catalog.view().len()), (1, 1, 1));
}

#[test]
fn no_change_of_racing_writers_is_lost() {
    const WRITERS: u64 = 4;
    const EACH: u64 = 250;
    let catalog = empty();
    let start = Barrier::new(usize::try_from(WRITERS).unwrap());
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (catalog, start) = (&catalog, &start);
            scope.spawn(move || {
                start.wait();
                for at in 0..EACH {
                    let wanted = manifest("acme", &format!("service-{}", at % 7), &format!("{writer}-{at}"));
                    catalog.apply(apply_of(wanted, plain())).unwrap();
                }
            });
        }
    });
    let view = catalog.view();
    assert_eq!((view.generation(), view.len() as u64), (WRITERS * EACH, WRITERS * EACH));
}
