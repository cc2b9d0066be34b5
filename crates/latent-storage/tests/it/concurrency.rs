//! Many callers at once, on a real directory.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};

use latent_core::PlatformErrorCode;
use latent_executor::ArtifactRepository as _;
use latent_storage::Storage;

use crate::disk::{Fault, Survival};
use crate::support::{apply, component, digest, fresh, held, open, options, publish, tenant};

const CALLERS: usize = 64;

fn real() -> (tempfile::TempDir, Storage) {
    let place = tempfile::tempdir().expect("a temporary directory is made");
    let storage = Storage::open(place.path(), options()).expect("it opens");
    (place, storage)
}

/// Says at its end that it is over, also when a test fails before, so that whoever repeats something ends too.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `call` by all callers at the same time.
fn together(call: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(CALLERS);
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let (barrier, call) = (&barrier, &call);
            scope.spawn(move || {
                barrier.wait();
                call(caller);
            });
        }
    });
}

#[test]
fn one_component_published_by_64_callers_is_made_once() {
    let (place, storage) = real();
    let created = AtomicUsize::new(0);
    together(|_| {
        if publish(&storage, "acme", "one").expect("all succeed") {
            created.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(created.into_inner(), 1);
    assert_eq!(storage.usage(&tenant("acme")).releases, 1);
    let files = |part: &str| std::fs::read_dir(place.path().join(part)).expect("it is listed").count();
    assert_eq!((files("components"), files("staged")), (1, 0));
    held(&storage);
}

#[test]
fn one_component_published_with_64_manifests_at_once_has_one_of_them() {
    let (_place, storage) = real();
    let created = AtomicUsize::new(0);
    together(|caller| {
        let manifest = format!("{{\"ceilings\":{{\"fuel\":{}}}}}", caller + 1);
        match storage.publish(&tenant("acme"), manifest.as_bytes(), &component("one")) {
            Ok(published) => assert!(created.fetch_add(1, Ordering::Relaxed) == 0 && published.created),
            Err(error) => assert_eq!(error.code(), PlatformErrorCode::StateConflict),
        }
    });
    assert_eq!(created.into_inner(), 1);
    held(&storage);
}

#[test]
fn one_deployment_made_by_64_callers_is_made_by_one() {
    let (_place, storage) = real();
    publish(&storage, "acme", "one").expect("it is published");
    let made = AtomicUsize::new(0);
    together(|_| match storage.apply(crate::support::manifest("acme", "blue", "one"), Some(0)) {
        Ok(_) => drop(made.fetch_add(1, Ordering::Relaxed)),
        Err(error) => assert_eq!(error.code(), PlatformErrorCode::StateConflict),
    });
    assert_eq!(made.into_inner(), 1);
    held(&storage);
}

#[test]
fn a_quota_holds_against_64_callers() {
    let (_place, storage) = real();
    publish(&storage, "umbrella", "c00").expect("it is published");
    let each = storage.usage(&tenant("umbrella")).bytes;
    storage.set_quota(&tenant("acme"), Some(10 * each)).expect("a quota is set");
    let created = AtomicUsize::new(0);
    together(|caller| match publish(&storage, "acme", &format!("c{caller:02}")) {
        Ok(_) => drop(created.fetch_add(1, Ordering::Relaxed)),
        Err(error) => assert!(error.has_detail("storage.quota"), "{error}"),
    });
    assert_eq!(created.into_inner(), 10);
    assert_eq!(storage.usage(&tenant("acme")).bytes, 10 * each);
    held(&storage);
}

#[test]
fn a_collection_never_takes_a_file_from_a_publication_of_the_same_component() {
    let (_place, storage) = real();
    let storage = Arc::new(storage);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                storage.collect().expect("it works");
            }
        });
        let _over = Over(&is_over);
        for _ in 0..60 {
            publish(&storage, "acme", "one").expect("it is published");
            storage.fetch(&tenant("acme"), digest("one")).expect("what was acknowledged is served");
            storage.delete_release(&tenant("acme"), digest("one")).expect("nothing uses it");
        }
    });
    storage.collect().expect("it works");
    held(&storage);
}

#[test]
fn readers_see_whole_changes_while_writers_go_on() {
    let (_place, storage) = real();
    publish(&storage, "acme", "one").expect("it is published");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut last = 0;
            while !is_over.load(Ordering::Relaxed) {
                let view = storage.view();
                let generation = latent_catalog::ActivationCatalog::generation(&*view);
                assert!(generation >= last, "generations only grow");
                assert!(view.of_tenant(&tenant("acme")).all(|deployment| deployment.generation() <= generation));
                last = generation;
            }
        });
        let _over = Over(&is_over);
        for round in 0..40 {
            apply(&storage, "acme", &format!("d{}", round % 4), "one").expect("it is applied");
        }
    });
    held(&storage);
}

/// The ids of acme's deployments.
fn deployed(storage: &Storage) -> BTreeSet<String> {
    held(storage).deployments.into_keys().map(|(_, _, id)| id).collect()
}

#[test]
fn of_callers_at_once_exactly_those_that_were_answered_have_their_deployment_when_the_disk_fails() {
    const AT_ONCE: usize = 8;
    let (disk, storage) = fresh();
    publish(&storage, "acme", "one").expect("it is published");
    drop(storage);
    let (mut failures, mut is_over) = (0, false);
    for at in (1..).take_while(|at| *at < 2000) {
        let failing = disk.copy();
        let storage = open(&failing).expect("the furnished storage opens");
        failing.watch(Some(Fault::FailOnce { at, kind: io::ErrorKind::Other }));
        let barrier = Barrier::new(AT_ONCE);
        let answered: BTreeSet<String> = std::thread::scope(|scope| {
            let caller = |caller: usize| {
                let (barrier, storage) = (&barrier, &storage);
                scope.spawn(move || {
                    let id = format!("d{caller}");
                    barrier.wait();
                    apply(storage, "acme", &id, "one").is_ok().then_some(id)
                })
            };
            let callers: Vec<_> = (0..AT_ONCE).map(caller).collect();
            callers.into_iter().filter_map(|caller| caller.join().expect("no caller panics")).collect()
        });
        failures += AT_ONCE - answered.len();
        is_over = failing.steps() < at;
        failing.mend();
        assert_eq!(deployed(&storage), answered, "step {at}");
        drop(storage);
        for left in [failing.after(Survival::Synced), failing] {
            let reopened = open(&left).unwrap_or_else(|error| panic!("step {at}: {error}"));
            assert_eq!(deployed(&reopened), answered, "step {at}: after a restart");
        }
        if is_over {
            break;
        }
    }
    assert!(is_over && failures > 0, "{failures} failures");
}
