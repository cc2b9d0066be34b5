//! The switch that stops everything under way, and the signals that flip it.

use std::io;
use std::sync::Arc;

use tokio::sync::watch;

use crate::ending::Exit;

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

    /// Flips the switch at the first SIGINT (Ctrl-C) or SIGTERM, and ends the process at the second: whoever asks twice
    /// does not want to wait for a reader that has stopped reading. Must be called within a multi-threaded runtime.
    ///
    /// # Errors
    /// When the system does not let signals be caught.
    pub fn flip_on_signal(&self) -> io::Result<()> {
        let mut signals = Signals::caught()?;
        let switch = self.clone();
        tokio::spawn(async move {
            signals.next().await;
            switch.flip();
            signals.next().await;
            std::process::exit(i32::from(Exit::Interrupted.code()));
        });
        Ok(())
    }
}

/// The signals that ask the command to end.
#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn caught() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => (),
            _ = self.terminate.recv() => (),
        }
    }
}

/// The signals that ask the command to end.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    fn caught() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // An error means that no Ctrl-C can ever come.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
