//! Prints a line for each activation that ends, on a thread of its own.
//!
//! Invariant: an activation never waits for whoever reads; lines that nobody took in time are counted and told.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use latent_node::{ActivationEnd, ActivationObserver};

use super::line;
use crate::terminal::to_stderr;

/// Lines that wait to be printed.
const LINES_MAX: usize = 1024;
/// How long the last lines may take, once the node has ended.
const LAST_LINES: Duration = Duration::from_millis(200);

/// Is told of ends.
pub struct Printer {
    lines: SyncSender<String>,
    dropped: Arc<AtomicU64>,
}

/// The thread that prints.
pub struct Printing(Receiver<()>);

impl Printer {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system has none to give.
    pub fn start() -> io::Result<(Arc<Self>, Printing)> {
        Self::printing_by(to_stderr)
    }

    fn printing_by(print: impl Fn(&str) + Send + 'static) -> io::Result<(Arc<Self>, Printing)> {
        let (lines, waiting) = sync_channel(LINES_MAX);
        let (done, ended) = sync_channel(1);
        let dropped = Arc::new(AtomicU64::new(0));
        let printer = Arc::new(Self { lines, dropped: dropped.clone() });
        let work = move || {
            for line in waiting {
                print(&line);
                if let more @ 1.. = dropped.swap(0, Ordering::Relaxed) {
                    print(&format!(
                        "and {more} more activations that are not shown; `latent activation list` has them\n"
                    ));
                }
            }
            // Whoever waited has gone if this is lost.
            let _lost = done.send(());
        };
        std::thread::Builder::new().name("latent-up".to_owned()).spawn(work)?;
        Ok((printer, Printing(ended)))
    }

    fn take(&self, line: String) {
        if self.lines.try_send(line).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl ActivationObserver for Printer {
    fn ended(&self, end: &ActivationEnd<'_>) {
        self.take(line::of(end));
    }
}

impl Printing {
    /// Waits a moment for the last lines. The node has ended and lets go of the printer, or will never.
    pub fn end(self) {
        let _late = self.0.recv_timeout(LAST_LINES);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn lines_that_find_no_room_are_counted_and_told() {
        let (told, seen) = std::sync::mpsc::channel::<String>();
        let (enter, entered) = sync_channel::<()>(0);
        let (leave, left) = sync_channel::<()>(0);
        let gate = Mutex::new(Some((enter, left)));
        let (printer, thread) = Printer::printing_by(move |line| {
            // The first line is held up until the queue has overflowed.
            if let Some((enter, left)) = gate.lock().unwrap().take() {
                enter.send(()).unwrap();
                left.recv().unwrap();
            }
            told.send(line.to_owned()).unwrap();
        })
        .unwrap();
        printer.take("first\n".to_owned());
        entered.recv().unwrap();
        (0..LINES_MAX + 3).for_each(|_| printer.take("later\n".to_owned()));
        leave.send(()).unwrap();
        drop(printer);
        let lines: Vec<String> = seen.into_iter().collect();
        thread.end();
        assert_eq!(lines.len(), 1 + 1 + LINES_MAX);
        assert!(lines[0] == "first\n" && lines[1].starts_with("and 3 more "), "{:?}", &lines[..2]);
    }
}
