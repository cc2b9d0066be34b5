//! How long a slice is, and who goes on after it.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::task::{Wake, Waker};

use tokio::runtime::{Builder, Runtime};

use super::*;

const LENGTH: Duration = Duration::from_millis(1);
static ENTERED: AtomicBool = AtomicBool::new(true);

#[derive(Default)]
struct Count(AtomicU32);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A step that yields at once.
fn yields(cx: &mut Context<'_>, _at: Instant) -> Poll<()> {
    cx.waker().wake_by_ref();
    Poll::Pending
}

/// Takes a slice, and says how often the task was woken by then.
fn slice<T>(slices: &mut Slices<'_>, step: impl FnMut(&mut Context<'_>, Instant) -> Poll<T>) -> (Poll<T>, u32) {
    let count = Arc::<Count>::default();
    let taken = slices.take(&mut Context::from_waker(&Waker::from(Arc::clone(&count))), now(), step);
    (taken, count.0.load(Ordering::SeqCst))
}

/// Slices of a run that was polled and has entered its guest.
fn entered<'a>(length: Duration, processor: &'a Arc<Processor>, tenant: &'a TenantId) -> Slices<'a> {
    let mut slices = Slices::new(length, processor, tenant, &ENTERED);
    slices.was_polled = true;
    slices
}

fn processor() -> (Arc<Processor>, TenantId) {
    (Arc::default(), TenantId::new("t").expect("a name"))
}

#[test]
fn a_run_that_yields_goes_on_until_its_turn_is_over() {
    let (processor, tenant) = processor();
    let mut slices = entered(LENGTH, &processor, &tenant);
    let (began, mut steps) = (now(), 0);
    let (taken, woken) = slice(&mut slices, |cx, at| {
        steps += 1;
        yields(cx, at)
    });
    assert_eq!((taken, woken), (Poll::Pending, 1));
    assert!(began.elapsed() >= LENGTH && steps > 1, "{steps} steps");
    assert!(slices.computing.is_some());
}

#[test]
fn a_run_that_waits_or_ends_is_not_among_those_that_compute() {
    let (processor, tenant) = processor();
    let mut slices = entered(Duration::ZERO, &processor, &tenant);
    assert_eq!(slice(&mut slices, yields), (Poll::Pending, 1));
    assert!(slices.computing.is_some());
    assert_eq!(slice(&mut slices, |_, _| Poll::<()>::Pending), (Poll::Pending, 0), "whoever it waits for wakes it");
    assert!(slices.computing.is_none());
    assert_eq!(slice(&mut slices, yields), (Poll::Pending, 1));
    assert_eq!(slice(&mut slices, |_, _| Poll::Ready(3)), (Poll::Ready(3), 0));
    assert!(slices.computing.is_none());
}

fn runtime(threads: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(threads).event_interval(1).build().expect("threads")
}

/// Whether the task was woken at once, and whether it waits in the queue, after each of four slices of a run on `threads` threads
/// beside others that compute.
fn after_slices(threads: usize, others: usize) -> Vec<(bool, bool)> {
    let (processor, tenant) = processor();
    let _others: Vec<_> = (0..others).map(|_| processor.compute()).collect();
    let after = poll_fn(move |_| {
        let after = (0..4).map(|given| {
            let mut slices = entered(Duration::ZERO, &processor, &tenant);
            slices.given = given;
            let (_pending, woken) = slice(&mut slices, yields);
            (woken == 1, slices.waiting.is_some())
        });
        Poll::Ready(after.collect())
    });
    let runtime = runtime(threads);
    runtime.block_on(runtime.spawn(after)).expect("it does not panic")
}

#[test]
fn a_run_with_a_thread_to_spare_stays_three_slices_of_four() {
    let stays = [(false, false), (false, false), (false, false), (true, false)];
    assert_eq!(after_slices(2, 0), stays);
    assert_eq!(after_slices(4, 2), stays);
}

#[test]
fn a_run_without_a_thread_to_spare_waits_in_the_queue() {
    assert_eq!(after_slices(1, 0), [(false, true); 4]);
    assert_eq!(after_slices(2, 1), [(false, true); 4]);
}

