//! One child under watch: fed, listened to, timed, and in every case killed and reaped.
//!
//! Invariant: nothing here waits for the child alone. Each wait ends with the child's end, an interrupt, or the limit.

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The most that is kept of what the child says; the rest is read and dropped, so that it never waits for us.
const SAID_BYTES_MAX: usize = 16 << 10;
/// Pieces that are read in one go: as much as a pipe holds, so that a child that never falls silent is timed all the same.
const PIECES_MAX: usize = 16;
/// The longest single wait. What is waited for may be further away.
const WAIT_MAX: Duration = Duration::from_hours(1);

/// A running child. Dropping it kills and reaps it.
pub struct Watched {
    child: Child,
    ended: OwnedFd,
    stdin: Option<ChildStdin>,
    stderr: Option<ChildStderr>,
    said: Vec<u8>,
}

/// How it ended.
pub enum Ended {
    /// By itself, or through a signal that is not ours.
    Exited { status: ExitStatus, said: Vec<u8> },
    /// Killed because its time was up.
    OutOfTime,
    /// Killed because of an interrupt.
    Interrupted,
}

/// The input that is still to be written.
struct Feed<'a> {
    parts: [&'a [u8]; 2],
}

impl Watched {
    /// Starts `command`, which must pipe standard input and standard error.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.spawn()?;
        let mut orphan = Orphan(Some(child));
        let child = orphan.0.as_mut().expect("it was put in a line ago");
        let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        if let Some(stdin) = &stdin {
            fcntl_setfl(stdin, fcntl_getfl(stdin)? | OFlags::NONBLOCK)?;
        }
        if let Some(stderr) = &stderr {
            fcntl_setfl(stderr, fcntl_getfl(stderr)? | OFlags::NONBLOCK)?;
        }
        let child = orphan.0.take().expect("nobody has taken it yet");
        Ok(Self { child, ended, stdin, stderr, said: Vec::new() })
    }

    /// Writes `order` and `component` to the child and waits for its end, for at most `wall_seconds`, or until `stop` is
    /// readable.
    pub fn serve(mut self, order: &[u8], component: &[u8], wall_seconds: u64, stop: &OwnedFd) -> io::Result<Ended> {
        let mut feed = Feed { parts: [order, component] };
        let deadline = now().checked_add(Duration::from_secs(wall_seconds));
        loop {
            let left = deadline.map_or(WAIT_MAX, |deadline| deadline.saturating_duration_since(now()));
            if left.is_zero() {
                return Ok(Ended::OutOfTime);
            }
            let ready = self.wait(&feed, left.min(WAIT_MAX), stop)?;
            if ready.interrupted {
                return Ok(Ended::Interrupted);
            }
            self.listen();
            if ready.ended {
                let status = self.child.wait()?;
                return Ok(Ended::Exited { status, said: std::mem::take(&mut self.said) });
            }
            if ready.hungry {
                self.feed(&mut feed);
            }
        }
    }

    fn wait(&self, feed: &Feed<'_>, at_most: Duration, stop: &OwnedFd) -> io::Result<Ready> {
        let mut watched = vec![PollFd::new(stop, PollFlags::IN), PollFd::new(&self.ended, PollFlags::IN)];
        if let Some(stderr) = &self.stderr {
            watched.push(PollFd::from_borrowed_fd(stderr.as_fd(), PollFlags::IN));
        }
        let feeds = self.stdin.as_ref().filter(|_| !feed.is_over());
        if let Some(stdin) = feeds {
            watched.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::OUT));
        }
        let timeout = Timespec::try_from(at_most).map_err(io::Error::other)?;
        match poll(&mut watched, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => (),
            Err(error) => return Err(error.into()),
        }
        let is_ready = |place: usize| watched.get(place).is_some_and(|fd| !fd.revents().is_empty());
        Ok(Ready {
            interrupted: is_ready(0),
            ended: is_ready(1),
            hungry: feeds.is_some() && is_ready(watched.len() - 1),
        })
    }

    /// Reads what the child has said until now, keeping the first [`SAID_BYTES_MAX`] bytes.
    fn listen(&mut self) {
        let mut piece = [0; 4096];
        for _ in 0..PIECES_MAX {
            let Some(stderr) = &mut self.stderr else { return };
            match stderr.read(&mut piece) {
                Ok(0) => self.stderr = None,
                Ok(read) => {
                    let room = SAID_BYTES_MAX - self.said.len();
                    self.said.extend_from_slice(&piece[..read.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(_broken) => self.stderr = None,
            }
        }
    }

    /// Writes what the pipe takes. A child that reads no more has its reasons, which its end tells.
    fn feed(&mut self, feed: &mut Feed<'_>) {
        let Some(stdin) = &mut self.stdin else { return };
        match stdin.write(feed.next()) {
            Ok(written) => feed.advance(written),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => (),
            Err(_broken) => self.stdin = None,
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

struct Ready {
    interrupted: bool,
    ended: bool,
    hungry: bool,
}

impl<'a> Feed<'a> {
    fn next(&self) -> &'a [u8] {
        self.parts.into_iter().find(|part| !part.is_empty()).unwrap_or_default()
    }

    fn is_over(&self) -> bool {
        self.next().is_empty()
    }

    fn advance(&mut self, written: usize) {
        if let Some(part) = self.parts.iter_mut().find(|part| !part.is_empty()) {
            *part = &part[written.min(part.len())..];
        }
    }
}

/// A child that is not under watch yet.
struct Orphan(Option<Child>);

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            end(child);
        }
    }
}

/// Kills and reaps. A child that was reaped before is left alone by both calls.
fn end(child: &mut Child) {
    let _gone = child.kill();
    let _reaped = child.wait();
}

#[expect(clippy::disallowed_methods, reason = "the time a child takes is measured where it is watched")]
fn now() -> Instant {
    Instant::now()
}
