//! How often the process was asked to end: by SIGTERM, SIGINT, or something within.
//!
//! Invariant: a request is counted from the moment the signals are caught, which is before anything else begins.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Counts requests to end. Clones see the same.
#[derive(Debug, Clone)]
pub struct Asked(watch::Receiver<u32>);

/// Whoever asks.
#[derive(Debug)]
pub struct Asking(watch::Sender<u32>);

impl Asked {
    /// A count of nothing, and what raises it.
    pub fn new() -> (Asking, Self) {
        let (asking, asked) = watch::channel(0);
        (Asking(asking), Self(asked))
    }

    /// Waits until the process was asked `times` often.
    pub async fn times(&self, times: u32) {
        let mut asked = self.0.clone();
        if asked.wait_for(|count| *count >= times).await.is_err() {
            // Nobody is left who could ask.
            std::future::pending::<()>().await;
        }
    }

    /// Whether the process was asked.
    pub fn at_all(&self) -> bool {
        *self.0.borrow() > 0
    }
}

impl Asking {
    /// Asks once more.
    pub fn ask(&self) {
        self.0.send_modify(|count| *count = count.saturating_add(1));
    }

    /// Asks at every SIGTERM and SIGINT, for as long as the runtime lives that this is called in.
    ///
    /// # Errors
    /// When the system does not let signals be caught.
    pub fn ask_on_signals(self) -> io::Result<()> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        tokio::spawn(self.pass_on(terminate, interrupt));
        Ok(())
    }

    async fn pass_on(self, mut terminate: Signal, mut interrupt: Signal) {
        loop {
            tokio::select! {
                _ = terminate.recv() => self.ask(),
                _ = interrupt.recv() => self.ask(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_second_request_is_another_one() {
        let (asking, asked) = Asked::new();
        assert!(!asked.at_all());
        asking.ask();
        asked.times(1).await;
        let second = asked.times(2);
        tokio::pin!(second);
        assert!(futures_util::poll!(&mut second).is_pending());
        asking.ask();
        second.await;
        assert!(asked.at_all());
    }
}
