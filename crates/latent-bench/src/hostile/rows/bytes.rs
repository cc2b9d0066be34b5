//! Component bytes: whatever may be sent as a component is refused with nothing stored, or runs.

use std::time::Duration;

use bytes::Bytes;
use latent_core::PlatformErrorCode::{IncompatibleContract, InvalidArgument, StateConflict, Unavailable};
use latent_guests::bombs;
use latent_wire::client::{CallError, Client, NodeError};
use latent_wire::proto::{ApplyRequest, PublishHead};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::hostile::case::Outcome;
use crate::hostile::expect::{failed, holds, refused, returned, returns, same, short};
use crate::hostile::scene::Scene;
use crate::nodes::fixtures::{LOOK, apply, call, digest, publish, variant};
use crate::nodes::verdict::within;

/// What a bomb may take until it is refused.
const BOMB_MAX: Duration = Duration::from_millis(100);
/// Times that a bomb is sent; the machine may be busy with something else in some of them.
const ROUNDS: usize = 3;
/// Callers that do the same at once.
const CALLERS: usize = 64;
/// Clients at once that send changed components.
const SENDERS: usize = 4;

/// Publishes what has to be refused: nothing of it is stored. The error, and how long it took.
async fn not_taken(scene: &Scene, what: &str, component: Vec<u8>) -> Result<(Box<NodeError>, Duration), String> {
    let name = digest(&component);
    let began = Instant::now();
    let answer = publish(&scene.hostile, component.into()).await;
    let took = began.elapsed();
    let node = refused(what, answer)?;
    scene.has_not(&name).await.map_err(|wrong| format!("{what}: {wrong}"))?;
    Ok((node, took))
}

/// Sends a bomb until it is refused in time, for a limit.
async fn defused(scene: &Scene, what: &str, bomb: Vec<u8>) -> Result<Duration, String> {
    let mut fastest = Duration::MAX;
    for _ in 0..ROUNDS {
        let (node, took) = not_taken(scene, what, bomb.clone()).await?;
        same(what, &node.error.code(), &IncompatibleContract)?;
        holds(&format!("{what} is refused for a limit: {:?}", node.error), node.error.has_detail("component.limit"))?;
        fastest = fastest.min(took);
    }
    within(what, fastest, BOMB_MAX)?;
    Ok(fastest)
}

/// Row 1.
pub async fn nested_types(scene: &Scene) -> Outcome {
    let took = defused(scene, "types 560 deep", bombs::nested_types(560)).await?;
    Ok(format!("refused in {took:.1?}"))
}

/// Row 2.
pub async fn nested_instances(scene: &Scene) -> Outcome {
    let seven = defused(scene, "7 levels", bombs::nested_instances(7, 10)).await?;
    let eight = defused(scene, "8 levels", bombs::nested_instances(8, 10)).await?;
    Ok(format!("refused in {seven:.1?} and {eight:.1?}"))
}

/// Row 3.
pub async fn changed(scene: &Scene) -> Outcome {
    let whole = latent_guests::component("echo");
    let cuts = (0..64).map(|part| whole[..whole.len() * part / 64].to_vec());
    let flips = (0..256.min(whole.len())).map(|at| {
        let mut changed = whole.to_vec();
        changed[at] ^= 0xff;
        changed
    });
    let all: Vec<Bytes> = cuts.chain(flips).map(Bytes::from).collect();
    let mut senders = JoinSet::new();
    for part in all.chunks(all.len().div_ceil(SENDERS)) {
        senders.spawn(send_changed(scene.client()?, part.to_vec()));
    }
    let mut ran = 0;
    while let Some(sender) = senders.join_next().await {
        ran += sender.map_err(|error| format!("a sender failed: {error}"))??;
    }
    Ok(format!("{} sent: {} refused, {ran} run", all.len(), all.len() - ran))
}

async fn send_changed(client: Client, components: Vec<Bytes>) -> Result<usize, String> {
    let mut ran = 0;
    for component in components {
        let release = digest(&component);
        match publish(&client, component).await {
            Ok(()) => ran += 1,
            Err(CallError::Node(node)) if [InvalidArgument, IncompatibleContract].contains(&node.error.code()) => {
                continue;
            }
            other => return Err(format!("a changed component: {}", short(&other))),
        }
        apply(&client, "changed", &release[..16], &release, 1).await.map_err(|error| format!("{release}: {error}"))?;
        let mut request = call("changed", "echo-string", "[\"hello\"]", "");
        request.route = release[..16].to_owned();
        match client.invoke(request).await {
            // It may do something else now, or have lost the function; what counts is that the node says so.
            Ok(_) | Err(CallError::Node(_)) => {}
            Err(other) => return Err(format!("a call of a changed component: {other}")),
        }
    }
    Ok(ran)
}

/// Row 4.
pub async fn no_components(scene: &Scene) -> Outcome {
    for (bytes, what) in bombs::NO_COMPONENTS {
        let (node, _) = not_taken(scene, what, bytes.to_vec()).await?;
        same(what, &node.error.code(), &InvalidArgument)?;
        holds(&format!("{:?} says {what}", node.error), node.error.message().contains(what))?;
    }
    Ok(format!("{} refused, each by what it is", bombs::NO_COMPONENTS.len()))
}

