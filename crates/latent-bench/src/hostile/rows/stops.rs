//! Processor and time: guests that never end by themselves do end, when they were told to.

use std::time::Duration;

use latent_core::PlatformErrorCode::{Cancelled, DeadlineExceeded};
use latent_wire::client::times::{WireDuration, WireTimestamp};
use latent_wire::proto::{GetInventoryRequest, InvokeRequest};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::hostile::case::Outcome;
use crate::hostile::expect::{
    OVERSHOOT_MAX, cancel, ends_by_deadline, failed, holds, limited, refused, returned, returns, same, trapped,
};
use crate::hostile::rest::HEALTHY_MAX;
use crate::hostile::scene::{Scene, TENANT_CELLS, within};
use crate::nodes::fixtures::{LOOK, call, echo};
use crate::nodes::verdict::{self, Times};

/// When a guest that was forgotten ends.
const SPIN_MAX: Duration = Duration::from_secs(15);
/// A deadline that comes soon.
const SOON: Duration = Duration::from_millis(200);
/// Moments at which a run is cancelled, and as many at which it is dropped.
const MOMENTS: u32 = 200;
/// Between two of them.
const MOMENT: Duration = Duration::from_micros(20);

/// A guest that spins until it is stopped, or much too late.
pub fn spin(id: &str) -> InvokeRequest {
    within(SPIN_MAX, call("containment-capsule", "spin", "[]", id))
}

/// Deploys a fixture and calls it until it ran, so that its code is there.
pub async fn warm(scene: &Scene, request: &InvokeRequest) -> Result<(), String> {
    const CALLS_MAX: usize = 20;
    scene.deploy(&request.service).await?;
    for _ in 0..CALLS_MAX {
        let Err(error) = scene.hostile.invoke(within(SOON, request.clone())).await else { return Ok(()) };
        let node = refused("the first call", Err::<(), _>(error))?;
        let id = node.activation_id.ok_or("the first call has no activation")?;
        if scene.record(&id).await?.phase == "running" {
            return Ok(());
        }
    }
    Err(format!("{} did not come to run in {CALLS_MAX} calls of {SOON:?}", request.service))
}

/// Row 20.
pub async fn endless(scene: &Scene) -> Outcome {
    let mut told = Vec::new();
    for (fixture, arguments) in [("spin-start", "[]"), ("spin-realloc", "[\"text\"]"), ("spin-post-return", "[]")] {
        let request = call(fixture, "run", arguments, "");
        warm(scene, &request).await?;
        let late = ends_by_deadline(scene, request, SOON).await?;
        told.push(format!("{fixture} {late:.1?}"));
    }
    // What a call may carry is used up before a deadline could be.
    scene.deploy("endless-list").await?;
    for function in ["strings", "lists"] {
        limited(function, scene.call("endless-list", function, "[]").await, "activation.host-call-exhausted")?;
    }
    Ok(format!("after the deadline: {}; endless lists end at the limit of a call", told.join(", ")))
}

/// Row 21.
pub async fn spinners(scene: &Scene) -> Outcome {
    let count = 2 * std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    warm(scene, &spin("")).await?;
    let mut spinning = JoinSet::new();
    for _ in 0..count {
        let client = scene.client()?;
        spinning.spawn(async move { client.invoke(within(Duration::from_secs(2), spin(""))).await });
    }
    let all = count.min(TENANT_CELLS) as u64;
    while scene.count("stores").await? < all {
        sleep(LOOK).await;
    }
    let [mut healthy, mut status] = <[Times; 2]>::default();
    for _ in 0..20 {
        let began = Instant::now();
        echo(&scene.healthy).await?;
        healthy.push(began.elapsed());
        let began = Instant::now();
        scene.operator.get_inventory(GetInventoryRequest {}).await.map_err(|error| error.to_string())?;
        status.push(began.elapsed());
    }
    holds("they spin all the while", scene.count("stores").await? == all)?;
    verdict::within("a healthy call", healthy.percentile(100), HEALTHY_MAX)?;
    verdict::within("a status call", status.percentile(100), HEALTHY_MAX)?;
    while let Some(ended) = spinning.join_next().await {
        failed("a spinner", ended.map_err(|error| error.to_string())?, DeadlineExceeded, "")?;
    }
    Ok(format!("{count} spin; healthy calls: {healthy}; status: {status}"))
}

