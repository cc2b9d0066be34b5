//! What the node says of itself: events on standard error, as text or as JSON.

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes events of level info and above to standard error from now on.
pub fn begin(format: LogFormat) {
    let to_stderr =
        tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(LevelFilter::INFO).with_ansi(false);
    // A second call would come from the same process, whose events are written already.
    let _begun = match format {
        LogFormat::Text => to_stderr.try_init(),
        LogFormat::Json => to_stderr.json().try_init(),
    };
}
