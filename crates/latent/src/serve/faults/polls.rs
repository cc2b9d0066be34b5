//! A call that is cancelled, or whose caller goes away, at each of its polls.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use latent_core::PlatformErrorCode;
use latent_storage::disk::UnsyncedDisk;
use latent_wire::api::Refused;
use latent_wire::proto::CancelDisposition;

use super::whole::{Function, STEADY, Whole, on_runtime, variant};

/// More polls than any call here takes.
const POLLS_MAX: u32 = 2000;
/// More calls than the API has places for.
const ROUNDS: u32 = 12;

/// Calls that wait for the clock, for fuel, or for nothing, and end well or not.
const FUNCTIONS: [Function; 6] = [
    STEADY,
    Function { service: "containment-capsule", name: "delayed-echo", payload: "[\"hi\",3]" },
    Function { service: "containment-capsule", name: "trap", payload: "[]" },
    Function { service: "containment-capsule", name: "spin", payload: "[]" },
    Function { service: "containment-capsule", name: "declared", payload: "[true]" },
    Function { service: "clock-park", name: "park-often", payload: "[8,1]" },
];

const GUESTS: [&str; 2] = ["containment-capsule", "clock-park"];

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Cancel,
    Drop,
}

/// Polls `call` until it has been pending `times` times, and answers what it answered until then.
async fn polled<F: Future>(call: &mut Pin<Box<F>>, times: u32) -> Option<F::Output> {
    let mut left = times;
    poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        match call.as_mut().poll(cx) {
            Poll::Ready(answer) => Poll::Ready(Some(answer)),
            Poll::Pending => {
                left -= 1;
                if left == 0 { Poll::Ready(None) } else { Poll::Pending }
            }
        }
    })
    .await
}

/// Does `action` to the call of `function` of `service` once it has been pending `times` times; `false` when it had ended.
async fn acted(whole: &Whole, (function, service): (Function, &str), action: Action, times: u32) -> bool {
    let id = format!("{service}-{}-{action:?}-{times}", function.name);
    let mut call = Box::pin(whole.invoke(function, service, &id));
    if whole.soon(polled(&mut call, times)).await.is_some() {
        assert_ne!(whole.end_of(&id).await, "", "{id}: what has been answered has ended");
        return false;
    }
    match action {
        Action::Drop => drop(call),
        Action::Cancel if times == 0 => {
            let unknown = whole.cancel(&id).await.expect_err("nobody has asked for it yet").error;
            assert_eq!(unknown.code(), PlatformErrorCode::NotFound, "{id}");
            drop(call);
        }
        Action::Cancel => {
            assert_eq!(whole.cancel(&id).await, Ok(CancelDisposition::Accepted), "{id}");
            let error = whole.soon(call).await.expect_err("a cancel that was accepted is kept").error;
            assert_eq!(error.code(), PlatformErrorCode::Cancelled, "{id}: {error}");
        }
    }
    whole.serves().await;
    let expected = if times == 0 { "" } else { "cancelled" };
    assert_eq!(whole.end_of(&id).await, expected, "{id}");
    true
}

#[test]
fn a_call_can_be_cancelled_or_dropped_at_every_poll() {
    on_runtime(calls_at_every_poll());
}

async fn calls_at_every_poll() {
    let whole = Whole::begin(UnsyncedDisk, &GUESTS).await;
    for function in FUNCTIONS {
        let _warm = whole.invoke(function, function.service, "").await;
        for action in [Action::Cancel, Action::Drop] {
            let mut times = 0;
            while acted(&whole, (function, function.service), action, times).await {
                times += 1;
                assert!(times < POLLS_MAX, "{function:?} never ends");
            }
            println!("{}: {action:?} at {times} polls", function.name);
        }
    }
    assert_eq!(whole.node.supervisor.snapshot().overruns, 0, "each was cleaned up in its time");
}

#[test]
fn a_first_call_can_be_cancelled_or_dropped_at_every_poll() {
    on_runtime(first_calls_at_every_poll());
}

async fn first_calls_at_every_poll() {
    let whole = Whole::begin(UnsyncedDisk, &[]).await;
    let component = latent_guests::component(STEADY.service);
    for action in [Action::Cancel, Action::Drop] {
        for times in 0.. {
            assert!(times < POLLS_MAX, "it never ends");
            let fresh = variant(component, times * 2 + u32::from(action == Action::Drop));
            whole.publish(&fresh).await.expect("it is published");
            whole.deploy("fresh", &fresh).await.expect("it is deployed");
            if !acted(&whole, (STEADY, "fresh"), action, times).await {
                assert!(times > 1, "it waited for its code");
                break;
            }
        }
    }
}

/// A change, and what undoes it.
type Change = for<'a> fn(&'a Whole, &'a [u8]) -> BoxFuture<'a, Result<(), Refused>>;

/// Drops `change` at each of its polls, more often than there are places for it; whatever became of it, it can be asked for
/// again, and `undo` leads back.
async fn dropped_at_every_poll(whole: &Whole, component: &[u8], (change, undo): (Change, Change)) {
    let before = whole.held().await;
    done(change(whole, component).await);
    let after = whole.held().await;
    done(undo(whole, component).await);
    for times in 0.. {
        assert!(times < POLLS_MAX, "it never ends");
        let mut has_ended = false;
        for _ in 0..ROUNDS {
            let mut call = Box::pin(change(whole, component));
            let ended = whole.soon(polled(&mut call, times)).await;
            drop(call);
            has_ended = ended.map(done).is_some();
            // What was dropped after it had begun goes to its end, before what is asked for now.
            let again = whole.soon(change(whole, component)).await;
            let is_done = again.as_ref().is_err_and(|refused| refused.error.code() == PlatformErrorCode::NotFound);
            assert!(again.is_ok() || is_done, "poll {times}: {again:?}");
            assert_eq!(whole.held().await, after, "poll {times}");
            done(whole.soon(undo(whole, component)).await);
            assert_eq!(whole.held().await, before, "poll {times}");
        }
        whole.serves().await;
        if has_ended {
            return;
        }
    }
}

#[track_caller]
fn done(answer: Result<(), Refused>) {
    answer.unwrap_or_else(|refused| panic!("{}", refused.error));
}

#[test]
fn a_change_can_be_dropped_at_every_poll() {
    on_runtime(async {
        let whole = Whole::begin(UnsyncedDisk, &[]).await;
        let component = variant(latent_guests::component(STEADY.service), 1);
        let publish: Change = |whole, component| whole.publish(component).boxed();
        let withdraw: Change = |whole, component| whole.withdraw(component).boxed();
        let deploy: Change = |whole, component| whole.deploy("other", component).boxed();
        let remove: Change = |whole, _| whole.remove("other").boxed();
        dropped_at_every_poll(&whole, &component, (publish, withdraw)).await;
        done(whole.publish(&component).await);
        dropped_at_every_poll(&whole, &component, (deploy, remove)).await;
        dropped_at_every_poll(&whole, &component, (withdraw, publish)).await;
        done(whole.deploy("other", &component).await);
        dropped_at_every_poll(&whole, &component, (remove, deploy)).await;
    });
}
