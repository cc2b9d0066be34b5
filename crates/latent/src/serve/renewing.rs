//! Certificates that are renewed while the node runs.
//!
//! Invariant: a file that is no good changes nothing; connections that are open keep what they began with.

use std::io;
use std::sync::Arc;

use latent_wire::tls::Tls;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;

/// Reads the files of `tls` again at every SIGHUP, for as long as the runtime lives that this is called in.
///
/// # Errors
/// When the system does not let the signal be caught.
pub fn renew_on_hangup(tls: Vec<Arc<Tls>>) -> io::Result<()> {
    let mut hangups = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangups.recv().await.is_some() {
            for one in &tls {
                renew(one.clone()).await;
            }
        }
    });
    Ok(())
}

async fn renew(tls: Arc<Tls>) {
    match spawn_blocking(move || tls.reload()).await {
        Ok(Ok(())) => tracing::info!("certificates are read again, for connections from now on"),
        Ok(Err(error)) => tracing::error!(%error, "certificates stay as they were"),
        Err(_panicked) => tracing::error!("certificates stay as they were: reading them failed; report this"),
    }
}
