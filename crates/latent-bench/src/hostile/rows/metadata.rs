//! What calls say of themselves: how long they wait, how they are compressed, and who makes them.

use std::path::Path;

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use latent_core::PlatformErrorCode::NotFound;
use latent_wire::proto::{ApplyRequest, CancelRequest, GetActivationRequest, GetLogsRequest, GetReleaseRequest};

use crate::hostile::case::Outcome;
use crate::hostile::expect::{failed, holds, same, short};
use crate::hostile::peer::{self, Answer};
use crate::hostile::scene::{HEALTHY, Scene};
use crate::nodes::fixtures::{call, digest, publish, variant};

/// A call of the echo as a message on the wire, by hand: field by field.
fn message() -> Vec<u8> {
    let request = call("echo", "echo-string", "[\"x\"]", "");
    let mut bytes = Vec::new();
    for (field, text) in [(1, request.service.as_bytes()), (4, request.function.as_bytes()), (6, &request.payload[..])]
    {
        bytes.extend([field << 3 | 2, u8::try_from(text.len()).unwrap_or(0)]);
        bytes.extend(text);
    }
    bytes
}

/// Makes a call with these headers, and a flag that says whether its message is compressed; the status of gRPC.
async fn called(scene: &Scene, headers: &[(&str, &str)], flag: u8, message: &[u8]) -> Result<u32, String> {
    let stream = peer::connect(scene.served.invoke).await?;
    let shaken = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
    let (mut sender, connection) = shaken.map_err(|error| format!("the handshake: {error}"))?;
    let connection = tokio::spawn(connection);
    let mut framed = BytesMut::new();
    framed.put_u8(flag);
    framed.put_u32(u32::try_from(message.len()).map_err(|error| error.to_string())?);
    framed.put_slice(message);
    let mut request = Request::post(format!("http://{}/latent.v1.Invocation/Invoke", scene.served.invoke))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .header("authorization", format!("Bearer {}", scene.token));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::<Bytes>::new(framed.freeze())).map_err(|error| format!("{headers:?}: {error}"))?;
    let answer = sender.send_request(request).await.map_err(|error| format!("{headers:?}: {error}"))?;
    let (head, body) = answer.into_parts();
    let body = body.collect().await.map_err(|error| format!("{headers:?}: {error}"))?;
    let ended: HeaderMap = body.trailers().cloned().unwrap_or(head.headers);
    drop(sender);
    connection.abort();
    let status =
        ended.get("grpc-status").and_then(|status| status.to_str().ok()).and_then(|status| status.parse().ok());
    status.ok_or_else(|| format!("{headers:?}: there is no status of gRPC in {ended:?}"))
}

/// Row 103.
pub async fn timeouts(scene: &Scene) -> Outcome {
    const OK: u32 = 0;
    const INVALID_ARGUMENT: u32 = 3;
    const DEADLINE_EXCEEDED: u32 = 4;
    const UNIMPLEMENTED: u32 = 12;
    let message = message();
    same("a call by hand", &called(scene, &[], 0, &message).await?, &OK)?;
    for (text, expected) in [
        ("99999999H", OK),
        ("0n", DEADLINE_EXCEEDED),
        ("1n", DEADLINE_EXCEEDED),
        ("123456789S", INVALID_ARGUMENT),
        ("garbage", INVALID_ARGUMENT),
        ("-1S", INVALID_ARGUMENT),
        ("1", INVALID_ARGUMENT),
        ("", INVALID_ARGUMENT),
    ] {
        let status = called(scene, &[("grpc-timeout", text)], 0, &message).await?;
        same(&format!("grpc-timeout {text:?}"), &status, &expected)?;
    }
    let twice = called(scene, &[("grpc-timeout", "1S"), ("grpc-timeout", "1S")], 0, &message).await?;
    same("grpc-timeout twice", &twice, &INVALID_ARGUMENT)?;
    // Nothing is ever decompressed, so that there is nothing to bound.
    for encoding in ["gzip", "deflate", "zstd"] {
        let status = called(scene, &[("grpc-encoding", encoding)], 1, &vec![0x1f; 1 << 20]).await?;
        same(&format!("a message in {encoding}"), &status, &UNIMPLEMENTED)?;
    }
    let path =
        "POST /v1/invoke/echo/fixture:echo%2Fecho@0.1.0/echo-string HTTP/1.1\r\nhost: node\r\nconnection: close\r\n";
    let head =
        format!("{path}authorization: Bearer {}\r\ncontent-length: 5\r\ncontent-encoding: gzip\r\n\r\n", scene.token);
    let answer = peer::ask(scene.served.invoke, head + "xxxxx").await?;
    same("a JSON body in gzip", &answer.status(), &Some(415))
        .or_else(|wrong| if answer.status() == Some(400) { Ok(()) } else { Err(wrong) })?;
    Ok("99999999H is clamped, 0n is past, 6 others refused; nothing is decompressed: 3 codings unimplemented"
        .to_owned())
}

