//! The switch that stops everything under way, and the signals that flip it.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;

/// Stays on once it is flipped. Clones are the same switch.
#[derive(Debug, Clone)]
pub struct StopSwitch(Arc<watch::Sender<bool>>);

impl StopSwitch {
    /// A switch that is off.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Stops everything that waits for the switch.
    pub fn flip(&self) {
        self.0.send_replace(true);
    }

    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is on.
    pub async fn on(&self) {
        let mut state = self.0.subscribe();
        state.wait_for(|on| *on).await.expect("the sender lives as long as this switch");
    }

    /// Flips the switch at the first SIGINT (Ctrl-C) or SIGTERM. Must be called within a runtime.
    ///
    /// # Errors
    /// When the system does not let signals be caught.
    pub fn flip_on_signal(&self) -> io::Result<()> {
        let signalled = caught()?;
        let switch = self.clone();
        tokio::spawn(async move {
            signalled.await;
            switch.flip();
        });
        Ok(())
    }
}

#[cfg(unix)]
fn caught() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => (),
            _ = terminate.recv() => (),
        }
    })
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
fn caught() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // An error means that no Ctrl-C can ever come.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}
