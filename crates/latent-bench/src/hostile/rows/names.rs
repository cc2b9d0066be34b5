//! Names and manifests: whatever is no name is refused, and two names are never one.

use latent_core::PlatformErrorCode::{AlreadyExists, InvalidArgument};
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{
    ApplyRequest, DeleteDeploymentRequest, DeleteTenantRequest, GetDeploymentRequest, GetTenantRequest,
    ListDeploymentsRequest, PublishHead, Quota,
};

use crate::hostile::case::Outcome;
use crate::hostile::expect::{failed, holds, returns, same, short};
use crate::hostile::scene::{Scene, apply};
use crate::nodes::fixtures::{bare, call, digest, variant};
use crate::nodes::tenants::quota;

/// Brackets in each other.
const BRACKETS: usize = 140_000;

/// Row 8.
pub async fn manifests(scene: &Scene) -> Outcome {
    let component = variant("echo", 80);
    let release = digest(&component);
    let long = "x".repeat(1 << 20);
    let capsules = [
        "[".repeat(BRACKETS),
        "[".repeat(BRACKETS / 2) + &"]".repeat(BRACKETS / 2),
        "{\"functions\":".repeat(BRACKETS / 2),
        "{\"ceilings\":{},\"ceilings\":{}}".to_owned(),
        "{\"unheard-of\":1}".to_owned(),
        format!("{{\"{long}\":1}}"),
        format!("\"{long}\""),
    ];
    for manifest in &capsules {
        let head = PublishHead { manifest: manifest.clone(), ..PublishHead::default() };
        let what = format!("the capsule manifest {}…", &manifest[..manifest.len().min(20)]);
        failed(&what, scene.hostile.publish(head, component.clone(), |_sent| ()).await, InvalidArgument, "")?;
        scene.has_not(&release).await.map_err(|wrong| format!("{what}: {wrong}"))?;
    }
    let release = digest(latent_guests::component("echo"));
    let deployments = [
        "[".repeat(BRACKETS),
        "{\"service\":".repeat(BRACKETS / 2),
        format!("{{\"service\":\"m\",\"service\":\"m\",\"deployment\":\"main\",\"release\":\"{release}\"}}"),
        format!("{{\"service\":\"m\",\"deployment\":\"main\",\"release\":\"{release}\",\"unheard-of\":1}}"),
        format!("{{\"service\":\"{long}\",\"deployment\":\"main\",\"release\":\"{release}\"}}"),
        format!(
            "{{\"service\":\"m\",\"deployment\":\"main\",\"release\":\"{release}\",\"environment\":\
             {{\"A\":\"{long}\"}}}}"
        ),
    ];
    for manifest in &deployments {
        let what = format!("the deployment manifest {}…", &manifest[..manifest.len().min(20)]);
        let request = ApplyRequest { manifest: manifest.clone(), ..ApplyRequest::default() };
        failed(&what, scene.hostile.apply(request).await, InvalidArgument, "")?;
    }
    let made = services(&scene.hostile).await?.into_iter().filter(|name| name == "m").count();
    same("deployments that came of it", &made, &0)?;
    Ok(format!("{} capsule and {} deployment manifests refused", capsules.len(), deployments.len()))
}

/// Names that are none, that look like others, or that are very long.
fn candidates() -> Vec<String> {
    let plain = [
        "a",
        "../up",
        "..",
        ".",
        "a/b",
        "a\\b",
        "nul\0nul",
        "new\nline",
        "tab\tbed",
        "\u{202e}desrever",
        "caf\u{e9}",
        "cafe\u{301}",
        "Case",
        "case",
        "dot",
        "dot.",
        "dot..",
        " blank",
        "a b",
        "%2e%2e",
        "-rf",
        "\u{200b}zero",
        "\u{fffd}",
    ];
    let long = [1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 4096, 1 << 20].map(|length| "n".repeat(length));
    plain.into_iter().map(str::to_owned).chain(long).collect()
}

/// Row 9.
pub async fn ids(scene: &Scene) -> Outcome {
    let activations = activation_ids(scene).await?;
    let services = service_names(scene).await?;
    let tenants = tenant_names(scene).await?;
    let all = candidates().len();
    Ok(format!("of {all} names each, kept apart: {activations} activation ids, {services} services, {tenants} tenants"))
}