/// Row 104.
pub async fn tokens(scene: &Scene) -> Outcome {
    let token = &scene.token;
    let asked = async |lines: Vec<u8>| -> Result<Answer, String> {
        let head = b"GET /v1/activations HTTP/1.1\r\nhost: node\r\nconnection: close\r\n".to_vec();
        peer::ask(scene.served.control, [head, lines, b"\r\n".to_vec()].concat()).await
    };
    let bearer = |value: &[u8]| [b"authorization: Bearer ", value, b"\r\n"].concat();
    same("the right token", &asked(bearer(token.as_bytes())).await?.status(), &Some(200))?;
    let other_case = token.to_ascii_uppercase().into_bytes();
    let wrong: Vec<(&str, Vec<u8>)> = vec![
        ("a prefix", bearer(&token.as_bytes()[..token.len() - 1])),
        ("a superset", bearer(format!("{token}a").as_bytes())),
        ("in upper case", bearer(&other_case)),
        ("twice", [bearer(token.as_bytes()), bearer(token.as_bytes())].concat()),
        ("two in one", bearer(format!("{token}, {token}").as_bytes())),
        ("another scheme", format!("authorization: Basic {token}\r\n").into_bytes()),
        ("beyond ASCII", bearer(&[token.as_bytes(), b"\xff\xc3\xa4"].concat())),
        ("empty", bearer(b"")),
        ("none", Vec::new()),
    ];
    let mut told = std::collections::BTreeSet::new();
    for (what, lines) in &wrong {
        let answer = asked(lines.clone()).await?;
        // Who fails too often is told to wait, and still not let in.
        let kept_out = matches!(answer.status(), Some(400 | 401 | 429));
        holds(&format!("{what} is kept out: {}", short(&answer.text())), kept_out)?;
        holds(&format!("{what} is not repeated"), !answer.text().contains(&token[..token.len() - 1]))?;
        told.insert(answer.status().unwrap_or_default());
    }
    let long = asked(bearer(&vec![b'x'; 1 << 20])).await?;
    holds(&format!("1 MB is refused: {:?}", long.status()), matches!(long.status(), None | Some(401 | 431)))?;
    same("the right token afterwards", &asked(bearer(token.as_bytes())).await?.status(), &Some(200))?;
    let foreign = foreign(scene).await?;
    in_no_log(scene)?;
    Ok(format!(
        "{} wrong ones kept out with {told:?}; {foreign} foreign names not found; the token is in no file",
        wrong.len() + 1
    ))
}

/// Asks for what another tenant has, by its names; how often.
async fn foreign(scene: &Scene) -> Result<usize, String> {
    let answer = scene.healthy.invoke(call("echo", "nop", "[]", "")).await.map_err(|error| error.to_string())?;
    let activation_id = answer.activation_id;
    let component = variant("echo", 104);
    let release = digest(&component);
    publish(&scene.healthy, component).await.map_err(|error| error.to_string())?;
    let manifest = serde_json::json!({
        "tenant": HEALTHY, "service": "echo", "deployment": "taken", "release": release,
    });
    let client = &scene.hostile;
    let id = || activation_id.clone();
    failed(
        "apply",
        client.apply(ApplyRequest { manifest: manifest.to_string(), ..ApplyRequest::default() }).await,
        NotFound,
        "",
    )?;
    failed("record", client.get_activation(GetActivationRequest { activation_id: id() }).await, NotFound, "")?;
    failed("logs", client.get_logs(GetLogsRequest { activation_id: id() }).await, NotFound, "")?;
    let cancel = CancelRequest { activation_id: id(), reason: String::new() };
    failed("cancel", client.cancel(cancel).await, NotFound, "")?;
    failed("release", client.get_release(GetReleaseRequest { digest: release }).await, NotFound, "")?;
    Ok(5)
}

/// Neither what the node said nor any file of it has a tenant's token, or most of it.
fn in_no_log(scene: &Scene) -> Result<(), String> {
    let part = &scene.token.as_bytes()[scene.token.len() / 4..scene.token.len() - 1];
    let has = |text: &[u8]| text.windows(part.len()).any(|window| window == part);
    holds("the token is not in what the node said", !has(scene.served.said().as_bytes()))?;
    let mut directories = vec![scene.data()];
    while let Some(directory) = directories.pop() {
        let listed = std::fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        for entry in listed {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                directories.push(path);
            } else {
                holds(&format!("the token is not in {}", path.display()), !has(&read(&path)))?;
            }
        }
    }
    Ok(())
}

/// A file, or nothing where it went meanwhile.
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}
