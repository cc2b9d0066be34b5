//! A small HTTP service: a greeting, JSON that comes back, an echo that streams, and a request of its own.

use serde_json::{Value, json};
use wstd::http::{Body, Client, Error, Method, Request, Response, StatusCode, Uri};

#[wstd::http_server]
async fn main(request: Request<Body>) -> Result<Response<Body>, Error> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/") => answer(StatusCode::OK, "text/plain", "Hello from Rust\n".to_owned()),
        (&Method::POST, "/json") => received(request).await,
        (&Method::POST, "/echo") => answer(StatusCode::OK, "application/octet-stream", request.into_body()),
        (&Method::GET, "/fetch") => fetch(request.uri().query().unwrap_or_default()).await,
        _ => told(StatusCode::NOT_FOUND, "there is no such method and path"),
    }
}

async fn received(request: Request<Body>) -> Result<Response<Body>, Error> {
    let method = request.method().to_string();
    let mut body = request.into_body();
    match serde_json::from_slice::<Value>(body.contents().await?) {
        Ok(received) => {
            let text = json!({ "method": method, "received": received }).to_string();
            answer(StatusCode::OK, "application/json", text)
        }
        Err(error) => told(StatusCode::BAD_REQUEST, &format!("the body is not JSON: {error}")),
    }
}

/// Gets the URL that the query names, and gives back its status and its body as that comes.
async fn fetch(query: &str) -> Result<Response<Body>, Error> {
    let named = form_urlencoded::parse(query.as_bytes()).find(|(name, _)| name == "url");
    let Some((_, url)) = named else {
        return told(StatusCode::BAD_REQUEST, "give a URL: /fetch?url=");
    };
    let Ok(uri) = url.parse::<Uri>() else {
        return told(StatusCode::BAD_REQUEST, "this is no URL");
    };
    match Client::new().send(Request::get(uri).body(Body::empty())?).await {
        Ok(answered) => answer(answered.status(), "application/octet-stream", answered.into_body()),
        Err(error) => told(StatusCode::BAD_GATEWAY, &format!("{url} did not answer: {error}")),
    }
}

fn told(status: StatusCode, sentence: &str) -> Result<Response<Body>, Error> {
    answer(status, "text/plain", format!("{sentence}\n"))
}

fn answer(status: StatusCode, media_type: &str, body: impl Into<Body>) -> Result<Response<Body>, Error> {
    Ok(Response::builder().status(status).header("content-type", media_type).body(body.into())?)
}
