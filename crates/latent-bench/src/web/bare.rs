//! The floor: a server that does nothing but answer, on as many threads as the others have.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// Serves at `address` for ever.
///
/// # Errors
/// When there is no runtime, or the address is not to be had.
pub fn serve(address: SocketAddr) -> io::Result<()> {
    Runtime::new()?.block_on(async {
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _peer) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(async move {
                let served = Builder::new(TokioExecutor::new());
                // A client that goes away ends its connection and nothing else.
                let _ended = served.serve_connection(TokioIo::new(stream), service_fn(hello)).await;
            });
        }
    })
}

async fn hello(_request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    Ok(Response::new(Full::new(Bytes::from_static(b"Hello from hyper\n"))))
}