/// Row 22.
pub async fn parked(scene: &Scene) -> Outcome {
    let park = |id: &str| call("clock-park", "park", "[3600000]", id);
    warm(scene, &park("")).await?;
    let mut late = Times::default();
    for _ in 0..5 {
        late.push(ends_by_deadline(scene, park(""), SOON).await?);
    }
    let mut cancelled = Times::default();
    for at in 0..5 {
        let id = format!("parked-{at}");
        let (client, request) = (scene.client()?, park(&id));
        let parked = tokio::spawn(async move { client.invoke(request).await });
        crate::nodes::load::until_running(&scene.hostile, &id).await?;
        let told = cancel(scene, &id).await?;
        failed("a parked guest", parked.await.map_err(|error| error.to_string())?, Cancelled, "")?;
        cancelled.push(told.elapsed());
    }
    verdict::within("what came after the cancel", cancelled.percentile(100), OVERSHOOT_MAX)?;
    Ok(format!("after the deadline: {late}; after the cancel: {cancelled}"))
}

/// Row 23.
pub async fn bulk(scene: &Scene) -> Outcome {
    let fill = call("memory-fill", "run", "[]", "");
    warm(scene, &fill).await?;
    let mut late = Times::default();
    for _ in 0..5 {
        late.push(ends_by_deadline(scene, fill.clone(), Duration::from_millis(50)).await?);
    }
    Ok(format!("fills of 16 MiB; after the deadline: {late}"))
}

/// Row 24.
pub async fn deadlines(scene: &Scene) -> Outcome {
    let hello = || call("echo", "echo-string", "[\"hello\"]", "");
    let past = WireTimestamp { seconds: 1, nanos: 0 };
    for request in [
        InvokeRequest { deadline: Some(past), ..hello() },
        InvokeRequest { timeout: Some(WireDuration { seconds: 0, nanos: 1 }), ..hello() },
    ] {
        failed("a deadline that is past", scene.hostile.invoke(request).await, DeadlineExceeded, "")?;
    }
    warm(scene, &spin("")).await?;
    let mut late = Times::default();
    for asked in [1, 1, 2, 3, 5].map(Duration::from_millis) {
        let began = Instant::now();
        failed("a short deadline", scene.hostile.invoke(within(asked, spin(""))).await, DeadlineExceeded, "")?;
        let took = began.elapsed();
        late.push(took.checked_sub(asked).ok_or_else(|| format!("{took:?} is earlier than {asked:?}"))?);
    }
    verdict::within("what came after a short deadline", late.percentile(100), OVERSHOOT_MAX)?;
    let ages = WireTimestamp { seconds: 253_402_300_799, nanos: 999_999_999 };
    let mut taken = 0;
    for (what, request) in [
        ("no deadline", hello()),
        ("u64::MAX ms", within(Duration::from_millis(u64::MAX), hello())),
        ("i64::MAX s", InvokeRequest { timeout: Some(WireDuration { seconds: i64::MAX, nanos: 0 }), ..hello() }),
        ("the year 9999", InvokeRequest { deadline: Some(ages), ..hello() }),
    ] {
        // What no clock has may be refused as an argument; it is never taken for a deadline that is past.
        match scene.hostile.invoke(request).await {
            Ok(answer) => {
                returns(what, Ok(answer), "\"hello\"")?;
                taken += 1;
            }
            Err(error) => drop(failed(what, Err::<(), _>(error), latent_core::PlatformErrorCode::InvalidArgument, "")?),
        }
    }
    Ok(format!(
        "past ones at once; 1 to 5 ms, after the deadline: {late}; of none and 3 endless ones {taken} are taken"
    ))
}

