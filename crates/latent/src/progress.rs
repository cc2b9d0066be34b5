//! A bar on the terminal while a component is compiled. Elsewhere nothing is shown.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::printable::Printable;
use crate::quantities::Size;

/// Bytes of a component that are usually compiled in a second. The bar is an estimate and says so.
const BYTES_PER_SECOND: u64 = 500_000;
const REDRAW: Duration = Duration::from_millis(100);

/// Shows a bar for `what`, a component of so many bytes, until `work` is done. A bar that is complete and still there
/// says that the estimate was too low.
pub async fn while_compiling<T>(what: &str, bytes: u64, work: impl Future<Output = T>) -> T {
    let bar = bar(what, bytes);
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

/// Draws to standard error, and only if that is a terminal.
fn bar(what: &str, bytes: u64) -> ProgressBar {
    let expected = Duration::from_secs(bytes / BYTES_PER_SECOND + 1);
    let style = ProgressStyle::with_template("compiling {msg} {wide_bar} {elapsed} of about {prefix}");
    let bar = ProgressBar::with_draw_target(Some(millis(expected)), ProgressDrawTarget::stderr());
    bar.set_style(style.expect("the template is well-formed"));
    bar.set_prefix(humantime::format_duration(expected).to_string());
    bar.set_message(format!("{} ({})", Printable(what), Size(bytes)));
    bar
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
