//! Memory and handles: what a guest takes of the node is bounded, and comes back.

use latent_core::PlatformErrorCode::{GuestTrap, IncompatibleContract};
use latent_guests::generated;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{GetLogsRequest, GetLogsResponse, InvokeResponse};
use tokio::task::JoinSet;

use crate::hostile::case::Outcome;
use crate::hostile::expect::{failed, holds, limited, refused, returned, returns, same, short, trapped};
use crate::hostile::peer;
use crate::hostile::scene::Scene;
use crate::nodes::fixtures::{apply, call, deploy, digest, publish};

const MIB: u64 = 1 << 20;
/// The most memory of an activation.
const CAP: u64 = 64 * MIB;
/// What an activation may log.
const BUDGET: u64 = 256 << 10;
const EXHAUSTED: &str = "activation.memory-exhausted";

/// Publishes a generated component and deploys it as a service of its own.
async fn generate(scene: &Scene, name: &str, component: Vec<u8>) -> Result<(), CallError> {
    let release = digest(&component);
    publish(&scene.hostile, component.into()).await?;
    apply(&scene.hostile, name, "main", &release, 1).await
}

/// Row 40.
pub async fn growth(scene: &Scene) -> Outcome {
    scene.deploy("containment-capsule").await?;
    for step in [1, 16, 700, 1024, 65_535] {
        let ended = scene.call("containment-capsule", "grow-memory", &format!("[{step}]")).await;
        let node = limited(&format!("steps of {step} pages"), ended, EXHAUSTED)?;
        let peak = node.consumption.map_or(0, |used| used.peak_memory_bytes);
        holds(&format!("{peak} bytes are no more than {CAP}"), peak <= CAP)?;
        let polite = scene.call("containment-capsule", "grow-memory-politely", &format!("[{step}]")).await;
        returned(&format!("politely, steps of {step} pages"), polite)?;
    }
    Ok("5 sizes of steps, each a limit, and each fine when the guest goes on".to_owned())
}

/// Row 40b.
pub async fn declared(scene: &Scene) -> Outcome {
    for pages in [1025, 65_536] {
        let component = generated::declared_minimum(pages);
        let name = digest(&component);
        let what = format!("{pages} pages");
        let node =
            failed(&what, publish(&scene.hostile, component.into()).await, IncompatibleContract, "component.limit")?;
        for part in [&*(u64::from(pages) * (64 << 10)).to_string(), "67108864", "memory_bytes_max"] {
            holds(&format!("{:?} names {part}", node.error), node.error.message().contains(part))?;
        }
        scene.has_not(&name).await?;
    }
    generate(scene, "just-fits", generated::declared_minimum(1024)).await.map_err(|error| error.to_string())?;
    returns("64 MiB", scene.call("just-fits", "nop", "[]").await, "null")?;
    Ok("2 refused; what just fits runs".to_owned())
}

/// Row 41.
pub async fn together(scene: &Scene) -> Outcome {
    for (name, component) in [
        ("two-memories", generated::memories(2, 1023)),
        ("eight-memories", generated::memories(8, 1023)),
        ("two-parts", generated::composed(2, 1023)),
        ("eight-parts", generated::composed(8, 1023)),
    ] {
        generate(scene, name, component).await.map_err(|error| format!("{name}: {error}"))?;
        limited(name, scene.call(name, "nop", "[]").await, EXHAUSTED)?;
    }
    generate(scene, "fits", generated::memories(8, 128)).await.map_err(|error| format!("8 that fit: {error}"))?;
    returns("8 that fit", scene.call("fits", "nop", "[]").await, "null")?;
    for (component, setting) in [
        (generated::memories(100, 1023), "memories_max"),
        (generated::composed(100, 1023), "core_instances_max"),
        (generated::tables(33, 1), "tables_max"),
        (generated::tables(1, 20_001), "table_elements_max"),
    ] {
        let refused = publish(&scene.hostile, component.into()).await;
        let node = failed(setting, refused, IncompatibleContract, "component.limit")?;
        holds(&format!("{:?} names {setting}", node.error), node.error.message().contains(setting))?;
    }
    scene.deploy("table-growth").await?;
    limited("tables", scene.call("table-growth", "grow-table", "[]").await, "activation.table-exhausted")?;
    returned("tables, politely", scene.call("table-growth", "grow-table-politely", "[]").await)?;
    Ok("4 over the cap together, 4 refused by their setting; tables are a limit".to_owned())
}

/// Row 42.
pub async fn handles(scene: &Scene) -> Outcome {
    scene.deploy("handles").await?;
    for count in [100_000, u32::MAX] {
        let arguments = format!("[{count}]");
        let ended = scene.call("handles", "leak-pollables", &arguments).await;
        limited("pollables", ended, "activation.host-resource-exhausted")?;
        let ended = scene.call("handles", "leak-resources", &arguments).await;
        limited("resources", ended, "activation.handle-exhausted")?;
    }
    scene.deploy_probe().await?;
    let mut told = Vec::new();
    for path in ["/fields?n=1000000", "/many-fields"] {
        let answer = peer::get(scene.served.http, path).await?;
        let limit = answer.status() == Some(507) && answer.text().contains("resource-exhausted");
        holds(&format!("{path} is a limit: {}", short(&answer.text())), limit)?;
        told.push(path);
    }
    Ok(format!("pollables, resources, {}: each a limit", told.join(", ")))
}

