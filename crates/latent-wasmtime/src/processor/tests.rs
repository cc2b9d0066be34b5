//! Whose turn it is, who gives it, and what is left afterwards.

use std::future::{Future, poll_fn};

use super::*;
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinSet, yield_now};

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).expect("a name")
}

/// Takes a turn after waiting for it, so many times, and notes each.
async fn turns(processor: Arc<Processor>, name: &'static str, count: usize, taken: Arc<Mutex<Vec<&'static str>>>) {
    let tenant = tenant(name);
    for _ in 0..count {
        let mut waiting = None;
        poll_fn(|cx| {
            let place = waiting.get_or_insert_with(|| processor.join(&tenant, cx.waker()).expect("a runtime"));
            if place.is_granted(cx.waker()) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        taken.lock().unwrap().push(name);
    }
}

/// Whether nobody waits and nobody gives out slices.
fn is_at_rest(processor: &Processor) -> bool {
    let mut queue = processor.queue();
    queue.dispatchers == 0 && queue.order.next().is_none() && processor.computing.load(Ordering::Relaxed) == 0
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().build().expect("a runtime")
}

fn run<T: Send + 'static>(threads: usize, work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = Builder::new_multi_thread().worker_threads(threads).event_interval(1).build().expect("threads");
    runtime.block_on(runtime.spawn(work)).expect("it does not panic")
}

#[test]
fn a_tenant_with_one_run_has_every_second_turn_beside_one_with_eight() {
    let taken = one_thread().block_on(async {
        let (processor, taken) = (Arc::<Processor>::default(), Arc::<Mutex<Vec<_>>>::default());
        let mut runs = JoinSet::new();
        for _ in 0..8 {
            runs.spawn(turns(processor.clone(), "many", 10, taken.clone()));
        }
        runs.spawn(turns(processor.clone(), "one", 10, taken.clone()));
        runs.join_all().await;
        assert!(is_at_rest(&processor));
        taken.lock().unwrap().clone()
    });
    assert_eq!(taken.len(), 90);
    let last = taken.iter().rposition(|name| *name == "one").expect("it had turns");
    assert!(last <= 2 * 10 + 1, "{taken:?}");
}

#[test]
fn every_run_on_several_threads_has_all_of_its_turns() {
    run(4, async {
        let (processor, taken) = (Arc::<Processor>::default(), Arc::<Mutex<Vec<_>>>::default());
        for _ in 0..50 {
            let mut runs = JoinSet::new();
            for name in ["a", "a", "a", "b", "b", "c", "c", "c"] {
                runs.spawn(turns(processor.clone(), name, 20, taken.clone()));
            }
            runs.join_all().await;
        }
        assert_eq!(taken.lock().unwrap().len(), 50 * 8 * 20);
        while !is_at_rest(&processor) {
            yield_now().await;
        }
    });
}

#[test]
fn a_place_that_is_given_up_holds_up_nobody() {
    one_thread().block_on(async {
        let processor = Arc::<Processor>::default();
        let gone = processor.join(&tenant("a"), Waker::noop()).expect("a place");
        drop(gone);
        turns(processor.clone(), "a", 3, Arc::default()).await;
        yield_now().await;
        assert!(is_at_rest(&processor));
    });
}

#[test]
fn whoever_waits_goes_on_when_the_runtime_that_gives_out_slices_ends() {
    let processor = Arc::<Processor>::default();
    let ending = one_thread();
    // Its dispatcher never runs.
    let place = ending.block_on(async { processor.join(&tenant("a"), Waker::noop()) }).expect("a place");
    assert!(!place.is_granted(Waker::noop()));
    drop(ending);
    assert!(place.is_granted(Waker::noop()) && is_at_rest(&processor));
    one_thread().block_on(turns(processor.clone(), "a", 3, Arc::default()));
}

#[test]
fn it_is_crowded_when_as_many_compute_as_there_are_threads() {
    let processor = Arc::<Processor>::default();
    let first = processor.compute();
    assert!(!processor.is_crowded(), "there is no runtime");
    assert!(processor.join(&tenant("a"), Waker::noop()).is_none());
    let of_two = processor.clone();
    run(2, async move {
        assert!(!of_two.is_crowded());
        let second = of_two.compute();
        assert!(of_two.is_crowded());
        drop(second);
        assert!(!of_two.is_crowded());
    });
    drop(first);
    assert!(is_at_rest(&processor));
}