/// Row 5.
pub async fn imports(scene: &Scene) -> Outcome {
    for (fixture, import, wanted) in [
        ("unknown-import", "acme:missing/thing@1.2.3", "1.2.3"),
        ("wrong-version", "wasi:clocks/monotonic-clock@0.3.0", "0.3.0"),
        ("wrong-shape", "wasi:clocks/monotonic-clock@0.2.0", "0.2.0"),
    ] {
        let (node, _) = not_taken(scene, fixture, latent_guests::component(fixture).to_vec()).await?;
        same(fixture, &node.error.code(), &IncompatibleContract)?;
        let detail = node.error.details().iter().find(|detail| detail.kind() == "component.import");
        let detail = detail.ok_or_else(|| format!("{fixture}: {:?}", node.error))?;
        same(fixture, &detail.field("import"), &Some(import))?;
        same(fixture, &detail.field("wanted"), &Some(wanted))?;
        holds(&format!("{fixture} is told the nearest: {detail:?}"), detail.field("nearest").is_some())?;
    }
    scene.deploy("newer-patch").await?;
    let now = returned("the newer patch", scene.call("newer-patch", "run", "[]").await)?;
    holds(&format!("a clock said {now}"), now.trim_matches('"').parse::<u64>().is_ok())?;
    Ok("3 refused by name, the newer patch runs".to_owned())
}

/// Row 6, on a node whose processes have few seconds of a processor each.
pub async fn laborious(scene: &Scene) -> Outcome {
    let component = bombs::laborious(300, 2000);
    let release = digest(&component);
    publish(&scene.hostile, component.into()).await.map_err(|error| error.to_string())?;
    apply(&scene.hostile, "laborious", "main", &release, 1).await.map_err(|error| error.to_string())?;
    let began = Instant::now();
    let node = failed("its compilation", scene.call("laborious", "nop", "[]").await, Unavailable, "compiler.unable")?;
    let took = began.elapsed();
    holds(&format!("{:?} names the limit", node.error), node.error.message().contains("ulimit -t"))?;
    scene.deploy("types").await?;
    returns("another component", scene.call("types", "roundtrip-u8", "[7]").await, "7")?;
    Ok(format!("refused after {took:.1?}, naming the limit; the next compiles"))
}

/// Row 7.
pub async fn at_once(scene: &Scene) -> Outcome {
    let component = variant("echo", 7);
    let before = scene.count("compilations").await?;
    let created = all_at_once(scene, {
        let component = component.clone();
        move |client, _| {
            let component = component.clone();
            async move {
                let published = client.publish(PublishHead::default(), component, |_sent| ()).await;
                published.map(|answer| answer.created).map_err(|error| format!("a publisher: {error}"))
            }
        }
    });
    let created = created.await?;
    same("publishers that made it", &created.iter().filter(|created| **created).count(), &1)?;
    apply(&scene.hostile, "at-once", "main", &digest(&component), 1).await.map_err(|error| error.to_string())?;
    all_at_once(scene, |client, _| async move {
        // No more of a tenant's calls may wait for one compilation than are allowed; the others are told to try again.
        loop {
            match client.invoke(call("at-once", "echo-string", "[\"x\"]", "")).await {
                Err(CallError::Node(node)) if node.error.has_detail("compiler.queue-full") => sleep(LOOK).await,
                ended => return returns("a caller", ended, "\"x\""),
            }
        }
    })
    .await?;
    same("compilations", &(scene.count("compilations").await? - before), &1)?;
    let other = variant("echo", 8);
    publish(&scene.hostile, other.clone()).await.map_err(|error| error.to_string())?;
    let releases = [digest(&component), digest(&other)];
    let had = all_at_once(scene, move |client, at| {
        let manifest = serde_json::json!({"service": "name", "deployment": "main", "release": releases[at % 2]});
        async move {
            let request = ApplyRequest {
                manifest: manifest.to_string(),
                expected_generation: Some(0),
                ..ApplyRequest::default()
            };
            match client.apply(request).await {
                Ok(_) => Ok(true),
                refused => failed("a name that is taken", refused, StateConflict, "").map(|_| false),
            }
        }
    });
    same("who has the name", &had.await?.iter().filter(|had| **had).count(), &1)?;
    Ok(format!("{CALLERS} publishers and callers cost 1 compilation; of {CALLERS} for one name 1 has it"))
}

/// What [`CALLERS`] do at once, four to a connection.
async fn all_at_once<T, F>(scene: &Scene, work: impl Fn(Client, usize) -> F) -> Result<Vec<T>, String>
where
    T: Send + 'static,
    F: Future<Output = Result<T, String>> + Send + 'static,
{
    let mut callers = JoinSet::new();
    let mut client = scene.client()?;
    for at in 0..CALLERS {
        if at % 4 == 0 {
            client = scene.client()?;
        }
        callers.spawn(work(client.clone(), at));
    }
    let mut all = Vec::new();
    while let Some(caller) = callers.join_next().await {
        all.push(caller.map_err(|error| format!("a caller failed: {error}"))??);
    }
    Ok(all)
}
