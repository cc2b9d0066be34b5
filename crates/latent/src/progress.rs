//! A bar on the terminal while a component is compiled. Elsewhere nothing is shown.

use std::path::Path;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use latent_core::error::cut;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::printable::Printable;
use crate::quantities::Size;

/// Bytes of a component that are usually compiled in a second. The bar is an estimate and says so.
const BYTES_PER_SECOND: u64 = 500_000;
const REDRAW: Duration = Duration::from_millis(100);
/// Bytes of a file's name that are shown, so that a line holds it.
const NAME_BYTES_MAX: usize = 30;

/// Shows a bar for the component at `path`, of so many bytes, until `work` is done. A bar that is complete and still
/// there says that the estimate was too low.
pub async fn while_compiling<T>(path: &Path, bytes: u64, work: impl Future<Output = T>) -> T {
    let bar = bar(path, bytes);
    let started = Instant::now();
    let mut redraw = interval(REDRAW);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                bar.finish_and_clear();
                return done;
            }
            _ = redraw.tick() => bar.set_position(millis(started.elapsed())),
        }
    }
}

/// Draws to standard error, and only if that is a terminal. Nothing is drawn before all of it is known.
fn bar(path: &Path, bytes: u64) -> ProgressBar {
    let expected = Duration::from_secs(bytes / BYTES_PER_SECOND + 1);
    let style = ProgressStyle::with_template("compiling {msg} {wide_bar} {elapsed} of about {prefix}");
    let bar = ProgressBar::with_draw_target(Some(millis(expected)), ProgressDrawTarget::hidden());
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    bar.set_prefix(humantime::format_duration(expected).to_string());
    bar.set_message(format!("{} ({})", Printable(cut(&name, NAME_BYTES_MAX)), Size(bytes)));
    bar.set_style(style.expect("the template is well-formed"));
    bar.set_draw_target(ProgressDrawTarget::stderr());
    bar
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
