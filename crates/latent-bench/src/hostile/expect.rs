//! What calls are expected to come to. Whatever else they come to is told whole.

use std::fmt::Debug;
use std::time::Duration;

use latent_core::PlatformErrorCode;
use latent_wire::client::{CallError, NodeError};
use latent_wire::proto::{CancelDisposition, CancelRequest, InvokeRequest, InvokeResponse};
use tokio::time::{Instant, sleep};

use super::scene::{Scene, within};
use crate::nodes::fixtures::{LOOK, result};
use crate::nodes::verdict;

/// How much later than its deadline a guest may be told to have ended, seen from another process on a machine that
/// is busy: the grace of its cleanup, and the way.
pub const OVERSHOOT_MAX: Duration = Duration::from_millis(250);
/// The same where other calls of the same kind are in time: the machine did something else.
const LATE_MAX: Duration = Duration::from_secs(2);
/// When a call that is to run has to be running.
const RUNNING_MAX: Duration = Duration::from_secs(10);

/// The node's error.
pub fn refused<T: Debug>(what: &str, outcome: Result<T, CallError>) -> Result<Box<NodeError>, String> {
    match outcome {
        Err(CallError::Node(node)) => Ok(node),
        other => Err(format!("{what}: expected an error of the node, got {}", short(&other))),
    }
}

/// The node's error, of this code, and with this kind of detail unless it is empty.
pub fn failed<T: Debug>(
    what: &str,
    outcome: Result<T, CallError>,
    code: PlatformErrorCode,
    kind: &str,
) -> Result<Box<NodeError>, String> {
    let node = refused(what, outcome)?;
    if node.error.code() == code && (kind.is_empty() || node.error.has_detail(kind)) {
        return Ok(node);
    }
    Err(format!("{what}: expected {} with {kind:?}, got {}", code.as_str(), short(&node.error)))
}

/// The limit of this kind.
pub fn limited<T: Debug>(what: &str, outcome: Result<T, CallError>, kind: &str) -> Result<Box<NodeError>, String> {
    failed(what, outcome, PlatformErrorCode::ResourceExhausted, kind)
}

/// A trap.
pub fn trapped<T: Debug>(what: &str, outcome: Result<T, CallError>) -> Result<Box<NodeError>, String> {
    failed(what, outcome, PlatformErrorCode::GuestTrap, "activation.guest-trap")
}

/// A result, as its JSON.
pub fn returned(what: &str, outcome: Result<InvokeResponse, CallError>) -> Result<String, String> {
    match outcome {
        Ok(answer) => Ok(String::from_utf8_lossy(result(&answer)).into_owned()),
        Err(error) => Err(format!("{what}: {error}")),
    }
}

/// This result.
pub fn returns(what: &str, outcome: Result<InvokeResponse, CallError>, expected: &str) -> Result<(), String> {
    let found = returned(what, outcome)?;
    if found == expected { Ok(()) } else { Err(format!("{what}: expected {expected}, got {}", short(&found))) }
}

/// Both are equal.
pub fn same<T: PartialEq + Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {}", short(found))) }
}

/// It holds.
pub fn holds(what: &str, is: bool) -> Result<(), String> {
    if is { Ok(()) } else { Err(format!("not so: {what}")) }
}

/// Makes a call whose guest never ends with this deadline; it ends by it while it runs, not early, and hardly late.
/// Answers how late. On a machine that is busy it may take some calls until one comes to run, and is ended, in time.
pub async fn ends_by_deadline(scene: &Scene, request: InvokeRequest, asked: Duration) -> Result<Duration, String> {
    const CALLS_MAX: usize = 5;
    let what = format!("{} {}", request.service, request.function);
    let mut last = (String::new(), Duration::ZERO);
    for _ in 0..CALLS_MAX {
        let began = Instant::now();
        let ended = scene.hostile.invoke(within(asked, request.clone())).await;
        let took = began.elapsed();
        let node = failed(&what, ended, PlatformErrorCode::DeadlineExceeded, "activation.deadline-exceeded")?;
        let late = took.checked_sub(asked).ok_or_else(|| format!("{what}: {took:?} is earlier than {asked:?}"))?;
        verdict::within(&format!("{what}: what came after the deadline"), late, LATE_MAX)?;
        let id = node.activation_id.ok_or_else(|| format!("{what}: the error names no activation"))?;
        last = (scene.record(&id).await?.phase, late);
        if last.0 == "running" && late <= OVERSHOOT_MAX {
            return Ok(late);
        }
    }
    let (phase, late) = last;
    Err(format!("{what} does not run and end in time in {CALLS_MAX} calls; the last ended {phase}, {late:.1?} late"))
}

/// Cancels an activation as soon as it is there. Answers when that was accepted.
pub async fn cancel(scene: &Scene, id: &str) -> Result<Instant, String> {
    let deadline = Instant::now() + RUNNING_MAX;
    loop {
        let request = CancelRequest { activation_id: id.to_owned(), reason: "hostile".to_owned() };
        match scene.hostile.cancel(request).await {
            Ok(answer) if answer.disposition == i32::from(CancelDisposition::Accepted) => return Ok(Instant::now()),
            Err(CallError::Node(node))
                if node.error.code() == PlatformErrorCode::NotFound && Instant::now() < deadline =>
            {
                sleep(LOOK).await;
            }
            other => return Err(format!("the cancel of {id}: {other:?}")),
        }
    }
}

/// A text that is not too long to be read.
pub fn short(value: &impl Debug) -> String {
    const CHARS_MAX: usize = 600;
    let text = format!("{value:?}");
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