/// Takes so many slices.
async fn computes(processor: Arc<Processor>, name: &str, steps: u32) -> u32 {
    let tenant = TenantId::new(name).expect("a name");
    let mut slices = entered(Duration::ZERO, &processor, &tenant);
    let mut taken = 0;
    poll_fn(|cx| {
        if !slices.may_begin(cx) {
            return Poll::Pending;
        }
        slices.take(cx, now(), |cx, at| {
            taken += 1;
            if taken == steps { Poll::Ready(taken) } else { yields(cx, at).map(|()| 0) }
        })
    })
    .await
}

#[test]
fn runs_end_with_and_without_a_thread_to_spare() {
    for threads in 1..=3 {
        let (processor, _) = processor();
        let runtime = runtime(threads);
        let runs: Vec<_> = ["a", "b", "b", "c"]
            .map(|name| runtime.spawn(computes(processor.clone(), name, 100)))
            .into_iter()
            .collect();
        for run in runs {
            assert_eq!(runtime.block_on(run).expect("it does not panic"), 100);
        }
        assert_eq!(runtime.block_on(runtime.spawn(computes(processor, "a", 100))).expect("it does not panic"), 100);
    }
}

#[test]
fn the_first_poll_is_one_step_and_leaves_the_task_its_wake_ups() {
    let (processor, tenant) = processor();
    let mut slices = Slices::new(LENGTH, &processor, &tenant, &ENTERED);
    let mut steps = 0;
    let taken = slice(&mut slices, |cx, at| {
        steps += 1;
        yields(cx, at)
    });
    assert_eq!((taken, steps), ((Poll::Pending, 1), 1));
    assert!(slices.computing.is_none() && slices.wakes.is_none());
}

#[test]
fn a_run_makes_its_instance_at_once_and_waits_in_a_crowd_before_it_is_called() {
    let (processor, tenant) = processor();
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let other = processor.compute();
        let has_entered = AtomicBool::new(false);
        let mut slices = Slices::new(Duration::ZERO, &processor, &tenant, &has_entered);
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(slices.may_begin(cx), "it has no instance yet");
        let mut before = pin!(processor.before_the_first_slice());
        let enter = |cx: &mut Context<'_>, _at| {
            has_entered.store(true, Ordering::Relaxed);
            before.as_mut().poll(cx)
        };
        assert_eq!(slices.take(cx, now(), enter), Poll::Pending, "others compute");
        assert!(!slices.may_begin(cx), "it has not been its turn yet");
        drop((slices, other));
        assert!(!processor.is_crowded(), "one that is dropped does not compute");
        assert_eq!(pin!(processor.before_the_first_slice()).poll(cx), Poll::Ready(()), "nobody computes");
    });
}

#[test]
fn a_run_that_waited_for_something_else_waits_in_a_crowd_like_all_others() {
    let (processor, tenant) = processor();
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let mut slices = entered(Duration::ZERO, &processor, &tenant);
        let cx = &mut Context::from_waker(Waker::noop());
        assert!(slices.may_begin(cx));
        assert_eq!(slices.take(cx, now(), |_, _| Poll::<()>::Pending), Poll::Pending);
        assert!(slices.may_begin(cx), "nobody computes");
        let _other = processor.compute();
        assert!(!slices.may_begin(cx));
    });
}

#[test]
fn a_run_that_gives_way_in_its_host_calls_lets_all_others_go_before_it_after_a_slice() {
    let (processor, tenant) = processor();
    let calls = poll_fn(move |_| {
        let mut slices = entered(LENGTH, &processor, &tenant);
        for _ in 0..4 {
            let taken = slice(&mut slices, |_, at| {
                while at.elapsed() < LENGTH / 4 {}
                Poll::<()>::Pending
            });
            assert_eq!(taken, (Poll::Pending, 0));
        }
        // They took a slice together. With a thread to spare, one that was a single poll would not wake the task.
        let mut steps = 0;
        let last = slice(&mut slices, |cx, at| {
            steps += 1;
            yields(cx, at)
        });
        assert_eq!((last, steps, slices.used), ((Poll::Pending, 1), 1, Duration::ZERO));
        Poll::Ready(())
    });
    let runtime = runtime(4);
    runtime.block_on(runtime.spawn(calls)).expect("it does not panic");
}