/// Row 25.
pub async fn recursion(scene: &Scene) -> Outcome {
    scene.deploy("stack-overflow").await?;
    for function in ["overflow", "overflow-into-host"] {
        trapped(function, scene.call("stack-overflow", function, "[]").await)?;
    }
    Ok("2 traps".to_owned())
}

/// Row 26.
pub async fn post_return(scene: &Scene) -> Outcome {
    scene.deploy("trap-post-return").await?;
    for _ in 0..10 {
        trapped("the post-return", scene.call("trap-post-return", "run", "[]").await)?;
        returns("the next call", scene.call("echo", "echo-string", "[\"x\"]").await, "\"x\"")?;
    }
    Ok("10 traps, and the next call is fine each time".to_owned())
}

/// Row 27.
pub async fn host_calls(scene: &Scene) -> Outcome {
    const CALLS: u64 = 1_000_000;
    scene.deploy("host-calls").await?;
    let began = Instant::now();
    let answer = scene.call("host-calls", "clock-reads", &format!("[{CALLS}]")).await;
    let took = began.elapsed();
    let fuel = answer.as_ref().ok().and_then(|answer| answer.consumption).map_or(0, |used| used.fuel);
    let made = returned("a million host calls", answer)?;
    same("calls that were made", &made, &format!("\"{CALLS}\""))?;
    holds(&format!("{fuel} fuel are charged"), fuel >= CALLS)?;
    Ok(format!("{took:.1?}, {fuel} fuel"))
}

/// Row 28.
pub async fn again(scene: &Scene) -> Outcome {
    warm(scene, &spin("")).await?;
    for round in 0..10 {
        let id = format!("again-{round}");
        let (client, request) = (scene.client()?, spin(&id));
        let spinning = tokio::spawn(async move { client.invoke(request).await });
        crate::nodes::load::until_running(&scene.hostile, &id).await?;
        cancel(scene, &id).await?;
        failed(&id, spinning.await.map_err(|error| error.to_string())?, Cancelled, "")?;
    }
    Ok("10 calls of one prepared component, each cancelled".to_owned())
}

/// Row 29, from outside: at moments instead of polls.
pub async fn moments(scene: &Scene) -> Outcome {
    warm(scene, &spin("")).await?;
    let park = |id: &str| call("clock-park", "park-often", "[4000000,1]", id);
    warm(scene, &park("")).await?;
    let request = |at: u32, id: &str| if at.is_multiple_of(2) { spin(id) } else { park(id) };
    for at in 0..MOMENTS {
        let id = format!("moment-{at}");
        let (client, request) = (scene.hostile.clone(), request(at, &id));
        let running = tokio::spawn(async move { client.invoke(request).await });
        after(MOMENT * at).await;
        cancel(scene, &id).await?;
        failed(&id, running.await.map_err(|error| error.to_string())?, Cancelled, "")?;
    }
    let mut unknown = 0;
    for at in 0..MOMENTS {
        let id = format!("dropped-{at}");
        let (client, request) = (scene.hostile.clone(), request(at, &id));
        let running = tokio::spawn(async move { client.invoke(request).await });
        after(MOMENT * at).await;
        running.abort();
        let _aborted = running.await;
        unknown += u32::from(!ended(scene, &id).await?);
    }
    Ok(format!("{MOMENTS} cancelled, {MOMENTS} dropped, of which {unknown} never reached the node"))
}

/// Waits for a time that is shorter than timers tell.
async fn after(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        tokio::task::yield_now().await;
    }
}

/// Waits until a dropped activation has ended; false when there is none.
async fn ended(scene: &Scene, id: &str) -> Result<bool, String> {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let request = latent_wire::proto::GetActivationRequest { activation_id: id.to_owned() };
        match scene.hostile.get_activation(request).await {
            Ok(activation) => match activation.terminal {
                Some(terminal) => return same(id, &terminal.state.as_str(), &"cancelled").map(|()| true),
                None if Instant::now() > deadline => return Err(format!("{id} goes on: {activation:?}")),
                None => sleep(LOOK).await,
            },
            Err(error) => {
                refused(id, Err::<(), _>(error))?;
                return Ok(false);
            }
        }
    }
}
