//! Two nodes that are given one directory.

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

use super::Options;
use super::fixtures::{deploy, echo};
use super::program::Home;
use super::verdict::{Times, within};

/// How soon the second has to say so.
const REFUSED_MAX: Duration = Duration::from_secs(1);

/// Starts a second node on the directory of a first one, under its own name, through a link to it, and through a link above
/// it.
pub async fn trial(options: &Options) -> Result<String, String> {
    let io = |error: std::io::Error| format!("a directory of the trial: {error}");
    let dir = tempfile::tempdir().map_err(io)?;
    let [first, of_link, above] = ["first", "of-link", "above"].map(|name| dir.path().join(name));
    std::fs::create_dir(&first).map_err(io)?;
    std::fs::create_dir(&of_link).map_err(io)?;
    let home = Home::new(&options.program, &first, "").map_err(io)?;
    let served = home.serve().await?;
    let client = served.client()?;
    deploy(&client, "echo").await?;
    let linked = Home::new(&options.program, &of_link, "").map_err(io)?;
    std::os::unix::fs::symlink(home.data(), linked.data()).map_err(io)?;
    std::os::unix::fs::symlink(&first, &above).map_err(io)?;
    let mut times = Times::default();
    for place in [&first, &of_link, &above] {
        times.push(refused(options, place).await?);
        echo(&client).await?;
    }
    Ok(format!("the second is refused by name, itself and through links, and the first goes on: {times}"))
}

async fn refused(options: &Options, place: &Path) -> Result<Duration, String> {
    let second = Home::new(&options.program, place, "").map_err(|error| format!("{}: {error}", place.display()))?;
    let began = Instant::now();
    let ended = second.begin()?.ended().await?;
    let took = ended.at - began;
    let names = ended.stderr.contains(&second.data().display().to_string());
    if ended.status.code() != Some(1) || !names {
        return Err(format!("a second node in {} ended with {}: {}", place.display(), ended.status, ended.stderr));
    }
    within("the refusal", took, REFUSED_MAX)?;
    Ok(took)
}
