//! The Tokio runtime that carries activations. Invariant: guests that spin cannot keep it from timers and sockets.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// A multi-threaded runtime with timers and I/O for running guests on `worker_threads` threads (0 counts as 1).
///
/// A guest that never waits yields at every epoch tick, so each poll of its activation lasts about a millisecond. Tokio
/// looks at its timers and sockets only after 61 polls by default: beside a few spinning guests that is hundreds of
/// milliseconds without I/O. Here it looks after every poll, so that whatever else is served stays prompt. The cost is
/// one system call for a poll, which is small against starting an instance.
///
/// # Errors
/// When the system gives no thread, timer or event queue.
pub fn data_runtime(worker_threads: usize) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(worker_threads.max(1))
        .thread_name("latent-data")
        .event_interval(1)
        .enable_all()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_has_timers_and_the_threads_asked_for() {
        let runtime = data_runtime(3).unwrap();
        assert_eq!(runtime.metrics().num_workers(), 3);
        runtime.block_on(async { tokio::time::sleep(std::time::Duration::ZERO).await });
        assert_eq!(data_runtime(0).unwrap().metrics().num_workers(), 1);
    }
}