fn is_refused<T: std::fmt::Debug>(what: &str, outcome: Result<T, CallError>) -> Result<Option<T>, String> {
    match outcome {
        Ok(answer) => Ok(Some(answer)),
        // What is larger than a message is refused before it is read.
        Err(CallError::Node(node))
            if matches!(node.error.code().as_str(), "invalid-argument" | "resource-exhausted") =>
        {
            Ok(None)
        }
        Err(other) => Err(format!("{}: {}", short(&what), short(&other))),
    }
}

async fn activation_ids(scene: &Scene) -> Result<usize, String> {
    let mut taken = 0;
    for id in candidates() {
        let request = || call("echo", "echo-string", "[\"x\"]", &id);
        let Some(answer) = is_refused(&id, scene.hostile.invoke(request()).await)? else { continue };
        same("the id of the answer", &answer.activation_id, &id)?;
        same("the id of the record", &scene.record(&id).await?.activation_id, &id)?;
        failed("the same id again", scene.hostile.invoke(request()).await, AlreadyExists, "")?;
        taken += 1;
    }
    holds("some ids are ids", taken > 3)?;
    Ok(taken)
}

async fn service_names(scene: &Scene) -> Result<usize, String> {
    let release = digest(latent_guests::component("echo"));
    let before = services(&scene.hostile).await?.len();
    let mut taken = Vec::new();
    for name in candidates() {
        let manifest = serde_json::json!({
            "service": name, "deployment": "main", "release": release,
            "environment": {"NAME": name.escape_debug().to_string()},
        });
        if is_refused(&name, apply(&scene.hostile, &manifest.to_string()).await)?.is_some() {
            taken.push(name);
        }
    }
    same("services that there are", &services(&scene.hostile).await?.len(), &(before + taken.len()))?;
    for name in &taken {
        let request = GetDeploymentRequest { service: name.clone(), deployment: "main".to_owned() };
        let found = scene.hostile.get_deployment(request).await.map_err(|error| format!("{name:?}: {error}"))?;
        same("the service's name", &found.service, name)?;
        let own = serde_json::Value::from(name.escape_debug().to_string()).to_string();
        holds(&format!("{name:?} has its own manifest: {}", found.manifest), found.manifest.contains(&own))?;
        same("its release", &bare(&found.release).to_owned(), &release)?;
        returns(name, scene.call(name, "echo-string", "[\"x\"]").await, "\"x\"")?;
    }
    for service in taken.clone() {
        let request = DeleteDeploymentRequest { service, deployment: "main".to_owned(), expected_generation: None };
        scene.hostile.delete_deployment(request).await.map_err(|error| format!("a service that was made: {error}"))?;
    }
    same("services that are left", &services(&scene.hostile).await?.len(), &before)?;
    Ok(taken.len())
}

/// The services of all deployments.
async fn services(client: &Client) -> Result<Vec<String>, String> {
    let (mut all, mut page_token) = (Vec::new(), String::new());
    loop {
        let request = ListDeploymentsRequest { page_size: 256, page_token, ..ListDeploymentsRequest::default() };
        let page = client.list_deployments(request).await.map_err(|error| format!("the deployments: {error}"))?;
        all.extend(page.deployments.into_iter().map(|deployment| deployment.service));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            return Ok(all);
        }
    }
}

async fn tenant_names(scene: &Scene) -> Result<usize, String> {
    let mut taken = Vec::new();
    for (live, name) in (1..).zip(candidates()) {
        let quota = quota(&scene.operator, &name, Quota { live: Some(live), ..Quota::default() }).await;
        if is_refused(&name, quota)?.is_some() {
            taken.push((live, name));
        }
    }
    for (live, name) in &taken {
        let found = scene.operator.get_tenant(GetTenantRequest { name: name.clone() }).await;
        let found = found.map_err(|error| format!("{name:?}: {error}"))?;
        same("the tenant's name", &found.name, name)?;
        same("the tenant's own quota", &found.quota.and_then(|quota| quota.live), &Some(*live))?;
    }
    for (_, name) in &taken {
        let deleted = scene.operator.delete_tenant(DeleteTenantRequest { name: name.clone() }).await;
        deleted.map_err(|error| format!("{name:?}: {error}"))?;
    }
    Ok(taken.len())
}
