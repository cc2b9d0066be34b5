//! A disk that fails at each write of publishing, deploying, calling and deleting.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use latent_core::PlatformErrorCode;
use latent_storage::disk::UnsyncedDisk;
use latent_wire::api::Refused;

use super::disk::{FailingDisk, Fault};
use super::whole::{Held, STEADY, Whole, on_runtime, variant};

/// More writes than the course takes.
const WRITES_MAX: u64 = 2000;

/// What is asked of a node, with a component.
type Ask = for<'a> fn(&'a Whole, &'a [u8]) -> BoxFuture<'a, Result<(), Refused>>;

/// One thing that is asked of the node, and what it changes in what the node holds.
struct Step {
    name: &'static str,
    ask: Ask,
    changes: fn(&mut Held, &str),
}

/// From nothing to a service that has been called, and back to nothing.
const COURSE: [Step; 5] = [
    Step {
        name: "publish",
        ask: |whole, component| whole.publish(component).boxed(),
        changes: |held, digest| assert!(held.0.insert(digest.to_owned())),
    },
    Step {
        name: "deploy",
        ask: |whole, component| whole.deploy("other", component).boxed(),
        changes: |held, digest| assert!(held.0.insert(format!("other {digest}"))),
    },
    Step {
        name: "invoke",
        ask: |whole, _| whole.invoke(STEADY, "other", "").map(|answer| answer.map(drop)).boxed(),
        changes: |_, _| {},
    },
    Step {
        name: "delete the deployment",
        ask: |whole, _| whole.remove("other").boxed(),
        changes: |held, digest| assert!(held.0.remove(&format!("other {digest}"))),
    },
    Step {
        name: "delete the release",
        ask: |whole, component| whole.withdraw(component).boxed(),
        changes: |held, digest| assert!(held.0.remove(digest)),
    },
];

/// Goes through the course with a disk that fails as `fault` says; answers how many calls failed, and whether any write did.
async fn course(whole: &Whole, disk: &FailingDisk, component: &[u8], fault: Fault) -> (u64, bool) {
    let digest = latent_core::Sha256Digest::of(component).to_string();
    let mut held = whole.held().await;
    let mut failed = 0;
    disk.fail(fault);
    for Step { name, ask, changes } in COURSE {
        let before = held.clone();
        changes(&mut held, &digest);
        if let Err(refused) = whole.soon(ask(whole, component)).await {
            failed += 1;
            assert_ne!(name, "invoke", "{fault:?}: a call writes nothing that it waits for: {}", refused.error);
            typed(&refused, fault, name);
            assert_eq!(whole.held().await, before, "{fault:?}: {name} failed and shows");
            whole.serves().await;
            let left = whole.left();
            let is_in_doubt = matches!(fault, Fault::From(_)) && left == held;
            assert!(left == before || is_in_doubt, "{fault:?}: {name} failed, and a start would find {left:?}");
            disk.mend();
            let again = whole.soon(ask(whole, component)).await;
            again.unwrap_or_else(|refused| panic!("{fault:?}: {name}, mended: {}", refused.error));
        }
        assert_eq!(whole.held().await, held, "{fault:?}: {name}");
        assert_eq!(whole.left(), held, "{fault:?}: {name} is acknowledged");
    }
    whole.serves().await;
    (failed, disk.failures() > 0)
}

fn typed(refused: &Refused, fault: Fault, name: &str) {
    let error = &refused.error;
    let (code, kind) = match fault {
        Fault::From(_) => (PlatformErrorCode::ResourceExhausted, "storage.disk-full"),
        Fault::Once(_) => (PlatformErrorCode::Unavailable, "storage.io"),
    };
    assert_eq!(error.code(), code, "{fault:?}: {name}: {error}");
    assert!(error.has_detail(kind) && error.is_retryable(), "{fault:?}: {name}: {error:?}");
}

/// Lets each write of the course fail, all on one node.
async fn every_write(fault: fn(u64) -> Fault) {
    let disk = FailingDisk::default();
    let whole = Whole::begin(disk.clone(), &[]).await;
    let echo = latent_guests::component(STEADY.service);
    let mut failed = 0;
    for at in 1.. {
        assert!(at < WRITES_MAX, "the course never ends");
        let component = variant(echo, u32::try_from(at).expect("few writes"));
        let (calls, has_failed) = course(&whole, &disk, &component, fault(at)).await;
        failed += calls;
        if !has_failed {
            println!("{:?}: {failed} calls failed and were made again", fault(at));
            break;
        }
    }
    assert!(failed > 20, "{failed} calls failed");
}

#[test]
fn a_disk_that_is_full_from_any_write_on_costs_the_call_that_met_it_and_nothing_else() {
    on_runtime(every_write(Fault::From));
}

#[test]
fn a_disk_that_fails_at_any_write_once_costs_the_call_that_met_it_and_nothing_else() {
    on_runtime(every_write(Fault::Once));
}

#[test]
fn a_node_whose_compiled_components_cannot_be_kept_serves_new_ones_and_keeps_them_once_it_can() {
    on_runtime(async {
        let whole = Whole::begin(UnsyncedDisk, &[]).await;
        let kept = || whole.images().read_dir().map_or(0, std::iter::Iterator::count);
        let before = kept();
        assert!(before > 0, "they are kept where they can be");
        let aside = whole.images().with_extension("aside");
        std::fs::rename(whole.images(), &aside).expect("it is moved");
        for (number, expected) in [(1, 0), (2, before + 1)] {
            let fresh = variant(latent_guests::component(STEADY.service), number);
            whole.publish(&fresh).await.expect("it is published");
            whole.deploy("fresh", &fresh).await.expect("it is deployed");
            whole.invoke(STEADY, "fresh", "").await.expect("it is served");
            whole.serves().await;
            assert_eq!(kept(), expected, "component {number}");
            if number == 1 {
                std::fs::rename(&aside, whole.images()).expect("it is moved back");
            }
        }
    });
}
