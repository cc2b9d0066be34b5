//! Results: the ways in which a guest ends that are neither a value nor a trap of its own.

use crate::hostile::case::Outcome;
use crate::hostile::expect::{holds, returns, same, short, trapped};
use crate::hostile::peer::{self, Answer};
use crate::hostile::scene::{Scene, apply};
use crate::nodes::fixtures::digest;

/// Row 60.
pub async fn exits(scene: &Scene) -> Outcome {
    scene.deploy("exit").await?;
    scene.deploy("exit-with-code").await?;
    returns("exit(ok)", scene.call("exit", "exit", "[true]").await, "null")?;
    returns("exit(0)", scene.call("exit-with-code", "exit", "[0]").await, "null")?;
    for (service, argument, status) in
        [("exit", "false", "1"), ("exit-with-code", "1", "1"), ("exit-with-code", "255", "255")]
    {
        let what = format!("{service}({argument})");
        let node = trapped(&what, scene.call(service, "exit", &format!("[{argument}]")).await)?;
        let detail = node.error.details().iter().find(|detail| detail.kind() == "activation.guest-trap");
        let told = detail.map(|detail| (detail.field("category"), detail.field("status")));
        same(&what, &told, &Some((Some("exit"), Some(status))))?;
    }
    Ok("0 is a return, 1 and 255 are traps that say so".to_owned())
}

/// The terminal state of the activation that an answer names, once it has ended, and the kinds of its error.
pub async fn ended(scene: &Scene, answer: &Answer) -> Result<(String, Vec<String>), String> {
    let id =
        answer.header("latent-activation-id").ok_or_else(|| format!("no activation: {}", short(&answer.text())))?;
    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(5);
    loop {
        let record = scene.record(&id).await?;
        if let Some(terminal) = record.terminal {
            let kinds = terminal.error.map(|error| error.details.into_iter().map(|detail| detail.kind).collect());
            return Ok((terminal.state, kinds.unwrap_or_default()));
        }
        if tokio::time::Instant::now() > deadline {
            return Err(format!("it goes on: {record:?}"));
        }
        tokio::time::sleep(crate::nodes::fixtures::LOOK).await;
    }
}

/// Row 61.
pub async fn no_response(scene: &Scene) -> Outcome {
    scene.deploy_probe().await?;
    let answer = peer::get(scene.served.http, "/no-response").await?;
    let told = answer.status() == Some(502) && answer.text().contains("activation.no-response");
    holds(&format!("it is told: {}", short(&answer.text())), told)?;
    let (state, kinds) = ended(scene, &answer).await?;
    same("how it ended", &state.as_str(), &"guest-trap")?;
    holds(&format!("the record says why: {kinds:?}"), kinds.iter().any(|kind| kind == "activation.no-response"))?;
    scene.deploy_at("http-set-twice", "twice.example").await?;
    let head = "GET / HTTP/1.1\r\nhost: twice.example\r\nconnection: close\r\n\r\n";
    let twice = peer::ask(scene.served.http, head).await?;
    same("the answer to a second response", &twice.status(), &Some(502))?;
    let (state, kinds) = ended(scene, &twice).await?;
    same("how it ended", &state.as_str(), &"guest-trap")?;
    Ok(format!("502 with activation.no-response; 502 and a trap, {}", kinds.join(", ")))
}

/// Row 62, by the one failure that always comes after the head went out: a guest that spins, with little fuel.
pub async fn after_the_head(scene: &Scene) -> Outcome {
    let release = digest(latent_guests::component("http-probe"));
    scene.deploy_probe().await?;
    let manifest = serde_json::json!({
        "service": "little-fuel", "deployment": "main", "release": release, "ceilings": {"fuel": 50_000_000},
        "http": {"routes": ["little-fuel.example/"]},
    });
    apply(&scene.hostile, &manifest.to_string()).await.map_err(|error| format!("little fuel: {error}"))?;
    let head = "GET /spin-after HTTP/1.1\r\nhost: little-fuel.example\r\nconnection: close\r\n\r\n";
    let answer = peer::ask(scene.served.http, head).await?;
    same("the status that was sent", &answer.status(), &Some(200))?;
    holds(&format!("the body is cut: {}", short(&answer.text())), !answer.is_whole())?;
    let (state, kinds) = ended(scene, &answer).await?;
    same("how it ended", &state.as_str(), &"resource-exhausted")?;
    holds(&format!("the record says why: {kinds:?}"), kinds.iter().any(|kind| kind == "activation.fuel-exhausted"))?;
    Ok("cut after its head; activation.fuel-exhausted on record".to_owned())
}