/// Row 43.
pub async fn claims(scene: &Scene) -> Outcome {
    scene.deploy("random").await?;
    returns("random bytes", scene.call("random", "get", "[\"65536\"]").await, "\"65536\"")?;
    for length in [65_537, 1 << 32, u64::MAX] {
        let ended = scene.call("random", "get", &format!("[\"{length}\"]")).await;
        limited("random bytes", ended, "activation.random-exhausted")?;
    }
    scene.deploy("alias-list").await?;
    for entries in [64, 1 << 20] {
        let ended = scene.call("alias-list", "make", &format!("[{entries}]")).await;
        limited("aliases", ended, "activation.host-call-exhausted")?;
    }
    let claims = refused("2 GiB", scene.call("alias-list", "claims-2gib", "[]").await)?;
    let typed = claims.error.code() == GuestTrap || claims.error.has_detail("activation.host-call-exhausted");
    holds(&format!("2 GiB are a trap or a limit: {:?}", claims.error), typed)?;
    Ok(format!("limits; the claim of 2 GiB is {}", claims.error.code().as_str()))
}

/// Row 44.
pub async fn output(scene: &Scene) -> Outcome {
    scene.deploy("stdout").await?;
    let logs = async |function: &str, arguments: &str| -> Result<(GetLogsResponse, u64), String> {
        let answer: InvokeResponse =
            scene.call("stdout", function, arguments).await.map_err(|error| format!("{function}: {error}"))?;
        let charged = answer.consumption.map_or(0, |used| used.log_bytes);
        let request = GetLogsRequest { activation_id: answer.activation_id };
        let logs = scene.hostile.get_logs(request).await.map_err(|error| format!("the logs of {function}: {error}"))?;
        Ok((logs, charged))
    };
    let cut = |logs: &GetLogsResponse| {
        logs.records.iter().any(|record| record.fields.iter().any(|field| field.name == "latent.truncated"))
    };
    let (flood, charged) = logs("lines", "[200000]").await?;
    holds(&format!("{} records are within {BUDGET} bytes", flood.records.len()), flood.records.len() < 4096)?;
    holds(&format!("{charged} bytes are charged"), charged > BUDGET / 2 && charged <= BUDGET)?;
    holds("that there were more is told", cut(&flood))?;
    let (line, charged) = logs("one-line", "[\"1073741824\"]").await?;
    same("records of a line of 1 GiB", &line.records.len(), &1)?;
    holds("it says that it was cut", cut(&line) && line.records[0].message.len() <= 4096 && charged > 0)?;
    let (weird, _) = logs("weird", "[]").await?;
    holds(&format!("bytes that are no text are records: {weird:?}"), weird.records.len() == 5)?;
    Ok(format!("{} of 200,000 lines kept and said so; a line of 1 GiB is one of 4 KiB", flood.records.len()))
}

/// Row 45.
pub async fn instantiation(scene: &Scene) -> Outcome {
    const ROUNDS: usize = 1000;
    const FIXTURES: [&str; 6] = [
        "fails-data-segment",
        "fails-element-segment",
        "fails-second-instance",
        "fails-start-growth",
        "fails-start-null-call",
        "fails-start-recursion",
    ];
    let mut callers = JoinSet::new();
    for fixture in FIXTURES {
        scene.deploy(fixture).await?;
        callers.spawn(keeps_failing(scene.client()?, fixture, ROUNDS));
    }
    while let Some(caller) = callers.join_next().await {
        caller.map_err(|error| format!("a caller failed: {error}"))??;
    }
    Ok(format!("{} stages, {ROUNDS} times each, six at once", FIXTURES.len()))
}

async fn keeps_failing(client: Client, fixture: &str, rounds: usize) -> Result<(), String> {
    for _ in 0..rounds {
        let node = refused(fixture, client.invoke(call(fixture, "run", "[]", "")).await)?;
        let guests_fault = matches!(node.error.code().as_str(), "guest-trap" | "resource-exhausted");
        holds(&format!("{fixture} fails by itself: {:?}", node.error), guests_fault)?;
    }
    Ok(())
}

/// Row 46.
pub async fn left_behind(scene: &Scene) -> Outcome {
    deploy(&scene.hostile, "memory-pattern").await?;
    deploy(&scene.healthy, "memory-pattern").await?;
    for (bytes, rounds) in [(MIB, 1000), (CAP, 10)] {
        let arguments = format!("[{bytes}]");
        let pattern = |function: &str| call("memory-pattern", function, &arguments, "");
        returns("a scan", scene.hostile.invoke(pattern("fill-and-scan")).await, &format!("\"{bytes}\""))?;
        for _ in 0..rounds {
            trapped("a fill", scene.hostile.invoke(pattern("fill-and-trap")).await)?;
            returns("what the next finds", scene.healthy.invoke(pattern("scan")).await, "\"0\"")?;
        }
    }
    Ok("zeros only".to_owned())
}
