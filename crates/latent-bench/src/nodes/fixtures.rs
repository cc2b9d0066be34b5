//! What the nodes of trials run: fixtures, any number of variants of each, and the calls to them.

use std::time::Duration;

use bytes::Bytes;
use latent_core::Sha256Digest;
use latent_wire::client::{CallError, Client};
use latent_wire::proto::{ApplyRequest, InvokeRequest, InvokeResponse, PublishHead};

/// A fixture that behaves the same for each `number` and is another component: with a custom section that says so.
pub fn variant(fixture: &str, number: u32) -> Bytes {
    let mut component = latent_guests::component(fixture).to_vec();
    component.extend([0x00, 0x06, 0x01, b'v']);
    component.extend(number.to_le_bytes());
    component.into()
}

/// The digest of a component as the API has it, without a prefix.
pub fn digest(component: &[u8]) -> String {
    bare(&Sha256Digest::of(component).to_string()).to_owned()
}

/// A digest without its prefix.
pub fn bare(digest: &str) -> &str {
    digest.strip_prefix("sha256:").unwrap_or(digest)
}

/// Publishes a component.
pub async fn publish(client: &Client, component: Bytes) -> Result<(), CallError> {
    client.publish(PublishHead::default(), component, |_sent| ()).await.map(drop)
}

/// Deploys a release.
pub async fn apply(
    client: &Client,
    service: &str,
    deployment: &str,
    release: &str,
    weight: u32,
) -> Result<(), CallError> {
    let manifest = serde_json::json!({
        "service": service, "deployment": deployment, "release": release, "weight": weight,
    });
    let request = ApplyRequest { manifest: manifest.to_string(), ..ApplyRequest::default() };
    client.apply(request).await.map(drop)
}

/// Publishes a fixture and deploys it as the service of its name.
pub async fn deploy(client: &Client, fixture: &str) -> Result<(), String> {
    let component = Bytes::from_static(latent_guests::component(fixture));
    let release = digest(&component);
    let done = async {
        publish(client, component).await?;
        apply(client, fixture, "main", &release, 100).await
    };
    done.await.map_err(|error| format!("cannot deploy {fixture}: {error}"))
}

/// A call of `function` with JSON arguments, as the activation `id`; the node names it when that is empty.
pub fn call(service: &str, function: &str, arguments: &str, id: &str) -> InvokeRequest {
    InvokeRequest {
        service: service.to_owned(),
        function: function.to_owned(),
        payload: arguments.to_owned().into(),
        activation_id: id.to_owned(),
        ..InvokeRequest::default()
    }
}

/// Calls the deployment `main` of the echo and compares what returns.
pub async fn echo(client: &Client) -> Result<(), String> {
    let answer = client.invoke(call("echo", "echo-string", "[\"hello\"]", "")).await;
    let answer: InvokeResponse = answer.map_err(|error| format!("the echo: {error}"))?;
    if result(&answer) == b"\"hello\"" { Ok(()) } else { Err(format!("the echo gave back {answer:?}")) }
}

/// What a function returned; nothing for a declared error.
pub fn result(answer: &InvokeResponse) -> &[u8] {
    use latent_wire::proto::invoke_response::Outcome;
    match &answer.outcome {
        Some(Outcome::Result(bytes)) => bytes,
        _ => b"",
    }
}

/// Between two looks at something that is waited for.
pub const LOOK: Duration = Duration::from_millis(2);
